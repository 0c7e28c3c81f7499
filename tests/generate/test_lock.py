"""The lock file is read back as it was written, and anything else is an error."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from policyctl.generate.digest import policy_digest
from policyctl.generate.lock import Lock, LockedService, LockError

POLICY = {
    "operations": {"b": {"retry": {"max_attempts": 3}}, "a": {}},
    "critical": True,
}
OPTIONS = {"package": "acme", "environment": None}


def make() -> Lock:
    """A lock of one service."""
    service = LockedService(policy_digest(POLICY, OPTIONS), "policies/a.yaml", POLICY)
    return Lock("policyctl 1.0", OPTIONS, {"x": service}, {"x.py": "sha256:0"})


def test_the_text() -> None:
    """Keys are sorted, a block of settings is one line, and a newline ends it."""
    digest = make().services["x"].digest
    assert make().render().decode("ascii") == f"""\
{{
  "files": {{
    "x.py": "sha256:0"
  }},
  "format": 1,
  "generator": "policyctl 1.0",
  "options": {{
    "environment": null,
    "package": "acme"
  }},
  "services": {{
    "x": {{
      "digest": "{digest}",
      "policy": {{
        "critical": true,
        "operations": {{
          "a": {{}},
          "b": {{
            "retry": {{"max_attempts": 3}}
          }}
        }}
      }},
      "source": "policies/a.yaml"
    }}
  }}
}}
"""


def test_read_back() -> None:
    """Reading gives an equal lock, whose values fit their digests."""
    lock = Lock.parse(make().render())
    assert lock == make()
    assert lock.is_intact()


def test_the_head_alone() -> None:
    """The head of a rendered file is all of it but its services."""
    head = Lock.parse_head(make().render())
    assert head == replace(make(), services={})
    assert Lock.parse_head(head.render()) == head
    with pytest.raises(LockError):
        Lock.parse_head(b"[]")


def test_whether_it_renders_as_a_text() -> None:
    """Every byte counts, and so does the end."""
    lock, text = make(), make().render()
    assert lock.renders_as(text)
    assert not lock.renders_as(text + b"\n")
    assert not lock.renders_as(text[:-1])
    assert not lock.renders_as(text.replace(b"1.0", b"1.1"))
    assert not lock.renders_as(b"")


@pytest.mark.parametrize(
    ("old", "new"), [("3", "4"), ("true", "false"), ("null", '"staging"')]
)
def test_an_edited_value_is_not_intact(old: str, new: str) -> None:
    """A value or an option that was edited does not fit the digest."""
    text = make().render().decode("ascii")
    assert text.count(old) >= 1
    head, _, tail = text.partition('"options"')
    assert not Lock.parse(
        f'{head}"options"{tail.replace(old, new, 1)}'.encode()
    ).is_intact()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        "[" * 100_000,
        json.dumps({"services": {}, "files": {"a": 1}, "format": 1, "generator": "x"}),
        json.dumps({"services": {"a": 1}, "files": {}, "format": 1, "generator": "x"}),
        json.dumps({"services": {"a": {}}, "files": {}, "format": 1, "generator": "x"}),
        json.dumps({"services": {}, "files": {}, "format": "1", "generator": "x"}),
        json.dumps({"services": {}, "files": {}, "format": 1, "generator": "x"}),
    ],
)
def test_anything_else_is_an_error(text: str) -> None:
    """Text that is not a lock file is one error, however deep it is nested."""
    with pytest.raises(LockError):
        Lock.parse(text.encode("utf-8"))


def test_values_that_json_cannot_hold() -> None:
    """NaN is not written, and never intact when read."""
    service = LockedService("sha256:0", "a.yaml", {"x": float("nan")})
    lock = Lock("policyctl 1.0", OPTIONS, {"x": service})
    with pytest.raises(ValueError, match="Out of range"):
        lock.render()
    assert not lock.is_intact()
