"""What a fresh process loads for the runtime and for the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = {
    "black",
    "click",
    "griffe",
    "jinja2",
    "pydantic",
    "rich",
    "ruamel",
    "tenacity",
    "typer",
    "yaml",
}


def loaded(code: str) -> set[str]:
    """The modules that a fresh isolated interpreter holds after running ``code``."""
    report = "import json, sys\nprint()\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        timeout=180,
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("module", ["policy", "settings", "errors", "registry"])
def test_the_runtime_loads_no_package_of_the_tool(module: str) -> None:
    """Importing what generated code imports loads neither the CLI's packages nor tenacity."""
    tops = {
        name.partition(".")[0] for name in loaded(f"import policyctl.runtime.{module}")
    }
    assert tops & HEAVY == set()


def test_a_policy_without_retry_does_without_tenacity() -> None:
    """Creating and using a policy that declares no retry never imports tenacity."""
    code = (
        "from policyctl.runtime import policy, settings\n"
        "p = policy.Policy(service='s', operation='o',"
        " bulkhead=settings.Bulkhead(max_concurrent=1, max_queue=0, max_wait=0.0))\n"
        "assert p.call(int, '7') == 7\n"
    )
    assert "tenacity" not in loaded(code)


def test_the_version_is_answered_before_anything_is_imported() -> None:
    """``policyctl --version`` loads three small modules beyond bare Python."""
    code = "from policyctl.cli.main import run\nassert run(['--version']) == 0"
    assert loaded(code) - loaded("pass") == {
        "policyctl",
        "policyctl._version",
        "policyctl.cli",
        "policyctl.cli.main",
    }


@pytest.mark.parametrize(
    "arguments", [["--help"], ["validate", "--help"], ["config", "show"]]
)
def test_help_and_small_commands_load_no_heavy_package(arguments: list[str]) -> None:
    """Help, completion and small commands do not pay for parsing or templates."""
    code = f"from policyctl.cli.main import run\nassert run({arguments!r}) == 0"
    tops = {name.partition(".")[0] for name in loaded(code)}
    assert tops & HEAVY == {"typer"}


def test_without_the_extra_the_command_says_what_to_install() -> None:
    """In an interpreter without third-party packages it is one line and exit code 2."""
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "from policyctl.cli.main import run\n"
        "assert run(['--version']) == 0\n"
        "sys.exit(run(['validate']))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert done.returncode == 2
    assert done.stderr == (
        "error: the policyctl command needs typer, which is not installed\n"
        "  help: pip install 'policyctl[cli]'\n"
    )
