"""CG-03: a generated name cannot shadow what the module imports or uses.

Reported for a generated class called like an import, which left a file that compiles
and does something else.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from policyctl.cli.main import run

NAMES = [
    "any",
    "asyncio",
    "builtins",
    "callable",
    "dir",
    "importlib",
    "isinstance",
    "len",
    "list",
    "policyctl",
    "policy",
    "retry",
    "settings",
    "sorted",
    "str",
    "tuple",
    "types",
    "typing",
]
CHECK = """
import generated
from generated import registry
for name in {names}:
    module = getattr(generated, name)
    assert module.__name__ == f"generated.{{name}}", module
    assert getattr(registry, name) is module
    for operation in {names}:
        policy = getattr(module, operation)
        assert (policy.service, policy.operation) == (name, operation)
        assert registry.policies[f"{{name}}.{{operation}}"] is policy
        assert policy.call(lambda: 3) == 3
assert sorted(dir(generated)) == sorted([*{names}, "registry"])
assert len(registry.policies) == {count}
try:
    generated.lst
except AttributeError as error:
    assert error.name == "lst"
"""


def test_every_name_imports_and_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Services and operations called like builtins and imports work side by side."""
    monkeypatch.chdir(tmp_path)
    Path("policies").mkdir()
    for name in NAMES:
        operations = "".join(
            f"  {operation}: {{transport: local, bulkhead: {{max_concurrent: 1}}}}\n"
            for operation in NAMES
        )
        Path("policies", f"{name}.yaml").write_text(
            f"version: 1\nservice: {name}\noperations:\n{operations}"
        )
    assert run(["generate"]) == 0
    script = CHECK.format(names=NAMES, count=len(NAMES) ** 2)
    subprocess.run([sys.executable, "-c", script], check=True, timeout=180)
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "generated"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout
