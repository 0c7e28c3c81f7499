"""CG-03: methods of a client that are called like builtins which its code uses."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from policyctl.cli.main import run

SDK = """
import builtins

class Client:
    def property(self, key: builtins.str) -> list[builtins.str]: ...
    def staticmethod(self, key: type) -> builtins.dict[builtins.str, int]: ...
    @builtins.staticmethod
    def dict(key: builtins.str) -> list[int]: ...
    @builtins.property
    def size(self) -> int: ...
    @builtins.property
    def str(self) -> builtins.str: ...
"""
POLICY = """\
version: 1
service: odd_api
target: odd_sdk:Client
operations: {property: {}, staticmethod: {}, dict: {}, list: {target: off}}
"""
USES = """\
from typing import assert_type

import odd_sdk
from resilience import odd_api

client = odd_api.Client(odd_sdk.Client())
assert_type(client.property("x"), list[str])
assert_type(client.staticmethod(int), dict[str, int])
assert_type(odd_api.Client.dict("x"), list[int])
assert_type(client.size, int)
assert_type(client.str, str)
client.property(1)
"""


def test_annotations_and_decorators_mean_the_builtins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """mypy sees the library's types, and exactly the wrong call."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "odd_sdk.pyi").write_text(SDK)
    (tmp_path / "uses.py").write_text(USES)
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "odd.yaml").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    assert run(["generate", "--output", "resilience"]) == 0
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "uses.py", "resilience"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "MYPYPATH": str(root)},
    )
    errors = [line for line in done.stdout.splitlines() if " error: " in line]
    assert [line.partition(" error: ")[0] for line in errors] == ["uses.py:12:"]
