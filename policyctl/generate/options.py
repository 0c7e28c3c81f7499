"""What a run of the generator is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from policyctl.generate.team import team_digest

RUNTIMES = {"library": "policyctl.runtime", "bundled": "._runtime"}
"""Where generated modules import the runtime from, for each value of ``runtime``."""


@dataclass(frozen=True, slots=True)
class GenerateOptions:
    """Where and how a package is generated.

    Attributes:
        output: the folder of the package.
        package: its import name, for example ``acme.resilience``.
        target_python: the oldest Python that the code must run on.
        environment: the overlay that the project was resolved with, or None.
        runtime: ``library`` imports the installed policyctl; ``bundled`` copies the
            runtime into the package, which then needs tenacity alone.
        templates: the folder of a team's own templates, or None.
        partial: only the reported services are generated: everything else in the
            package stays, and nothing is removed.
        root: the folder of the configuration, which sources are named relative to;
            None when there is no configuration.
        inputs: the files and folders that policies were read from; the output may lie
            in none of the folders, and none of them in the output.
    """

    output: Path
    package: str = "generated"
    target_python: str = "3.11"
    environment: str | None = None
    runtime: Literal["library", "bundled"] = "library"
    templates: Path | None = None
    partial: bool = False
    root: Path | None = None
    inputs: tuple[Path, ...] = ()

    def plain(self) -> dict[str, Any]:
        """The options that the bytes of the package depend on, as JSON data."""
        found = {
            "environment": self.environment,
            "package": self.package,
            "runtime": self.runtime,
            "target_python": self.target_python,
        }
        if self.templates is not None:
            found["templates"] = team_digest(self.templates)
        return found
