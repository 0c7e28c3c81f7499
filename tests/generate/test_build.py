"""Building: from services to files, or to findings and no files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

import pytest

from policyctl.generate.build import build
from policyctl.generate.options import GenerateOptions
from policyctl.resolve.policy import Fallback, Project, Service

LoadProject = Callable[[Mapping[str, str]], Project]
MakeOptions = Callable[..., GenerateOptions]


@pytest.fixture
def project(load: LoadProject, quotes: str, taxes: str) -> Project:
    """Two services."""
    return load({"policies/a.yaml": quotes, "policies/b.yaml": taxes})


def with_fallback(project: Project, value: Any) -> Project:
    """The project with a fallback value that no YAML would give."""
    service = project.services["quotes_api"]
    operation = replace(
        service.operations["get_quote"],
        fallback=Fallback("value", value, None, None, ("timeout",)),
    )
    changed: Service = replace(service, operations={"get_quote": operation})
    return replace(project, services={**project.services, "quotes_api": changed})


def test_the_files_of_a_package(project: Project, options: MakeOptions) -> None:
    """A module for each service, and what holds them together."""
    names = ["__init__.py", "policies.lock.json", "py.typed", "quotes_api.py"]
    built = build(project, options())
    assert [str(path) for path in built.tree] == [*names, "registry.py", "tax_api.py"]
    assert built.diagnostics == ()


def test_context_is_not_generated(project: Project, options: MakeOptions) -> None:
    """Services that were read for references alone are left out."""
    built = build(replace(project, reported=frozenset({"tax_api"})), options())
    assert PurePosixPath("tax_api.py") in built.tree
    assert PurePosixPath("quotes_api.py") not in built.tree


def test_nothing_to_generate(project: Project, options: MakeOptions) -> None:
    """An empty package would remove everything: it is an error instead."""
    built = build(replace(project, reported=frozenset()), options())
    assert [d.code for d in built.diagnostics] == ["GN008"]
    assert built.tree == {}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (float("nan"), "nan is not a finite number"),
        ([float("inf")], "inf is not a finite number"),
        pytest.param(10**5000, "the number has more than 4000 digits", id="long"),
        ({"a": object()}, "a object has no literal"),
    ],
)
def test_values_without_a_literal(
    value: object, reason: str, project: Project, options: MakeOptions
) -> None:
    """What Python or JSON cannot write is a finding at the value."""
    built = build(with_fallback(project, value), options())
    assert [(d.code, d.message) for d in built.diagnostics] == [
        ("GN004", f"the fallback value cannot be generated: {reason}")
    ]
    assert built.diagnostics[0].policy_path == (
        "quotes_api.operations.get_quote.fallback.value"
    )


def test_values_nested_too_deep(project: Project, options: MakeOptions) -> None:
    """Fifty levels are generated, and one more is a finding."""
    value: object = 1
    for _ in range(50):
        value = [value]
    assert build(with_fallback(project, value), options()).diagnostics == ()
    built = build(with_fallback(project, [value]), options())
    assert [d.code for d in built.diagnostics] == ["GN004"]


def test_a_runtime_that_is_not_built(project: Project, options: MakeOptions) -> None:
    """The bundled runtime is refused, not taken for the library."""
    built = build(project, options(runtime="bundled"))
    assert [d.code for d in built.diagnostics] == ["GN003"]
    assert built.diagnostics[0].help == 'set runtime = "library"'


def test_findings_are_in_the_order_of_reports(
    load: LoadProject, quotes: str, options: MakeOptions
) -> None:
    """Findings of all services come by file and line."""
    text = quotes + "telemetry: {heartbeat: 30s}\n"
    text = text.replace("timeout: 1s", "timeout: {total: 1s, connect: 1ms}")
    text = text.replace("    retry: {max_attempts: 3}\n", "")
    texts = {"b.yaml": text, "a.yaml": text.replace("quotes_api", "a")}
    built = build(load(texts), options())
    places = [(d.span.path, d.span.line) for d in built.diagnostics]
    assert places == [("a.yaml", 7), ("a.yaml", 8), ("b.yaml", 7), ("b.yaml", 8)]


def test_a_partial_run_without_a_readable_lock_file(
    project: Project, options: MakeOptions
) -> None:
    """What the package holds is not known, so the whole package must be generated."""
    folder = options().output
    folder.mkdir()
    (folder / "policies.lock.json").write_text("<<<<<<< ours\n")
    built = build(project, options(partial=True))
    assert [d.code for d in built.diagnostics] == ["GN005"]
    assert "run policyctl generate without file names" in str(built.diagnostics[0].help)


def test_a_partial_run_where_the_lock_file_is_gone(
    project: Project, options: MakeOptions
) -> None:
    """Modules that no lock file knows would be lost from the package's index."""
    folder = options().output
    folder.mkdir()
    (folder / "other_api.py").write_text("# @generated by policyctl; x\n")
    (folder / "helpers.py").write_text("x = 1\n")
    built = build(project, options(partial=True))
    assert [d.message for d in built.diagnostics] == [
        "policies.lock.json is missing, and other_api.py is in the package"
    ]


def test_options_are_part_of_the_digest(project: Project, options: MakeOptions) -> None:
    """Another environment or target makes every module another one."""

    def digests(**changes: str) -> set[str]:
        tree = build(project, options(**changes)).tree
        lock = json.loads(tree[PurePosixPath("policies.lock.json")])
        return {service["digest"] for service in lock["services"].values()}

    assert not digests() & digests(environment="staging")
    assert not digests() & digests(target_python="3.12")
    assert digests() == digests()


def test_the_environment_is_named(project: Project, options: MakeOptions) -> None:
    """A module that holds the numbers of an environment says so."""
    tree = build(project, options(environment="staging")).tree
    text = tree[PurePosixPath("tax_api.py")].decode("utf-8")
    assert "\nSource: policies/b.yaml\nEnvironment: staging\n" in text
