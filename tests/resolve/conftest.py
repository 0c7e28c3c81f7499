"""Load small projects from YAML texts."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

from policyctl.diagnostics import Diagnostic
from policyctl.resolve.policy import Operation
from policyctl.resolve.project import InputFile, Inputs, Loaded, load_project

Load = Callable[..., Loaded]


def _dedent(text: str) -> str:
    text = dedent(text).strip("\n") + "\n"
    heads = ("service:", "preset:")
    return f"version: 1\n{text}" if text.startswith(heads) else text


@pytest.fixture
def load() -> Load:
    """Load files given as texts, by name; names in ``context`` are not reported."""

    def run(
        *texts: str,
        environment: str | None = None,
        context: tuple[int, ...] = (),
        packaged: bool = True,
    ) -> Loaded:
        files = tuple(
            InputFile(f"{index}.yaml", _dedent(text).encode(), index not in context)
            for index, text in enumerate(texts)
        )
        return load_project(Inputs(files, environment=environment, packaged=packaged))

    return run


@pytest.fixture
def operation(load: Load) -> Callable[..., Operation]:
    """Resolve one operation ``s.op`` from its settings in YAML; no findings allowed."""

    def run(
        settings: str, service: str = "", environment: str | None = None
    ) -> Operation:
        loaded = load(service_text(settings, service), environment=environment)
        assert loaded.diagnostics == ()
        found = loaded.project.find_operation("s.op")
        assert found is not None
        return found

    return run


@pytest.fixture
def only(load: Load) -> Callable[..., Diagnostic]:
    """The one finding about an operation ``s.op`` with these settings."""

    def run(settings: str, service: str = "") -> Diagnostic:
        loaded = load(service_text(settings, service))
        assert [found.code for found in loaded.diagnostics] == [
            loaded.diagnostics[0].code
        ]
        return loaded.diagnostics[0]

    return run


def service_text(settings: str, service: str) -> str:
    """A document of service ``s`` with one operation ``op``."""
    body = "\n".join("    " + line for line in dedent(settings).strip().splitlines())
    head = dedent(service).strip()
    return f"service: s\n{head}\noperations:\n  op:\n{body}\n"
