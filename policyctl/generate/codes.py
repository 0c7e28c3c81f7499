"""The codes of findings of ``generate``, each with its name and what it means."""

from __future__ import annotations

CODES: dict[str, tuple[str, str]] = {
    "GN001": ("unusable-name", "a name cannot be a file, module or variable"),
    "GN002": ("name-collision", "two names would be generated as one"),
    "GN003": ("not-generated-yet", "this version does not generate the setting"),
    "GN004": ("unprintable-value", "a fallback value has no literal"),
    "GN005": ("partial-mismatch", "the rest of the package does not fit these files"),
    "GN006": ("output-conflict", "somebody else's file or folder is in the way"),
    "GN007": ("output-not-written", "the system did not let the package be written"),
    "GN008": ("no-services", "there is no service to generate"),
    "GN009": ("target-unreadable", "the code of a target cannot be read here"),
    "GN010": ("target-mismatch", "a target is nothing that can be guarded"),
    "GN011": ("template-fails", "a template of your own is wrong or fails"),
}
