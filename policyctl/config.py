"""The configuration: the nearest ``policyctl.toml`` or ``[tool.policyctl]`` upwards.

Every key has a default, so a project without a file works. What is written wrong is
reported at its line; nothing is silently dropped.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, cast

from policyctl.config_values import (
    PARSERS,
    InvalidSetting,
    Threshold,
    package_of,
    setting_names,
    shown,
    table_of,
)
from policyctl.diagnostics import Diagnostic, Severity, Span
from policyctl.source.nodes import Source
from policyctl.source.regular import read_regular
from policyctl.toml_places import KeyPath, find_keys

FILE_NAME = "policyctl.toml"
MAX_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Config:
    """The effective settings of one run.

    Attributes:
        root: the folder that relative paths count from: the configuration's own
            folder, or the working directory when there is none.
        path: the configuration file as shown to people, or None.
        policies: folders and files that are read when no path is given.
        output: the folder of the generated package, relative to ``root``.
        package: the import name of the generated package.
        environment: the overlay to apply, or None.
        target_python: the oldest Python that generated code must run on.
        select: rule codes, names or prefixes to run; empty means all.
        ignore: rule codes, names or prefixes not to run.
        severity: severities that replace those of rules, by code or name.
        fail_on: the lowest severity that makes ``validate`` exit 1.
        thresholds: settings of rules, by code or name, then by threshold name.
        unsuppressible: rules that no comment or ``ignore:`` entry may hide.
        exclude: patterns of paths that are not read when folders are searched.
        generate_exclude: patterns of files whose services are checked, not generated.
        baseline: the file of known findings, relative to ``root``, or None.
        rules: the folder of house rules, relative to ``root``, or None.
        templates: the folder of templates of your own, relative to ``root``, or None.
        runtime: ``library`` or ``bundled``, where generated code has its runtime from.
        origins: where each key's value comes from, by key as written in the file.
        spans: the places of the keys in the file, by path below our table.
        source: the file's text.
    """

    root: Path
    path: str | None = None
    policies: tuple[str, ...] = ("policies",)
    output: str = "generated"
    package: str = "generated"
    environment: str | None = None
    target_python: str = "3.11"
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severity: Mapping[str, Severity] = field(default_factory=dict[str, Severity])
    fail_on: Severity = Severity.ERROR
    thresholds: Mapping[str, Mapping[str, Threshold]] = field(
        default_factory=dict[str, Mapping[str, Threshold]]
    )
    unsuppressible: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    generate_exclude: tuple[str, ...] = ()
    baseline: str | None = None
    rules: str | None = None
    templates: str | None = None
    runtime: Literal["library", "bundled"] = "library"
    origins: Mapping[str, str] = field(default_factory=dict[str, str])
    spans: Mapping[KeyPath, Span] = field(
        default_factory=dict[KeyPath, Span], compare=False, repr=False
    )
    source: Source | None = field(default=None, compare=False, repr=False)

    def error(
        self, path: KeyPath, message: str, help: str | None = None
    ) -> ConfigError:
        """An error about the value at ``path`` that shows only when it is used."""
        while path and path not in self.spans:
            path = path[:-1]
        span = self.spans.get(path, Span(self.path or FILE_NAME))
        return _error("CF104", "invalid-setting", message, span, help, self.source)

    def sets(self, key: str) -> bool:
        """Whether the file sets ``key`` itself."""
        return (key,) in self.spans

    def origin(self, key: str) -> str:
        """``FILE:LINE`` for a key that the file sets, else ``default``."""
        return self.origins.get(key, "default")


class ConfigError(Exception):
    """The configuration cannot be used; ``diagnostics`` say what and where.

    ``source`` holds the file's text where it could be read, for excerpts.
    """

    def __init__(
        self, diagnostics: tuple[Diagnostic, ...], source: Source | None = None
    ) -> None:
        super().__init__("; ".join(d.message for d in diagnostics))
        self.diagnostics = diagnostics
        self.source = source


def load(start: Path) -> Config:
    """Return the settings for a run in the folder ``start``.

    Raises:
        ConfigError: the nearest configuration is not readable, not TOML, or holds a
            key or value that is not known.
    """
    folder = start.absolute()
    for candidate in (folder, *folder.parents):
        config = _from_folder(candidate, folder)
        if config is not None:
            return config
    return Config(root=folder)


def _from_folder(folder: Path, start: Path) -> Config | None:
    """The settings written in ``folder``, or None when it has none."""
    own = folder / FILE_NAME
    if os.path.lexists(own):
        return _parse(_read(own, start), (), folder)
    pyproject = folder / "pyproject.toml"
    if not os.path.lexists(pyproject):
        return None
    try:
        if b"policyctl" not in read_regular(pyproject):
            return None
    except OSError as error:
        hint = f"make it readable, or put a {FILE_NAME} beside the policies"
        raise _unreadable(pyproject, start, error, hint) from None
    source = _read(pyproject, start)
    tables = _toml(source)
    tool = tables.get("tool")
    if not isinstance(tool, dict) or "policyctl" not in tool:
        return None
    return _parse(source, ("tool", "policyctl"), folder)


def _read(path: Path, start: Path) -> Source:
    """Read a configuration file as UTF-8 text of bounded size."""
    shown = display_path(path, start)
    try:
        data = read_regular(path, MAX_BYTES + 1)
    except OSError as error:
        hint = "make it a file that this user can read, or remove it"
        raise _unreadable(path, start, error, hint) from None
    if len(data) > MAX_BYTES:
        size = path.stat().st_size
        message = f"{size} bytes are more than the {MAX_BYTES} of a configuration"
        hint = "make it shorter; is it the file that was meant?"
        raise _error("CF101", "config-unreadable", message, Span(shown), hint)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"byte 0x{data[error.start]:02x} is not valid utf-8"
        place = Span(shown, line, 1, line, 1)
        hint = "save the file as UTF-8"
        raise _error("CF101", "config-unreadable", message, place, hint) from None
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    return Source(shown, text, line_starts=starts)


def _unreadable(path: Path, start: Path, error: OSError, hint: str) -> ConfigError:
    """The error for a configuration that the system will not give us."""
    reason = (error.strerror or type(error).__name__).lower()
    if path.is_symlink() and isinstance(error, FileNotFoundError):
        reason = f"it is a link to {os.readlink(path)}, which does not exist"
        hint = "correct the link, or remove it"
    place = Span(display_path(path, start))
    return _error("CF101", "config-unreadable", reason, place, hint)


def display_path(path: Path, start: Path) -> str:
    """``path`` as people see it: relative to ``start`` if that is no longer."""
    absolute = path.as_posix()
    try:
        relative = path.relative_to(start).as_posix()
    except ValueError:
        for depth, parent in enumerate(start.parents, 1):
            if parent in path.parents:
                relative = "../" * depth + path.relative_to(parent).as_posix()
                return min(relative, absolute, key=len)
        return absolute
    return relative


def _toml(source: Source) -> dict[str, Any]:
    """Parse a file's text as TOML."""
    import tomllib

    try:
        return tomllib.loads(source.text)
    except tomllib.TOMLDecodeError as error:
        text = str(error)
        found = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)", text)
        end = len(source.text.rstrip())
        span = source.span(end, end)
        if found is not None:
            text = text[: found.start()]
            if found[1]:
                line, column = int(found[1]), int(found[2])
                span = Span(source.path, line, column, line, column + 1)
        message = f"not valid TOML: {text[:1].lower()}{text[1:]}"
        raise _error("CF102", "config-syntax", message, span, source=source) from None
    except RecursionError:
        message = "not valid TOML: nested too deeply"
        place = Span(source.path)
        raise _error("CF102", "config-syntax", message, place, source=source) from None


def _error(
    code: str,
    name: str,
    message: str,
    span: Span,
    help: str | None = None,
    source: Source | None = None,
) -> ConfigError:
    """One finding, ready to raise."""
    finding = Diagnostic(code, name, Severity.ERROR, message, span, help=help)
    return ConfigError((finding,), source)


class _Reader:
    """Turns one table into settings, collecting findings."""

    def __init__(self, source: Source, prefix: KeyPath) -> None:
        self.source = source
        self.prefix = prefix
        self.findings: list[Diagnostic] = []
        self.places = find_keys(source.text)

    def span(self, *path: str) -> Span:
        """The place of the key at ``path``, or of its nearest ancestor."""
        whole = self.prefix + path
        while whole and whole not in self.places:
            whole = whole[:-1]
        return self.source.span(*self.places.get(whole, (0, 0)))

    def spans(self) -> dict[KeyPath, Span]:
        """The places of all keys below our table."""
        depth = len(self.prefix)
        return {
            path[depth:]: self.source.span(*place)
            for path, place in self.places.items()
            if path[:depth] == self.prefix and len(path) > depth
        }

    def report(
        self, code: str, name: str, message: str, span: Span, help: str | None
    ) -> None:
        """Note one finding."""
        finding = Diagnostic(code, name, Severity.ERROR, message, span, help=help)
        self.findings.append(finding)

    def read(self, table: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        """The accepted values and their origins, both by key as written."""
        values: dict[str, Any] = {}
        origins: dict[str, str] = {}
        for key, raw in table.items():
            parser = PARSERS.get(key)
            if parser is None:
                self.unknown(key)
                continue
            try:
                values[key] = parser(key, raw)
            except InvalidSetting as error:
                span = self.span(key, *error.path)
                self.report("CF104", "invalid-setting", str(error), span, error.help)
            origins[key] = f"{self.source.path}:{self.span(key).line}"
        return values, origins

    def unknown(self, key: str) -> None:
        """Report a key that is not known, with the nearest one."""
        dashed = key.replace("_", "-")
        near = get_close_matches(dashed, setting_names(), 1, 0.6)
        help = (
            f"did you mean {near[0]}?"
            if near
            else "the settings are " + ", ".join(setting_names())
        )
        message = f"{shown(key)[1:-1]} is not a setting of policyctl"
        self.report("CF103", "unknown-setting", message, self.span(key), help)


def _parse(source: Source, prefix: KeyPath, folder: Path) -> Config:
    """Check the table at ``prefix`` of a file and build the settings."""
    table: object = _toml(source)
    for part in prefix:
        table = table_of(part, table)[part]
    reader = _Reader(source, prefix)
    try:
        values, origins = reader.read(table_of(".".join(prefix), table))
    except InvalidSetting as error:
        place = reader.span()
        raise _error(
            "CF104", "invalid-setting", str(error), place, source=source
        ) from None
    if "package" not in values:
        _derive_package(reader, values, origins)
    if reader.findings:
        raise ConfigError(tuple(sorted(reader.findings, key=_by_place)), source)
    known = {f.name for f in fields(Config)}
    settings = {key.replace("-", "_"): value for key, value in values.items()}
    settings = {key: value for key, value in settings.items() if key in known}
    return Config(
        root=folder,
        path=source.path,
        origins=origins,
        spans=reader.spans(),
        source=source,
        **settings,
    )


def _derive_package(
    reader: _Reader, values: dict[str, Any], origins: dict[str, str]
) -> None:
    """Name the package after the output folder."""
    if "output" not in values:
        return
    try:
        values["package"] = package_of(values["output"])
        origins["package"] = f"name of the output folder, {origins['output']}"
    except ValueError as error:
        help = 'say which name it is imported by, for example package = "resilience"'
        span = reader.span("output")
        reader.report("CF104", "invalid-setting", str(error), span, help)


def _by_place(finding: Diagnostic) -> tuple[int, int]:
    return (finding.span.line, finding.span.column)


def settings_of(config: Config) -> dict[str, Any]:
    """The effective values in the form and order of the file, ready for JSON or TOML."""

    return {
        key: _plain(getattr(config, key.replace("-", "_"))) for key in setting_names()
    }


def _plain(value: Any) -> Any:
    """A value of a setting in the types that TOML and JSON have."""
    if isinstance(value, Severity):
        return value.label
    if isinstance(value, tuple):
        return [_plain(item) for item in cast("tuple[object, ...]", value)]
    if isinstance(value, Mapping):
        table = cast("Mapping[str, object]", value)
        return {key: _plain(item) for key, item in table.items()}
    return value
