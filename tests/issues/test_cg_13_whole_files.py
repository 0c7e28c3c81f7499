"""CG-13: several files are replaced as one step, and links and modes survive it.

Reported for a formatter that truncated a file when it was killed, and whose cure
(rename) replaced links by files and lost modes. The faults at every single system call
are in ``tests/generate/test_staging.py``; here the whole command is killed.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from policyctl.cli.main import run

KILLED = """
import os, sys
from policyctl.cli.main import run
replace, count = os.replace, [0]
def dying(source, target):
    if str(source).endswith(".new") and ".policyctl-staging" not in str(target):
        count[0] += 1
        if count[0] == {after}:
            os._exit(9)
    replace(source, target)
os.replace = dying
sys.exit(run(["generate"]))
"""


def put(seconds: int) -> None:
    """Five services, all with one number."""
    Path("policies").mkdir(exist_ok=True)
    for index in range(5):
        Path(f"policies/p{index}.yaml").write_text(
            f"version: 1\nservice: service_{index}\noperations:\n"
            f"  x: {{transport: local, attempt_timeout: {seconds}s}}\n"
        )


def read() -> dict[str, bytes]:
    """The files of the package."""
    return {
        path.name: path.read_bytes()
        for path in Path("generated").iterdir()
        if path.is_file()
    }


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """The package before its policies changed."""
    monkeypatch.chdir(tmp_path)
    put(1)
    assert run(["generate"]) == 0
    found = read()
    put(2)
    return found


@pytest.mark.parametrize("after", [1, 3, 6])
def test_a_killed_run_is_repaired_by_the_next(
    after: int, old: dict[str, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    """--check reports it without touching anything; generate gives the new tree."""
    script = KILLED.format(after=after)
    done = subprocess.run([sys.executable, "-c", script], timeout=180, check=False)
    assert done.returncode == 9
    mixed = read()
    assert sum(mixed[name] != old[name] for name in old) == after - 1
    assert run(["generate", "--check"]) == 1
    assert "interrupted" in capsys.readouterr().out
    assert read() == mixed
    assert run(["generate"]) == 0
    assert all(b"total=2.0" in v for k, v in read().items() if k.startswith("service"))
    assert not any(name.startswith(".policyctl") for name in os.listdir("generated"))
    assert run(["generate", "--check"]) == 0


def test_a_failure_on_the_third_of_five_leaves_all_old(
    old: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One file that cannot be replaced leaves all of them as they were, exit 2."""
    replace = os.replace

    def failing(source: Any, target: Any) -> None:
        if str(target).endswith("service_3.py") and str(source).endswith(".new"):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        replace(source, target)

    monkeypatch.setattr(os, "replace", failing)
    assert run(["generate"]) == 2
    error = capsys.readouterr().err
    assert "the package cannot be written: read-only file system" in error
    assert read() == old
    assert not any(name.startswith(".policyctl") for name in os.listdir("generated"))


def test_links_and_modes_survive(old: dict[str, bytes]) -> None:
    """A link inside the output stays a link, and a file keeps its mode."""
    folder = Path("generated")
    (folder / "service_0.py").rename(folder / "real.py")
    (folder / "service_0.py").symlink_to("real.py")
    (folder / "service_1.py").chmod(0o640)
    (folder / "service_2.py").chmod(0o444)
    assert run(["generate", "policies/p0.yaml", "policies/p1.yaml"]) == 0
    assert run(["generate", "policies/p2.yaml"]) == 0
    assert (folder / "service_0.py").is_symlink()
    assert b"total=2.0" in (folder / "real.py").read_bytes()
    assert (folder / "service_1.py").stat().st_mode & 0o777 == 0o640
    assert (folder / "service_2.py").stat().st_mode & 0o777 == 0o444
    assert b"total=2.0" in (folder / "service_2.py").read_bytes()
