"""YA-06: deep nesting, recursive aliases and alias bombs overflowed stack or memory.

https://github.com/SUSE/suse-migration-services/issues/393,
https://github.com/FasterXML/jackson-dataformats-text/issues/707
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from policyctl.source.limits import DEFAULT_LIMITS
from policyctl.source.reader import read

_BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join(['*' + old] * 9)}]\n"
    for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
_MERGE_BOMB = "a: &a {k: 1}\n" + "".join(
    f"b{n}: &b{n} {{<<: [{', '.join(['*' + (f'b{n - 1}' if n else 'a')] * 9)}]}}\n"
    for n in range(9)
)
_CHAIN = "a0: &a0 [x]\n" + "".join(f"a{n + 1}: &a{n + 1} [*a{n}]\n" for n in range(200))

TEXTS = {
    "flow lists": ("[" * 5000 + "]" * 5000, "SY014"),
    "unclosed lists": ("[" * 100_000, "SY014"),
    "flow mappings": ("{a: " * 5000 + "1" + "}" * 5000, "SY014"),
    "block lists on a line": ("- " * 60_000 + "a", "SY014"),
    "block lists": ("".join(" " * n + "-\n" for n in range(2000)), "SY014"),
    "block mappings": ("".join(" " * n + "a:\n" for n in range(2000)), "SY014"),
    "explicit keys": ("? " * 5000 + "a", "SY010"),
    "alias to its own list": ("- &a [*a]\n", "SY013"),
    "alias to its own mapping": ("a: &a\n  b: {c: *a}\n", "SY013"),
    "merge of itself": ("a: &a\n  <<: *a\n", "SY013"),
    "bomb": (_BOMB, "SY016"),
    "merge bomb": (_MERGE_BOMB, "SY016"),
    "nesting through aliases": (_CHAIN, "SY014"),
    "long list": ("- a\n" * 300_000, "SY015"),
    "long flow list": ("[" + "a," * 300_000 + "]", "SY015"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_one_error_without_a_crash(name: str) -> None:
    """Each hostile text gives exactly one error, and the interpreter lives."""
    text, code = TEXTS[name]
    result = read(text.encode(), "f.yaml")
    assert result.documents == ()
    assert [d.code for d in result.diagnostics] == [code]


@pytest.mark.parametrize("name", sorted(TEXTS.keys() - {"long list", "long flow list"}))
def test_the_pure_parser_is_bounded_too(name: str) -> None:
    """The same errors without libyaml."""
    text, code = TEXTS[name]
    result = read(text.encode(), "f.yaml", pure=True)
    assert [d.code for d in result.diagnostics] == [code]


def test_nesting_up_to_the_limit_is_fine() -> None:
    """A hundred levels are read, one more is not."""
    depth = DEFAULT_LIMITS.max_depth
    assert read(b"[" * depth + b"]" * depth, "f.yaml").diagnostics == ()
    (found,) = read(b"[" * (depth + 1) + b"]" * (depth + 1), "f.yaml").diagnostics
    assert found.message == "lists and mappings nest more than 100 levels deep"
    assert str(found.span) == "f.yaml:1:101"


_PROGRAM = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (600 << 20, 600 << 20))
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
from policyctl.source.reader import read
text = {
    "brackets": lambda: b"[" * 100_000,
    "sequences": lambda: b"- " * 60_000,
    "nested": lambda: b"".join(b" " * n + b"-\\n" for n in range(3000)),
    "huge": lambda: b"a: 1\\n" * (50 << 18),
    "limit": lambda: b"[" + b"a," * ((5 << 19) - 8) + b"]",
    "quotes": lambda: b"a: '" + b"x\\n" * (5 << 18),
    "keys": lambda: b"".join(b"k%d: {a: 1}\\n" % n for n in range(200_000)),
}[sys.argv[1]]()
result = read(text, "f.yaml")
print(",".join(d.code for d in result.diagnostics), len(result.documents))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs resource limits")
@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("brackets", "SY014 0"),
        ("sequences", "SY014 0"),
        ("nested", "SY014 0"),
        ("huge", "SY003 0"),
        ("limit", "SY015 0"),
        ("quotes", "SY007 0"),
        ("keys", "SY015 0"),
    ],
)
def test_time_and_memory_are_bounded(name: str, printed: str) -> None:
    """A fresh process reads each text within 600 MB of address space."""
    run = subprocess.run(
        [sys.executable, "-c", _PROGRAM, name],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert (run.stdout.strip(), run.stderr, run.returncode) == (printed, "", 0)
