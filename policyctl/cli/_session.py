"""Loading policies for a command: read, resolve, and keep the texts for excerpts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from policyctl.cli._inputs import STDIN_NAME, File, Gathered, gather
from policyctl.config import Config
from policyctl.diagnostics import Diagnostic
from policyctl.resolve import project
from policyctl.resolve.policy import Project
from policyctl.source.decode import decode
from policyctl.source.files import display_path
from policyctl.source.nodes import Source


@dataclass(frozen=True, slots=True)
class Session:
    """The policies of one run.

    ``findings`` are those of reading, validating and resolving, not of lint.
    """

    config: Config
    gathered: Gathered
    environment: str | None
    project: Project
    findings: tuple[Diagnostic, ...]

    def sources(self, findings: Iterable[Diagnostic]) -> dict[str, Source]:
        """The texts of the files that ``findings`` point into, by path."""
        wanted = {d.span.path for d in findings}
        wanted |= {related.span.path for d in findings for related in d.related}
        found = {
            document.source.path: document.source for document in self.project.documents
        }
        for file in self.gathered.files:
            if file.display in wanted and file.display not in found:
                source, _problem = decode(file.data, file.display)
                if source is not None:
                    found[file.display] = source
        return {path: source for path, source in found.items() if path in wanted}

    @property
    def asked(self) -> list[str]:
        """The files and folders that were asked for, as people see them."""
        return [display_path(root) for root in self.gathered.roots] or [STDIN_NAME]

    @property
    def reported_files(self) -> int:
        """How many files were asked for and read."""
        return sum(file.reported for file in self.gathered.files)


def load(
    config: Config,
    paths: Sequence[str],
    *,
    environment: str | None = None,
    stdin_filename: str | None = None,
    whole: bool = False,
    frugal: bool = False,
) -> Session:
    """Read and resolve the policies at ``paths``, by default the configured ones.

    ``whole``: see :func:`policyctl.cli._inputs.gather`; ``frugal``: see
    :class:`policyctl.resolve.inputs.Inputs`.
    """
    gathered = gather(config, paths, stdin_filename, whole)
    return _resolve(config, gathered, environment or config.environment, frugal)


def changed(session: Session, contents: Mapping[str, bytes]) -> Session:
    """The session as if some files, by their shown paths, had these contents."""
    files = tuple(
        replace(file, data=contents[file.display]) if file.display in contents else file
        for file in session.gathered.files
    )
    gathered = replace(session.gathered, files=files)
    return _resolve(session.config, gathered, session.environment)


_latest: list[Session] = []
"""The last session, kept until the process ends: freeing it would only take time."""


def forget() -> None:
    """Let go of the last session, for a command that has to care for memory."""
    _latest.clear()


def _resolve(
    config: Config, gathered: Gathered, overlay: str | None, frugal: bool = False
) -> Session:
    loaded = project.load_project(
        project.Inputs(
            tuple(map(_input, gathered.files)),
            gathered.preset_folders,
            overlay,
            frugal=frugal,
        )
    )
    findings = (*gathered.findings, *loaded.diagnostics)
    session = Session(config, gathered, overlay, loaded.project, findings)
    _latest[:] = [session]
    return session


def _input(file: File) -> project.InputFile:
    return project.InputFile(file.display, file.data, file.reported)
