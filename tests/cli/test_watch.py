"""``generate --watch`` in a process of its own, within bounded time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from policyctl.cli.main import run

POLICY = """\
version: 1
service: {name}
operations:
  get: {{transport: http, idempotent: true, attempt_timeout: {seconds}s}}
"""
BOUND = 60.0


class Watcher:
    """A watching process in ``folder``, and what it has said so far."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log.txt"
        with self.log.open("wb") as stream:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "policyctl", "generate", "--watch"],
                cwd=folder,
                stdout=stream,
                stderr=subprocess.STDOUT,
            )

    def put(self, name: str, seconds: int) -> None:
        """Write a service's policy."""
        put(self.folder, name, seconds)

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds; fail when it does not in time."""
        end = time.monotonic() + BOUND
        while not holds():
            assert self.process.poll() is None, self.said()
            assert time.monotonic() < end, self.said()
            time.sleep(0.02)

    def said(self) -> str:
        """Everything on standard output and error."""
        return self.log.read_text("utf-8")

    def rounds(self) -> int:
        """How many times it has come to rest."""
        return self.said().count("watching ")

    def module(self, name: str) -> str:
        """The text of a module, empty when there is none."""
        path = self.folder / "generated" / f"{name}.py"
        return path.read_text("utf-8") if path.exists() else ""


def put(folder: Path, name: str, seconds: int) -> None:
    """Write a service's policy below ``folder``."""
    path = folder / "policies" / f"{name}.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(POLICY.format(name=name, seconds=seconds), "utf-8")


@pytest.fixture
def watcher(tmp_path: Path) -> Iterator[Watcher]:
    """A watcher over one service that has come to rest."""
    put(tmp_path, "alpha", 1)
    found = Watcher(tmp_path)
    try:
        found.until(lambda: found.rounds() == 1)
        yield found
    finally:
        found.process.kill()
        found.process.wait()


def test_it_follows_changes_faults_and_deletions_until_interrupted(
    watcher: Watcher,
) -> None:
    """Every change shows in the package; a broken file leaves it as it was."""
    assert "total=1.0" in watcher.module("alpha")
    watcher.put("alpha", 2)
    watcher.until(lambda: "total=2.0" in watcher.module("alpha"))
    watcher.put("beta", 3)
    watcher.until(lambda: "total=3.0" in watcher.module("beta"))
    beta = watcher.folder / "policies" / "beta.yaml"
    beta.write_text("version: 1\nservice: [beta\n", "utf-8")
    watcher.until(lambda: "beta.yaml:" in watcher.said())
    assert "total=3.0" in watcher.module("beta")
    beta.unlink()
    watcher.until(lambda: watcher.module("beta") == "")
    config = watcher.folder / "policyctl.toml"
    config.write_text("fail-on = 3\n", "utf-8")
    watcher.until(lambda: "policyctl.toml" in watcher.said())
    config.write_text('output = "elsewhere"\n', "utf-8")
    watcher.until(lambda: (watcher.folder / "elsewhere" / "alpha.py").exists())
    watcher.until(lambda: watcher.said().endswith("Ctrl-C ends\n"))
    watcher.process.send_signal(signal.SIGINT)
    assert watcher.process.wait(BOUND) == 0
    assert "Traceback" not in watcher.said()


def test_it_watches_presets_and_templates(watcher: Watcher) -> None:
    """A preset and a team's template are followed like policies."""
    presets = watcher.folder / "policies" / "presets"
    presets.mkdir()
    preset = presets / "quick.yaml"
    text = "version: 1\npreset: quick\ndefaults: {{attempt_timeout: {}s}}\n"
    preset.write_text(text.format(4), "utf-8")
    policy = POLICY.format(name="alpha", seconds=1).replace(", attempt_timeout: 1s", "")
    (watcher.folder / "policies" / "alpha.yaml").write_text(
        policy.replace("operations:", "extends: [quick]\noperations:"), "utf-8"
    )
    watcher.until(lambda: "total=4.0" in watcher.module("alpha"))
    preset.write_text(text.format(5), "utf-8")
    watcher.until(lambda: "total=5.0" in watcher.module("alpha"))
    folder = watcher.folder / "own_templates"
    folder.mkdir()
    template = folder / "module.py.jinja"
    template.write_text('{% include "shipped/module.py.jinja" %}\nTEAM = 1\n', "utf-8")
    (watcher.folder / "policyctl.toml").write_text(
        'templates = "own_templates"\n', "utf-8"
    )
    watcher.until(lambda: "TEAM = 1" in watcher.module("alpha"))
    template.write_text('{% include "shipped/module.py.jinja" %}\nTEAM = 2\n', "utf-8")
    watcher.until(lambda: "TEAM = 2" in watcher.module("alpha"))


def test_many_changes_at_once_are_one_change(watcher: Watcher) -> None:
    """Files that are written one after the other end up in the package together."""
    for number in range(20):
        watcher.put(f"many_{number}", 7)
    last = watcher.folder / "generated" / "many_19.py"
    watcher.until(last.exists)
    watcher.until(lambda: watcher.said().endswith("Ctrl-C ends\n"))
    assert watcher.rounds() <= 3
    assert len(list((watcher.folder / "generated").glob("many_*.py"))) == 20


@pytest.mark.parametrize("option", ["--check", "--diff", "--fail-on-change"])
def test_options_that_do_not_go_with_it(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Options of a single run are refused."""
    assert run(["generate", "--watch", option]) == 2
    assert f"--watch and {option} exclude each other" in capsys.readouterr().err


def test_nothing_is_written_from_policies_that_changed_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A policy that changes after it was read keeps the run from writing."""
    from policyctl.cli import _generation

    monkeypatch.chdir(tmp_path)
    put(tmp_path, "alpha", 1)
    with pytest.raises(_generation.ChangedError):
        _generation.run(_generation.Request(), dry=False, confirm=lambda: False)
    assert not os.path.exists("generated")
