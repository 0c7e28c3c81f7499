"""Fixes of real policies, in many styles of writing: nothing but the edited span changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from policyctl.diagnostics import Diagnostic, Severity
from policyctl.lint.engine import lint
from policyctl.lint.explain import docs
from policyctl.lint.registry import all_rules
from policyctl.resolve.project import InputFile, Inputs, load_project
from policyctl.source.decode import decode
from policyctl.source.edits import apply_edits

ROOT = Path(__file__).parents[2]
FILES = sorted(
    path
    for folder in ("policies", "examples")
    for path in (ROOT / folder).rglob("*.yaml")
)
BOM = b"\xef\xbb\xbf"


def crlf(data: bytes) -> bytes:
    """Line breaks of Windows."""
    return data.replace(b"\n", b"\r\n")


def with_mark(data: bytes) -> bytes:
    """A byte-order mark in front."""
    return BOM + data


def unended(data: bytes) -> bytes:
    """No line break at the end."""
    return data.rstrip(b"\n")


def commented(data: bytes) -> bytes:
    """A comment behind each line that can take one, with text outside ASCII."""
    lines = data.decode().split("\n")
    plain = [":", "}", "]"]
    marked = [
        (
            f"{line}   # ä 漢字 🚀"
            if line.strip() and "#" not in line and line.rstrip()[-1] in plain
            else line
        )
        for line in lines
    ]
    return "\n".join(marked).encode()


STYLES: list[Callable[[bytes], bytes]] = [
    bytes,
    crlf,
    with_mark,
    unended,
    commented,
    lambda data: with_mark(crlf(commented(data))),
]
NAMES = ["as it is", "crlf", "bom", "unended", "commented", "all"]


def findings(contents: dict[str, bytes]) -> tuple[set[str], list[Diagnostic]]:
    """Codes of errors of validation, and what lint finds."""
    inputs = tuple(InputFile(name, data) for name, data in contents.items())
    loaded = load_project(Inputs(inputs))
    errors = {d.code for d in loaded.diagnostics if d.severity is Severity.ERROR}
    return errors, list(lint(loaded.project).diagnostics)


def check_each_fix(contents: dict[str, bytes]) -> int:
    """Apply every fix by itself and compare all bytes around its edits."""
    errors, found = findings(contents)
    done = 0
    for fix in {d.fix for d in found if d.fix is not None}:
        (name,) = {edit.span.path for edit in fix.edits}
        source, problem = decode(contents[name], name)
        assert source is not None
        assert problem is None
        new = apply_edits(source, fix.edits)
        before, after, kept = source.text, new, 0
        for edit in sorted(fix.edits, key=lambda edit: edit.span.start):
            untouched = before[kept : edit.span.start]
            assert after.startswith(untouched), (name, fix.message)
            after = after[len(untouched) :]
            assert after.startswith(edit.text), (name, fix.message)
            after, kept = after[len(edit.text) :], edit.span.end
        assert after == before[kept:], (name, fix.message)
        if "\r\n" in before:
            assert "\n" not in new.replace("\r\n", ""), (name, fix.message)
        mark = BOM if contents[name].startswith(BOM) else b""
        again, _ = findings({**contents, name: mark + new.encode()})
        assert again <= errors, (name, fix.message, new)
        done += 1
    return done


@pytest.mark.parametrize("style", STYLES, ids=NAMES)
def test_our_own_policies_and_examples(style: Callable[[bytes], bytes]) -> None:
    """Each fix that lint offers for them changes its own span and stays valid."""
    contents = {
        path.relative_to(ROOT).as_posix(): style(path.read_bytes())
        for path in FILES
        if "legacy" not in path.parts
    }
    assert check_each_fix(contents) >= 2


@pytest.mark.parametrize("style", STYLES, ids=NAMES)
def test_the_policies_of_old(style: Callable[[bytes], bytes]) -> None:
    """The examples of bad policies have more to mend."""
    presets = {
        path.relative_to(ROOT).as_posix(): path.read_bytes()
        for path in FILES
        if "presets" in path.parts
    }
    legacy = {
        path.relative_to(ROOT).as_posix(): style(path.read_bytes())
        for path in FILES
        if "legacy" in path.parts
    }
    assert check_each_fix({**presets, **legacy}) >= 4


@pytest.mark.parametrize("style", STYLES, ids=NAMES)
def test_the_bad_examples_of_all_rules(style: Callable[[bytes], bytes]) -> None:
    """One by one, since they use the same names."""
    done = sum(
        check_each_fix({"policy.yaml": style(docs(rule).bad.encode())})
        for rule in all_rules()
    )
    assert done >= 30
