"""The example services: all load, lint cleanly, and keep the numbers they promise."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from policyctl.diagnostics import Diagnostic, Severity
from policyctl.generate.support import unsupported
from policyctl.lint.engine import lint
from policyctl.resolve.policy import Operation, Project
from policyctl.resolve.project import InputFile, Inputs, Loaded, load_project
from policyctl.resolve.worst_case import worst_case

ROOT = Path(__file__).parents[2]


@cache
def load(folder: str) -> Loaded:
    files = tuple(
        InputFile(path.relative_to(ROOT).as_posix(), path.read_bytes())
        for path in sorted((ROOT / folder).rglob("*.yaml"))
    )
    return load_project(Inputs(files))


@cache
def found_by_lint(folder: str) -> tuple[Diagnostic, ...]:
    return lint(load(folder).project).diagnostics


def project() -> Project:
    return load("policies").project


def operation(name: str) -> Operation:
    found = project().find_operation(name)
    assert found is not None
    return found


@pytest.mark.parametrize("folder", ["policies", "examples/legacy"])
def test_every_file_is_valid(folder: str) -> None:
    """Nothing is wrong with the documents, the old numbers included."""
    assert load(folder).diagnostics == ()


def test_our_own_policies_have_no_finding_above_info() -> None:
    """What is suppressed says why; nothing else is above info."""
    above = [f for f in found_by_lint("policies") if f.severity > Severity.INFO]
    hidden = [(f.code, f.suppressed.reason) for f in above if f.suppressed is not None]
    assert [f for f in above if f.suppressed is None] == []
    assert hidden == [
        ("QU006", "an outage of days must not turn good reports into dead letters")
    ]


@pytest.mark.parametrize(
    ("service", "codes"),
    [
        ("hotel_api", {"TB001", "ID001"}),
        ("payment_api", {"TB003", "ID001", "RT004"}),
        ("search_agent", {"TB004", "RT001", "CB008"}),
        ("edge_agent", {"TB001", "RT001", "RT004"}),
    ],
)
def test_lint_flags_the_old_numbers(service: str, codes: set[str]) -> None:
    """Each old service is flagged for what was unsafe about it."""
    path = f"examples/legacy/{service}.yaml"
    found = {f.code for f in found_by_lint("examples/legacy") if f.span.path == path}
    assert codes <= found
    assert project().services[service].name == service


@pytest.mark.parametrize(
    "path", sorted((ROOT / "policies").rglob("*.yaml")), ids=lambda p: p.stem
)
def test_every_policy_has_a_comment(path: Path) -> None:
    """A reader learns from the first line what the service is."""
    assert path.read_text().startswith("# ")


def test_every_service_has_an_owner() -> None:
    """Somebody answers for each service, and each is described."""
    for service in project().services.values():
        assert service.owner
        assert service.description


def test_every_service_can_be_generated() -> None:
    """No example waits for a pattern that the runtime does not serve yet."""
    waiting = [
        finding.policy_path
        for service in project().services.values()
        for finding in unsupported(service)
    ]
    assert waiting == []


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("hotel_api.create_booking", (5, 2, 30.0)),
        ("hotel_api.get_hotel", (5, 2, 30.0)),
        ("payment_api.charge", (3, 3, 60.0)),
        ("search_agent.search", (10, 1, 15.0)),
        ("edge_agent.upload_batch", (3, 2, 10.0)),
    ],
)
def test_breakers_keep_their_numbers(
    name: str, numbers: tuple[int, int, float]
) -> None:
    """Failures, successes and seconds of the system that is replaced."""
    breaker = operation(name).circuit_breaker
    assert breaker is not None
    assert (
        breaker.failure_threshold,
        breaker.success_threshold,
        breaker.recovery_timeout.initial,
    ) == numbers


@pytest.mark.parametrize(
    ("name", "slots", "seconds"),
    [
        ("booking_agent.book_trip", 10, 30.0),
        ("payment_agent.settle", 5, 15.0),
        ("recovery_worker.repair", 3, 120.0),
        ("search_agent.search", 20, 10.0),
    ],
)
def test_bulkheads_keep_their_numbers(name: str, slots: int, seconds: float) -> None:
    """So many at once, so long in all, and at most two seconds of waiting for a slot."""
    found = operation(name)
    assert found.bulkhead is not None
    assert found.budget is not None
    assert (found.bulkhead.max_concurrent, found.budget.total) == (slots, seconds)
    assert found.bulkhead.max_wait <= 2.0
    assert found.attempt_timeout is not None
    assert found.attempt_timeout.total is not None
    assert found.bulkhead.max_wait + found.attempt_timeout.total <= seconds


def test_a_booking_fits_into_its_time() -> None:
    """Search, room and payment in their worst case are what an attempt has: 28 s."""
    booking = operation("booking_agent.book_trip")
    policies = [call.policy or operation(call.to) for call in booking.calls]
    assert [call.to for call in booking.calls] == [
        "search_agent.search",
        "hotel_api.create_booking",
        "payment_api.charge",
    ]
    assert [worst_case(policy) for policy in policies] == [6.0, 12.0, 10.0]
    assert booking.attempt_timeout is not None
    assert booking.attempt_timeout.total == 28.0
    assert booking.budget is not None
    assert booking.budget.minimum == 1.0


def test_only_what_is_idempotent_is_retried_after_a_time_out() -> None:
    """Charges are retried only where nothing reached the callee; bookings have a key."""
    charge = operation("payment_api.charge").retry
    assert charge is not None
    assert (charge.retry_on, charge.retry_on_status) == (("not_sent",), ())
    booking = operation("hotel_api.create_booking").retry
    assert booking is not None
    assert booking.retry_on == ("not_sent", "connection_lost", "timeout")


def test_bookings_with_a_key() -> None:
    """The hotel and the dates form the key, which the partner gets too."""
    idempotency = operation("hotel_api.create_booking").idempotency
    assert idempotency is not None
    assert idempotency.key == ("hotel_id", "checkin", "checkout")
    assert idempotency.forward is not None
    assert idempotency.in_progress == 12.0


def test_the_recovery_queue() -> None:
    """100 items, a warning at 70 %, dead letters for what does not fit."""
    queue = project().services["recovery_worker"].queues["recovery"]
    assert (queue.store, queue.max_size, queue.warn_at) == ("redis", 100, 0.7)
    assert (queue.overflow, queue.dead_letter_max_size) == ("dead_letter", 10000)
    assert queue.lease == 2 * worst_case(operation("recovery_worker.repair"))


def test_the_agents_queue() -> None:
    """Batches of 100 from a local file, with back-off 1, 2, 4, 8 s and full jitter."""
    queue = project().services["edge_agent"].queues["reports"]
    assert (queue.store, queue.file) == ("sqlite", "var/reports.db")
    assert queue.upload is not None
    assert (queue.upload.operation, queue.upload.batch) == (
        "edge_agent.upload_batch",
        100,
    )
    redelivery = queue.redelivery
    assert (redelivery.initial, redelivery.multiplier, redelivery.max) == (
        1.0,
        2.0,
        60.0,
    )
    assert redelivery.jitter.kind == "full"


def test_the_agents_header() -> None:
    """search_agent takes the remaining seconds from X-Timeout-Budget, 10 by default."""
    inbound = project().services["search_agent"].inbound
    assert inbound is not None
    assert inbound.budget is not None
    assert inbound.budget.header is not None
    header = inbound.budget.header
    assert (header.name, header.unit, inbound.budget.default) == (
        "X-Timeout-Budget",
        "s",
        10.0,
    )


def test_an_unavailable_hotel_is_an_answer() -> None:
    """While the circuit is open a booking is answered, not failed."""
    fallback = operation("hotel_api.create_booking").fallback
    assert fallback is not None
    assert fallback.value == {"status": "unavailable"}
    assert fallback.fallback_on == ("circuit_open",)
