"""A generated package at run time: lazy, typed names, found by name and pattern."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CASES = Path(__file__).parent / "cases"


def run(script: str, case: str = "edges") -> Any:
    """What a script prints as JSON, in a process that can import a case's package."""
    prelude = "import json, sys\nsys.path.insert(0, sys.argv[1])\n"
    done = subprocess.run(
        [sys.executable, "-B", "-c", prelude + script, str(CASES / case)],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


LOADED = """
print(json.dumps(sorted(name for name in sys.modules if name.startswith("expected"))))
"""


@pytest.mark.parametrize(
    ("statement", "loaded"),
    [
        ("import expected", []),
        ("from expected import tax_api", ["tax_api"]),
        ("import expected; expected.tax_api.compute", ["tax_api"]),
        ("import expected.tax_api", ["tax_api"]),
        ("from expected import registry", ["registry"]),
        ("from expected import registry; len(registry.policies)", ["registry"]),
        ("from expected import registry; registry.tax_api", ["registry", "tax_api"]),
        (
            "from expected import registry; registry.policies['tax_api.compute']",
            ["registry", "tax_api"],
        ),
        (
            "from expected import registry; registry.policies.policies('tax_*')",
            ["registry", "tax_api"],
        ),
        ("from expected import *", ["booking_agent", "registry", "tax_api"]),
    ],
)
def test_only_what_is_used_is_loaded(statement: str, loaded: list[str]) -> None:
    """One service of a thousand costs one module."""
    expected = ["expected", *(f"expected.{name}" for name in loaded)]
    assert run(statement + LOADED) == expected


def test_the_package_itself_is_free() -> None:
    """Importing the package loads nothing of the runtime."""
    script = "import expected\nprint(json.dumps('policyctl' in sys.modules))"
    assert run(script) is False


def test_lookup_by_name_and_pattern() -> None:
    """Policies of operations and of edges have names; patterns select them."""
    script = """
from expected import booking_agent, registry
policies = registry.policies
print(json.dumps([
    list(policies),
    "tax_api.compute" in policies,
    "tax_api" in policies,
    policies["booking_agent.to.tax_api.compute"] is booking_agent.to.tax_api.compute,
    policies.get("tax_api.nothing") is None,
    sorted(policies.policies("*.compute")),
    sorted(policies.bulkheads()),
    sorted(policies.circuit_breakers()),
    sorted(policies.statistics("booking_agent.book")),
]))
"""
    names = [
        "booking_agent.book",
        "booking_agent.to.tax_api.compute",
        "tax_api.compute",
    ]
    assert run(script) == [
        names,
        True,
        False,
        True,
        True,
        names[1:],
        names[:1],
        [],
        names[:1],
    ]


def test_unknown_names_come_with_the_nearest() -> None:
    """A typing error in a name is told with what was meant."""
    script = """
from expected import registry
found = []
for look_up in (
    lambda: registry.policies["tax_api.compte"],
    lambda: registry.policies.policies("tax_apy.compute"),
    lambda: registry.tax_apy,
):
    try:
        look_up()
    except Exception as error:
        found.append(f"{type(error).__name__}: {error}")
print(json.dumps(found))
"""
    first, second, third = run(script)
    assert "expected has no policy called 'tax_api.compte'" in first
    assert "did you mean tax_api.compute?" in first
    assert "did you mean tax_api.compute?" in second
    expected = "module 'expected.registry' has no attribute 'tax_apy'"
    assert third == f"AttributeError: {expected}"


def test_edges_have_settings_of_their_own() -> None:
    """The caller's policy for a callee is not the callee's own."""
    script = """
from expected import booking_agent, tax_api
own, general = booking_agent.to.tax_api.compute, tax_api.compute
print(json.dumps([
    own.settings["attempt_timeout"].total,
    general.settings["attempt_timeout"].total,
    "retry" in own.settings,
    "retry" in general.settings,
    [own.service, own.operation],
]))
"""
    assert run(script) == [
        0.3,
        1.0,
        False,
        True,
        ["booking_agent", "to.tax_api.compute"],
    ]


def test_policies_guard_calls() -> None:
    """A generated policy runs what it is given."""
    script = """
from expected import tax_api
attempts = []
@tax_api.compute
def flaky(x: int) -> int:
    attempts.append(x)
    if len(attempts) == 1:
        raise ConnectionRefusedError
    return x + 1
print(json.dumps([flaky(1), attempts]))
"""
    assert run(script) == [2, [1, 1]]
