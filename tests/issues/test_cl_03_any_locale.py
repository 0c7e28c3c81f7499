"""CL-03: symbols in output crash under an ASCII locale or when the reader goes away.

https://github.com/moorcheh-ai/memanto/pull/1903,
https://github.com/pallets/click/pull/3778
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

POLICY = """\
version: 1
service: zhifu_api
owner: 支付团队 😀
description: “Zahlungen” für alle – 支付
operations:
  charge:
    transport: http
    budget: 5 сек
"""
LOCALES = [
    {"PYTHONIOENCODING": "ascii"},
    {"PYTHONIOENCODING": "cp1252"},
    {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
    {"LC_ALL": "POSIX", "NO_COLOR": "1"},
    {"PYTHONIOENCODING": "utf-8"},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project whose file name, texts and finding are full of other scripts."""
    path = tmp_path / "policies" / "支付–é.yaml"
    path.parent.mkdir()
    path.write_text(POLICY, "utf-8")
    return tmp_path


def policyctl(
    folder: Path, environment: dict[str, str], *arguments: str
) -> subprocess.CompletedProcess[bytes]:
    """Run the command under a locale, without the one of the tests."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("LC_", "LANG"))}
    return subprocess.run(
        [sys.executable, "-m", "policyctl", *arguments],
        cwd=folder,
        env={**kept, **environment},
        capture_output=True,
        timeout=180,
        check=False,
    )


@pytest.mark.parametrize(
    ("command", "environment"),
    [*(("validate", each) for each in LOCALES), ("generate", LOCALES[0])],
    ids=str,
)
def test_people_get_text_in_every_locale(
    folder: Path, command: str, environment: dict[str, str]
) -> None:
    """The exit code is that of the finding, and nothing but the finding is said."""
    done = policyctl(folder, environment, command)
    assert done.returncode == 1
    assert b"Traceback" not in done.stdout + done.stderr
    said = done.stdout if command == "validate" else done.stderr
    assert said.startswith(b"error[VA")
    assert b"budget: 5 " in said
    assert b"\x1b" not in said


@pytest.mark.parametrize(
    ("format", "environment"),
    [("json", LOCALES[0]), ("json", LOCALES[1]), ("sarif", LOCALES[2])],
    ids=str,
)
def test_programs_get_utf8_in_every_locale(
    folder: Path, format: str, environment: dict[str, str]
) -> None:
    """Reports for programs parse as UTF-8 without a byte-order mark and are all equal."""
    done = policyctl(folder, environment, "validate", "--format", format)
    assert done.returncode == 1
    assert done.stderr == b""
    document = json.loads(done.stdout.decode("utf-8"))
    assert done.stdout[:1] == b"{"
    if format == "json":
        assert document["diagnostics"][0]["path"] == "policies/支付–é.yaml"


@pytest.mark.parametrize(
    "command",
    [
        ["rules"],
        ["rules", "--format", "json"],
        ["validate"],
        ["--help"],
        ["--version"],
    ],
)
def test_a_closed_pipe_is_quiet(folder: Path, command: list[str]) -> None:
    """A reader that goes away at once leaves no message behind."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "policyctl", *command],
        cwd=folder,
        stdout=writer,
        stderr=subprocess.PIPE,
        timeout=180,
        check=False,
    )
    os.close(writer)
    assert done.stderr == b""
    assert done.returncode in (0, 1)


def test_a_full_disk_is_an_error(folder: Path) -> None:
    """What cannot be written is exit 2 with the reason, never a success."""
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full to write to")
    for command in (
        ["rules"],
        ["rules", "--format", "json"],
        ["--version"],
        ["--help"],
    ):
        with full.open("wb") as stream:
            done = subprocess.run(
                [sys.executable, "-m", "policyctl", *command],
                cwd=folder,
                stdout=stream,
                stderr=subprocess.PIPE,
                timeout=180,
                check=False,
            )
        assert done.returncode == 2
        assert b"o space left on device" in done.stderr
        assert b"Traceback" not in done.stderr
