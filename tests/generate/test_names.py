"""Names that cannot be files or variables are refused whatever let them through."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from policyctl.generate.names import check_names
from policyctl.resolve.policy import Project, Service

LoadProject = Callable[[Mapping[str, str]], Project]


@pytest.fixture
def service(load: LoadProject, quotes: str) -> Service:
    """A service with the operation ``get_quote``."""
    return load({"a.yaml": quotes}).services["quotes_api"]


def findings(*services: Service) -> list[tuple[str, str, str]]:
    """Code, message and place."""
    return [(d.code, d.message, str(d.span)) for d in check_names(services)]


def test_ordinary_names(service: Service) -> None:
    """Nothing is said about them."""
    assert findings(service) == []


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../x", "the name `../x` is not a snake_case identifier"),
        ("class", "the name `class` is a keyword of Python"),
        ("registry", "the name `registry` is used by the generated code itself"),
        ("policies", "the generated package uses this name itself"),
        ("con", "Windows reserves this file name for a device"),
        ("lpt1", "Windows reserves this file name for a device"),
        ("x" * 101, "is over 100 characters"),
    ],
)
def test_services(name: str, reason: str, service: Service) -> None:
    """A service's name is also a file's and a module's."""
    ((code, message, place),) = findings(replace(service, name=name))
    assert (code, place) == ("GN001", "a.yaml:2:10")
    assert message.startswith("service `")
    assert reason in message


@pytest.mark.parametrize("name", ["_private", "None", "to", "inbound", "a\nb"])
def test_operations(name: str, service: Service) -> None:
    """An operation's name is a variable's."""
    operation = service.operations["get_quote"]
    changed = replace(service, operations={name: operation})
    assert [code for code, _, _ in findings(changed)] == ["GN001"]


@pytest.mark.parametrize("name", ["con", "policies"])
def test_operations_are_no_files(name: str, service: Service) -> None:
    """What only a file or the package cannot be called, an operation can."""
    operation = service.operations["get_quote"]
    assert findings(replace(service, operations={name: operation})) == []


def test_two_names_that_fold_to_one(service: Service) -> None:
    """A file system or Python may take them for one, so both are shown."""
    other = replace(service, name="quotesApi")
    codes = [code for code, _, _ in findings(service, other)]
    assert codes == ["GN001", "GN002"]
    operation = service.operations["get_quote"]
    twice = replace(
        service, operations={"get_quote": operation, "get_Quote": operation}
    )
    assert [code for code, _, _ in findings(twice)] == ["GN001", "GN002"]
