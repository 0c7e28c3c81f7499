"""CG-01: names that are keywords, builtins or no identifiers give code that compiles.

Reported for generators that escape names before the last transformation, so that
``Global`` or ``None`` became a keyword only in the output. Here a name is a file, a
module and a variable as it stands: what cannot be one is refused with its line, and
whatever else is accepted is generated unchanged.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from policyctl.cli.main import run

REFUSED = [
    "Global",
    "None",
    "match",
    "type",
    "case",
    "class",
    "__init__",
    "_private",
    "2fast",
    "",
    "-",
    "a-b",
    "a b",
    "a.b",
    "é",
    "ａ",
    "to",
    "inbound",
    "registry",
]
ACCEPTED = [
    "false",
    "self",
    "print",
    "list",
    "str",
    "any",
    "typing",
    "policy",
    "settings",
    "x2",
]


def policy(service: str, operation: str) -> str:
    """A policy with a name in each place."""
    return (
        f"version: 1\nservice: {service!r}\noperations:\n  {operation!r}:\n"
        "    transport: local\n    bulkhead: {max_concurrent: 1}\n"
    )


@pytest.fixture
def policies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The policy folder of a project that is the working directory."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "policies"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("name", REFUSED)
def test_a_name_that_python_cannot_hold_is_refused(
    name: str, policies: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error is at the name's line, as an operation and as a service."""
    (policies / "a.yaml").write_text(policy("quotes_api", name), encoding="utf-8")
    assert run(["generate"]) == 1
    assert "policies/a.yaml:4:" in "".join(capsys.readouterr())
    (policies / "a.yaml").write_text(policy(name, "get_quote"), encoding="utf-8")
    assert run(["generate"]) == 1
    assert "policies/a.yaml:2:" in "".join(capsys.readouterr())
    assert not Path("generated").exists()


@pytest.mark.parametrize("name", ACCEPTED)
def test_any_other_name_is_generated_as_it_is(name: str, policies: Path) -> None:
    """Names of builtins and modules are names of modules and variables."""
    (policies / "a.yaml").write_text(policy(name, name), encoding="utf-8")
    assert run(["generate"]) == 0
    tree = ast.parse(Path("generated", f"{name}.py").read_bytes())
    assigned = [n.target for n in tree.body if isinstance(n, ast.AnnAssign)]
    assert [ast.unparse(target) for target in assigned] == [name]
    assert f'operation="{name}"' in Path("generated", f"{name}.py").read_text()
