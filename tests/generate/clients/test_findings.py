"""Targets that cannot be generated, and clients whose library changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from policyctl.generate.build import Built, build
from policyctl.generate.compare import compare
from policyctl.generate.options import GenerateOptions
from policyctl.resolve.policy import Project

LoadProject = Callable[[Mapping[str, str]], Project]
Generate = Callable[..., Built]

HEAD = "version: 1\nservice: pay\n"


@pytest.mark.parametrize(
    ("text", "code", "message", "hint", "place"),
    [
        (
            "target: no_such_sdk:Client\noperations: {a: {}, b: {}}\n",
            "GN009",
            "no_such_sdk is not installed here, so no_such_sdk:Client cannot be read",
            "install it beside policyctl, or remove target",
            (3, 9),
        ),
        (
            "operations: {a: {target: '_json:scanner'}}\n",
            "GN009",
            "_json has no source or stub that can be read",
            "install a stub package for it, or remove target",
            (3, 26),
        ),
        (
            "target: broken_sdk:Client\noperations: {a: {}}\n",
            "GN009",
            "broken_sdk is no Python of a version up to 3.14",
            "correct its syntax, or install a stub package for it",
            (3, 9),
        ),
        (
            "target: dynamic_sdk:Client\noperations: {a: {}}\n",
            "GN010",
            "dynamic_sdk:Client has no method 'a' in its source or stub",
            "write target: off for an operation that is no method of it",
            (4, 14),
        ),
        (
            "target: payment_sdk:Client\noperations: {closed: {}}\n",
            "GN010",
            "payment_sdk:Client.closed is a property, which makes no call",
            "guard the method that makes the call",
            (4, 14),
        ),
        (
            "target: payment_sdk:Client\noperations: {stream: {}}\n",
            "GN010",
            "payment_sdk:Client.stream is a generator function, not one answer",
            "write kind: stream",
            (4, 14),
        ),
        (
            "target: payment_sdk:Client\noperations: {pages: {}}\n",
            "GN010",
            "payment_sdk:Client.pages returns an iterator, not one answer",
            "write kind: stream",
            (4, 14),
        ),
        (
            "target: payment_sdk:Client\noperations: {find: {kind: stream}}\n",
            "GN010",
            "payment_sdk:Client.find gives one answer, not a stream",
            "remove kind: stream",
            (4, 14),
        ),
        (
            "target: payment_sdk:Client\noperations: {session: {}}\n",
            "GN010",
            "payment_sdk:Client.session is a context manager, not one answer",
            "write kind: stream",
            (4, 14),
        ),
        (
            "target: payment_sdk:Client\noperations:\n  find: {}\n  other: {target: 'payment_sdk:Client.find'}\n",
            "GN010",
            "payment_sdk:Client.find is guarded by find already",
            "let one operation guard it",
            (6, 19),
        ),
        (
            "operations:\n  find: {target: 'payment_sdk:Client.find'}\n  parse: {target: 'other_sdk:Client.parse'}\n",
            "GN002",
            "payment_sdk:Client and other_sdk:Client would be generated as one class",
            "keep their operations in services of their own",
            (5, 19),
        ),
        (
            "operations:\n  client: {target: 'other_sdk:client.parse'}\n",
            "GN002",
            "'client' and the target other_sdk:client would be one name",
            "rename client",
            (4, 20),
        ),
        (
            "target: other_sdk:Client\noperations: {parse: {}, unguarded: {}}\n",
            "GN002",
            "other_sdk:Client.unguarded has the name of the client's own",
            "write target: off there, and use its .call",
            (4, 25),
        ),
        (
            "target: other_sdk:Client\noperations: {made: {}}\n",
            "GN010",
            "other_sdk:Client.made is made by partial, which leaves no signature to read",
            "write target: off, and use its .call",
            (4, 14),
        ),
    ],
)
def test_what_cannot_be_generated(
    text: str,
    code: str,
    message: str,
    hint: str,
    place: tuple[int, int],
    generate: Generate,
    sdk: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One finding with its place and remedy; nothing is built."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "other_sdk.py").write_text(
        "class Client:\n    def parse(self): ...\n    def unguarded(self): ...\n"
        "    made = partial(parse)\n"
        "class client:\n    def parse(self): ...\n"
    )
    (tmp_path / "broken_sdk.py").write_text("class Client<T>:\n    def a(self): ...\n")
    (tmp_path / "dynamic_sdk.py").write_text(
        "class Client:\n    def __getattr__(self, name): ...\n"
    )
    built = generate(HEAD + text, tmp_path / "acme")
    assert built.tree == {}
    [found] = built.diagnostics
    assert (found.code, found.message, found.help) == (code, message, hint)
    assert (found.span.line, found.span.column) == place


SOURCE = '''\
class Client:
    def charge(self, amount: int) -> str:
        """Charge."""
        return ""

    def refund(self, amount: int) -> str:
        """Refund."""
        return ""
'''


@pytest.mark.parametrize(
    ("old", "new", "stale"),
    [
        (
            'amount: int) -> str:\n        """Charge',
            'amount: str) -> str:\n        """Charge',
            True,
        ),
        ('"""Charge."""', '"""Charge a card."""', True),
        ("def charge", "async def charge", True),
        ('return ""\n\n    def refund', 'return "x"\n\n    def refund', False),
        ("def refund(self, amount", "def refund(self, sum", False),
        ("class Client", "# a comment\nclass Client", False),
    ],
)
def test_stale_when_what_is_read_changed(
    old: str,
    new: str,
    stale: bool,
    generate: Generate,
    load: LoadProject,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A changed signature or docstring is stale; code and other methods are not."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "own_sdk.py").write_text(SOURCE)
    text = f"{HEAD}target: own_sdk:Client\noperations: {{charge: {{}}}}\n"
    options = GenerateOptions(tmp_path / "acme", "acme", root=tmp_path)
    generate(text, tmp_path / "acme")
    project = load({"policies/a.yaml": text})
    assert compare(build(project, options), options).fresh
    assert old in SOURCE
    (tmp_path / "own_sdk.py").write_text(SOURCE.replace(old, new, 1))
    comparison = compare(build(project, options), options)
    assert comparison.fresh is not stale
    if stale:
        changes = {str(c.path): c for c in comparison.stale}
        assert set(changes) == {"pay.py", "policies.lock.json"}
        assert changes["pay.py"].kind == "changed"
        assert changes["pay.py"].message == (
            "pay.py is out of date: its policy or its target changed"
        )


def test_the_output_is_what_black_writes(
    generate: Generate, texts: dict[str, str], sdk: Path, tmp_path: Path
) -> None:
    """Formatting it again changes nothing."""
    from policyctl.generate.format import run_black

    built = generate(f"{texts['payments']}---\n{texts['others']}", tmp_path / "acme")
    for path, content in built.tree.items():
        if path.suffix == ".py":
            text = content.decode()
            assert run_black(text, "3.11") == text
