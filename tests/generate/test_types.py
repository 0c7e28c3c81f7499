"""mypy and pyright, both strict, see the types of a generated package and its misuse."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from policyctl.generate.build import build
from policyctl.generate.compare import compare
from policyctl.generate.options import GenerateOptions
from policyctl.generate.write import write
from policyctl.resolve.policy import Project

LoadProject = Callable[[Mapping[str, str]], Project]

ROOT = Path(__file__).parents[2]
CASES = Path(__file__).parent / "cases"

USES = '''\
"""Uses of a generated package; every line with a mark is an error."""

from typing import assert_type

from my_app.jobs import Job

from acme import booking_agent, payment_api, recovery_worker, registry, typed
from acme.payment_api import charge
from policyctl.runtime.policy import Policy
from policyctl.runtime.queues import Item, JsonObject


@payment_api.charge
async def pay(order: int, *, note: str = "") -> str:
    return f"{order}{note}"


@charge
def pay_now(order: int) -> str:
    return str(order)


async def main() -> None:
    assert_type(payment_api.charge, Policy)
    assert_type(registry.payment_api.charge, Policy)
    assert_type(registry.policies["payment_api.charge"], Policy)
    assert_type(booking_agent.to.tax_api.compute, Policy)
    assert_type(await pay(1, note="x"), str)
    assert_type(pay_now(1), str)
    assert_type(payment_api.quote.call(pay_now, 1), str)
    assert_type(await payment_api.quote.call(pay, 1), str)
    typed.recovery.put(Job("a"))
    assert_type(typed.recovery.take(), Item[Job] | None)
    assert_type(await typed.recovery.atake_many(3), list[Item[Job]])
    assert_type(recovery_worker.reports.take(), Item[JsonObject] | None)
    await recovery_worker.reports.aput({"agent_id": 1, "values": [1.5]})
    typed.recovery.put({"name": "a"})  # ERROR
    recovery_worker.reports.put(Job("a"))  # ERROR
    recovery_worker.elsewhere  # ERROR
    pay_now("x")  # ERROR
    await pay(1, other=2)  # ERROR
    payment_api.quote.call(pay_now, "x")  # ERROR
    payment_api.chrge  # ERROR
    registry.paymnt_api  # ERROR
    registry.payment_api.chrge  # ERROR
    booking_agent.to.tax_api.comput  # ERROR
'''
TYPED = """\
version: 1
service: typed
queues:
  recovery: {store: sqlite, path: a.db, payload: my_app.jobs:Job, max_size: 1}
  nested: {store: sqlite, path: a.db, payload: my_app.jobs:Outer.Inner, max_size: 1}
"""
JOBS = """\
class Job:
    def __init__(self, name: str) -> None:
        self.name = name


class Outer:
    class Inner:
        pass
"""
ERRORS = [
    number
    for number, line in enumerate(USES.splitlines(), 1)
    if line.endswith("# ERROR")
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, load: LoadProject) -> Path:
    """A folder with the package ``acme`` of all cases, and a module that uses it."""
    folder = tmp_path_factory.mktemp("types")
    texts = {
        path.name: path.read_text(encoding="utf-8")
        for path in sorted(CASES.glob("*/policies/*.yaml"))
    }
    texts["typed.yaml"] = TYPED
    options = GenerateOptions(folder / "acme", "acme", root=Path.cwd())
    built = build(load(texts), options)
    assert built.diagnostics == ()
    write(built, compare(built, options), options)
    (folder / "my_app").mkdir()
    (folder / "my_app" / "__init__.py").write_text("", encoding="utf-8")
    (folder / "my_app" / "jobs.py").write_text(JOBS, encoding="utf-8")
    (folder / "uses.py").write_text(USES, encoding="utf-8")
    return folder


def run(*command: str, folder: Path) -> str:
    """What a checker prints."""
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout + done.stderr


def lines_of(output: str) -> list[int]:
    """The lines of ``uses.py`` with an error; nothing else may have one."""
    found: set[int] = set()
    for line in output.splitlines():
        if ": error" in line or " - error" in line:
            place = line.strip().split("uses.py:")
            assert len(place) == 2, line
            found.add(int(place[1].split(":")[0]))
    return sorted(found)


def test_mypy_strict(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """mypy accepts the package and every right use, and finds every wrong one."""
    monkeypatch.setenv("MYPYPATH", str(ROOT))
    options = ["--strict", "--no-error-summary"]
    output = run("mypy", *options, "acme", "uses.py", folder=project)
    assert lines_of(output) == ERRORS


def test_pyright_strict(project: Path) -> None:
    """pyright agrees."""
    (project / "pyrightconfig.json").write_text(
        f"""{{"typeCheckingMode": "strict", "extraPaths": ["{ROOT}"]}}"""
    )
    output = run("pyright", folder=project)
    assert lines_of(output) == ERRORS
