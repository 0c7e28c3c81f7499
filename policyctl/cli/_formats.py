"""Choices that several commands offer."""

from __future__ import annotations

from enum import StrEnum


class TextOrJson(StrEnum):
    """For people or for programs."""

    text = "text"
    json = "json"


class Level(StrEnum):
    """How bad a finding is."""

    error = "error"
    warning = "warning"
    info = "info"
