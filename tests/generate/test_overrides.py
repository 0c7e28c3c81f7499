"""The variables that a module's docstring lists are those that the runtime takes."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

CASES = Path(__file__).parent / "cases"
SCRIPT = """
import json, sys
sys.path.insert(0, sys.argv[1])
from expected import registry
settings = {
    name: {key: repr(value) for key, value in policy.settings.items()}
    for name, policy in registry.policies.policies().items()
}
print(json.dumps(settings, sort_keys=True))
"""


def listed(case: Path) -> dict[str, str]:
    """The variables and values in the docstrings of a case's modules."""
    found: dict[str, str] = {}
    for path in sorted((case / "expected").glob("*.py")):
        docstring = ast.get_docstring(ast.parse(path.read_bytes()), clean=False) or ""
        found.update(re.findall(r"^    ([A-Z][A-Z0-9_]+) \((.+)\)$", docstring, re.M))
    return found


def import_all(
    case: Path, variables: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """Import every module of a case in a process with these variables."""
    return subprocess.run(
        [sys.executable, "-B", "-c", SCRIPT, str(case)],
        env={"PATH": os.environ["PATH"], **variables},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


def test_every_listed_variable_is_taken() -> None:
    """Set to the very values that are listed, they change nothing."""
    for case in (CASES / "patterns", CASES / "payment_api"):
        variables = listed(case)
        assert len(variables) > 20
        plain = import_all(case, {})
        assert plain.returncode == 0, plain.stderr
        overridden = import_all(case, variables)
        assert (overridden.stdout, overridden.stderr) == (plain.stdout, "")


def test_a_listed_variable_changes_its_limit() -> None:
    """Another value is seen in the settings, and a bad one is a clear error."""
    case = CASES / "payment_api"
    name = "PAYMENT_API_CHARGE_BULKHEAD_MAX_CONCURRENT"
    assert listed(case)[name] == "10"
    changed = import_all(case, {name: "17"})
    assert "max_concurrent=17" in changed.stdout
    wrong = import_all(case, {name: "many"})
    assert wrong.returncode == 1
    assert f"{name}=many: `many` is not a whole number" in wrong.stderr


def test_windows_of_calls_and_unlimited_attempts() -> None:
    """Values are written as the runtime reads them."""
    found = listed(CASES / "patterns")
    assert found["REPORTS_API_BY_RATIO_CIRCUIT_BREAKER_WINDOW"] == "100 calls"
    assert found["REPORTS_API_FOR_EVER_RETRY_MAX_ATTEMPTS"] == "unlimited"


def test_numbers_of_keys_are_listed_where_there_are_keys() -> None:
    """A block without keys does not list how many it keeps."""
    assert not any("MAX_KEYS" in name for name in listed(CASES / "patterns"))
