"""CB007: a circuit that does not close again."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, operation_yaml, run_yaml

HEAD = "transport: http\nidempotent: true\n"


def policy(facts: str, breaker: str = "{}", attempt: str = "2s") -> str:
    """An operation with these facts and this breaker."""
    return operation_yaml(
        f"{HEAD}facts: {facts}\nattempt_timeout: {attempt}\ncircuit_breaker: {breaker}"
    )


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("wait", "attempt", "key"),
    [
        ("800ms", "2s", None),
        ("799ms", "2s", "circuit_breaker.half_open_max_wait"),
        ("1m", "800ms", None),
        ("1m", "799ms", "attempt_timeout.total"),
    ],
)
def test_probes_need_the_median_latency(
    wait: str, attempt: str, key: str | None
) -> None:
    """800 ms, the median, will do for a probe; the shorter limit is the place."""
    text = policy("{latency: {p50: 800ms}}", f"{{half_open_max_wait: {wait}}}", attempt)
    found = lint_yaml(text, "CB007")
    assert [d.policy_path for d in found] == (
        [f"payment_api.operations.charge.{key}"] if key else []
    )
    if found:
        assert found[0].severity is Severity.ERROR
        assert found[0].message == (
            "a probe may last 799ms, below the median latency of 800ms: "
            "more than half of all probes fail although the callee is well"
        )
        assert found[0].help == "let a probe last 2.4s (3 x p50)"


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("rate", "need", "severities"),
    [
        ("0.005/s", 3, []),
        ("0.005/s", 4, [Severity.WARNING]),
        ("12/h", 2, []),
        ("11/h", 2, [Severity.INFO]),
        ("11/h", 3, [Severity.INFO]),
    ],
)
def test_closing_may_take_ten_minutes(
    rate: str, need: int, severities: list[Severity]
) -> None:
    """3 probes at 1 in 200 s take exactly 10 minutes; a fourth is too much.

    No one can ask for much fewer than 3, and thin traffic passes as probes.
    """
    text = policy(f"{{rate: {rate}, callers: 1}}", f"{{success_threshold: {need}}}")
    found = lint_yaml(text, "CB007")
    assert [d.severity for d in found] == severities


@pytest.mark.boundary
@pytest.mark.parametrize(("rate", "fits"), [("12/h", True), ("11/h", False)])
def test_the_advice_never_asks_for_a_single_probe(rate: str, fits: bool) -> None:
    """2 probes fit into 10 minutes at 12/h; one would be CB008's."""
    text = policy(f"{{rate: {rate}, callers: 1}}", "{success_threshold: 5}")
    (found,) = lint_yaml(text, "CB007")
    assert found.help is not None
    assert (found.help == "set success_threshold: 2") is fits
    assert (found.fix is not None) is fits


def test_message_and_advice_for_thin_traffic() -> None:
    """5 probes at 0.006/s take 13 min 53 s; 3 fit into 10 minutes."""
    text = policy("{rate: 0.06/s, callers: 10}", "{success_threshold: 5}")
    (found,) = lint_yaml(text, "CB007")
    assert found.message == (
        "5 good probes at 0.006/s per process take 13m53.333s > 10m: "
        "the circuit stays half-open for that long"
    )
    assert found.help == "set success_threshold: 3"


def test_where_one_probe_takes_too_long() -> None:
    """With fewer than one call in 10 minutes only sharing the breaker helps."""
    text = policy("{rate: 1/h, callers: 1}", "{success_threshold: 1}")
    (found,) = lint_yaml(text, "CB007")
    address = "with redis: {url_env: REDIS_URL} in the service"
    share = "share the breaker: scope: service, or store: redis"
    assert found.help == f"{share} {address}"
    stated = text.replace("owner:", "redis: {url_env: POLICY_REDIS_URL}\nowner:")
    assert [d.help for d in lint_yaml(stated, "CB007")] == [share]
    text = policy(
        "{rate: 1/h, callers: 1}",
        "{success_threshold: 1, scope: service, store: redis}",
    ).replace("owner:", "redis: {url_env: POLICY_REDIS_URL}\nowner:")
    (found,) = lint_yaml(text, "CB007")
    assert found.help == "leave the breaker out: so few calls need none"


@pytest.mark.boundary
@pytest.mark.parametrize(("need", "count"), [(3, 0), (4, 1)])
def test_slowest_close_can_be_set(need: int, count: int) -> None:
    """3 probes at 1 in 100 s take exactly 5 minutes."""
    text = policy("{rate: 0.01/s, callers: 1}", f"{{success_threshold: {need}}}")
    settings = {"CB007": {"slowest-close": "5m"}}
    assert len(lint_yaml(text, "CB007", thresholds=settings)) == count


@pytest.mark.boundary
@pytest.mark.parametrize(("need", "count"), [(6, 0), (7, 1)])
def test_a_circuit_in_redis_closes_by_the_probes_of_all(need: int, count: int) -> None:
    """0.01/s of the whole fleet are 6 probes in 10 minutes, whatever its size."""
    breaker = f"{{success_threshold: {need}, store: redis}}"
    text = policy("{rate: 0.01/s}", breaker)
    text = text.replace("owner:", "redis: {url_env: POLICY_REDIS_URL}\nowner:")
    found = lint_yaml(text, "CB007")
    assert [d.message for d in found] == [
        (
            "7 good probes at 36/h of all processes take 11m40s > 10m: "
            "the circuit stays half-open for that long"
        )
    ] * count
    assert [d.help for d in found] == ["set success_threshold: 6"] * count


@pytest.mark.boundary
@pytest.mark.parametrize(("need", "count"), [(6, 0), (7, 2)])
def test_a_circuit_of_the_service_closes_by_all_operations(
    need: int, count: int
) -> None:
    """Two operations of 0.005/s make 6 probes in 10 minutes together."""
    text = (
        "version: 1\nservice: payment_api\nowner: p\ndefaults:\n  transport: http\n"
        "  facts: {rate: 0.005/s, callers: 1}\n  circuit_breaker: "
        f"{{scope: service, success_threshold: {need}}}\n"
        "operations: {charge: {idempotent: true}, refund: {idempotent: true}}\n"
    )
    assert len(lint_yaml(text, "CB007")) == count


@pytest.mark.missing_facts
@pytest.mark.parametrize(
    ("facts", "lacking"),
    [
        ("{}", ["callers", "latency.p50", "rate"]),
        ("{latency: {p99: 5s}, rate: 1/s, callers: 1}", ["latency.p50"]),
        ("{latency: {p50: 1ms}, rate: 1/h}", ["callers"]),
        ("{latency: {p50: 1ms}, callers: 1}", ["rate"]),
    ],
)
def test_missing_facts_are_named(facts: str, lacking: list[str]) -> None:
    """Both clauses say what they lack."""
    result = run_yaml(policy(facts), "CB007")
    assert result.diagnostics == ()
    assert [skip.fact for skip in result.coverage.skipped] == [
        f"payment_api.operations.charge.facts.{fact}" for fact in lacking
    ]


def test_disabled_breakers_and_no_breakers() -> None:
    """Nothing has to close where nothing opens."""
    facts = "{rate: 1/h, callers: 1, latency: {p50: 5s}}"
    assert lint_yaml(policy(facts, "{mode: disabled}"), "CB007") == []
    assert lint_yaml(operation_yaml(f"{HEAD}facts: {facts}"), "CB007") == []


def test_limit_of_a_preset_is_shown_there() -> None:
    """An inherited probe limit is a related place."""
    preset = (
        "version: 1\npreset: quick\ndefaults:\n"
        "  circuit_breaker: {half_open_max_wait: 500ms}\n"
    )
    text = operation_yaml(
        f"{HEAD}facts: {{latency: {{p50: 1s}}}}", service="extends: [quick]"
    )
    (found,) = lint_yaml(text, "CB007", files={"quick.yaml": preset})
    assert str(found.related[0].span) == "quick.yaml:4:41"
