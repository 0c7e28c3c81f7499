"""What is loaded, and what comes out of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from policyctl.diagnostics import Diagnostic
from policyctl.resolve.policy import Project


@dataclass(frozen=True, slots=True)
class InputFile:
    """One policy file: the path to show, and its bytes.

    ``reported`` files are those that the user asked about; others are context, read
    so that references into them can be followed.
    """

    path: str
    data: bytes
    reported: bool = True


@dataclass(frozen=True, slots=True)
class Inputs:
    """Everything that one run reads.

    Attributes:
        files: service and preset documents, in the order of their names.
        preset_folders: folders with further ``*.yaml`` preset files; a file that is
            in ``files`` already (the same path on disk) is not read again.
        environment: the overlay to apply, or None.
        packaged: whether the presets that ship with policyctl can be extended.
        frugal: whether documents let go of their nodes, for a run that looks at few of
            their places again; halves the memory of a fleet.
    """

    files: tuple[InputFile, ...]
    preset_folders: tuple[Path, ...] = ()
    environment: str | None = None
    packaged: bool = True
    frugal: bool = False


@dataclass(frozen=True, slots=True)
class Loaded:
    """The resolved project, and the findings of all steps up to here, in order.

    Services with errors are missing from the project; ``diagnostics`` says why.
    """

    project: Project
    diagnostics: tuple[Diagnostic, ...]
