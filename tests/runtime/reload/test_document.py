"""What a document must be to be used at all: checked whole, refused whole (C40)."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from policyctl.generate.digest import policy_digest
from policyctl.runtime import settings
from policyctl.runtime.reload import RefusedError, read_document
from policyctl.runtime.settings import AttemptTimeout, Backoff, Budget


def edited(text: bytes, path: str, value: Any) -> bytes:
    """The lock file with one value changed, under a digest that fits."""
    data = json.loads(text)
    service = data["services"]["pay"]
    *outer, last = path.split(".")
    block = service["policy"]["operations"]["charge"]
    for name in outer:
        block = block[name]
    block[last] = value
    service["digest"] = policy_digest(service["policy"], data["options"])
    return json.dumps(data).encode()


def reasons(text: bytes) -> list[str]:
    """Everything that is wrong with a document."""
    with pytest.raises(RefusedError) as caught:
        read_document(text)
    return caught.value.reasons


def test_a_lock_file_becomes_the_blocks_of_generated_code(fleet: Any) -> None:
    """The settings objects are those that generated modules make."""
    document = read_document(fleet.lock())
    assert sorted(document.operations) == ["pay.charge", "pay.lookup"]
    blocks = document.operations["pay.charge"]
    assert blocks["kind"] == "unary"
    assert blocks["idempotent"] is True
    assert blocks["attempt_timeout"] == AttemptTimeout(total=2.0)
    assert blocks["budget"] == Budget(total=10.0)
    assert blocks["retry"].backoff == Backoff()
    assert blocks["retry"].retry_on == ("ConnectionRefusedError",)
    assert blocks["circuit_breaker"].window == settings.Window(seconds=30.0)
    assert document.revision.startswith("sha256:")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "it is not JSON: Expecting value"),
        (b"\xff\xfe", "it is not JSON"),
        (b"[" * 100_000, "it is not JSON"),
        (b"[1]", "it is not a JSON object"),
        (b"{}", "format null is not 1, which is read"),
        (b'{"format": 2}', "format 2 is not 1"),
        (b'{"format": NaN}', "NaN is not a number"),
        (b'{"format": 1}', "services: it is not an object"),
        (
            b'{"format": 1, "options": {}, "services": {"a": 1}}',
            "services.a: it is not",
        ),
    ],
)
def test_what_is_no_document(text: bytes, reason: str) -> None:
    """Anything else is refused with a reason, never with another error."""
    assert any(reason in found for found in reasons(text)), reasons(text)


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        ("attempt_timeout.total", -1.0, "attempt_timeout.total: -1.0 is not over 0"),
        ("attempt_timeout.total", "2s", "attempt_timeout.total: '2s' is not a number"),
        ("attempt_timeout.total", 1e12, "attempt_timeout.total: "),
        ("bulkhead.max_concurrent", 0, "bulkhead.max_concurrent: 0 is below 1"),
        ("bulkhead.max_concurrent", 2.5, "bulkhead.max_concurrent: 2.5 is not an int"),
        ("bulkhead.max_concurrent", True, "bulkhead.max_concurrent: True is not an"),
        ("bulkhead.max_concurrent", 10**9, "bulkhead.max_concurrent: "),
        ("bulkhead.max_concurrent", 10**400, "max_concurrent: the number is too large"),
        ("bulkhead.slots", 3, "BulkheadError: "),
        ("bulkhead", 7, "bulkhead: 7 is not an object"),
        ("retry.backoff.multiplier", 0.5, "retry.backoff.multiplier: 0.5 is below 1"),
        ("retry.retry_on_status", ["9x9"], "retry: "),
        ("circuit_breaker.failure_ratio", 0, "circuit_breaker.failure_ratio: 0.0"),
        ("circuit_breaker.window", {}, "circuit_breaker.window: needs seconds or"),
        ("fallback", {"kind": "magic"}, 'fallback: "magic" is no kind of fallback'),
        ("kind", "duplex", "kind: "),
    ],
)
def test_bad_values(fleet: Any, path: str, value: Any, reason: str) -> None:
    """Every number has its bounds and every block its constructor; places are told."""
    found = reasons(edited(fleet.lock(), path, value))
    reason = reason.replace("BulkheadError: ", "no setting 'slots'")
    at = "services.pay.policy.operations.charge."
    assert any(text.startswith(at) and reason in text for text in found), found


def test_all_reasons_are_told(fleet: Any) -> None:
    """Two mistakes are two reasons."""
    text = edited(fleet.lock(), "bulkhead.max_concurrent", 0)
    found = reasons(edited(text, "attempt_timeout.total", 0))
    assert len(found) == 2


def test_an_edit_by_hand_is_refused(fleet: Any) -> None:
    """Values that do not fit the digest: generate is what makes documents."""
    text = fleet.lock().replace(b'"total": 2.0', b'"total": 3.0')
    assert reasons(text) == ["services.pay: its digest does not match its values"]


@hypothesis_settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.data())
def test_any_cut_or_flip_is_refused_or_the_same(fleet: Any, data: Any) -> None:
    """Half-written and damaged files: RefusedError, or the very same settings."""
    whole = _lock(fleet)
    good = read_document(whole)
    start = data.draw(st.integers(0, len(whole) - 1))
    if data.draw(st.booleans()):
        text = whole[:start]
    else:
        text = whole[:start] + data.draw(st.binary(max_size=3)) + whole[start + 1 :]
    try:
        found = read_document(text)
    except RefusedError:
        return
    # A service's name is in no digest; a wrong one names policies that nobody has.
    assert list(found.operations.values()) == list(good.operations.values())


_locks: list[bytes] = []


def _lock(fleet: Any) -> bytes:
    if not _locks:
        _locks.append(fleet.lock())
    return _locks[0]


def test_none_of_the_command_line_is_needed() -> None:
    """Checking a document imports neither pydantic nor a YAML reader."""
    code = (
        "import sys\n"
        "from policyctl.runtime import reload\n"
        "wrong = [n for n in sys.modules if n.partition('.')[0] in "
        "('pydantic', 'ruamel', 'yaml', 'typer', 'jinja2', 'redis', 'black')\n"
        "    or n.startswith(('policyctl.model', 'policyctl.generate', "
        "'policyctl.resolve', 'policyctl.source', 'policyctl.cli'))]\n"
        "print(wrong)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
