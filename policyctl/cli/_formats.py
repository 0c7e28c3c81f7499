"""Output formats that several commands offer."""

from __future__ import annotations

from enum import StrEnum


class TextOrJson(StrEnum):
    """For people or for programs."""

    text = "text"
    json = "json"
