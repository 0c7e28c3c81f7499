"""GR001: retries of several layers that multiply."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, run_yaml

SAFE = "transport: http\n    idempotent: true\n    attempt_timeout: 1s"


def chain(*attempts: int | str, rate: str = "", facts: str = "", more: str = "") -> str:
    """s0 calls s1 calls s2 …; the call to s<i> has attempts[i-1] attempts."""
    documents = [
        (
            f"version: 1\nservice: s0\noperations:\n  run:\n    transport: local\n{rate}"
            "    calls: [{to: s1.run}]\n"
        )
    ]
    for index, count in enumerate(attempts, 1):
        last = index == len(attempts)
        calls = "" if last else f"    calls: [{{to: s{index + 1}.run}}]\n"
        own = f"{facts}" if last else ""
        documents.append(
            f"version: 1\nservice: s{index}\n{own}operations:\n  run:\n    {SAFE}\n"
            f"    retry: {{max_attempts: {count}{more}}}\n{calls}"
        )
    return "---\n".join(documents)


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("attempts", "severity"),
    [
        ((2, 2), None),
        ((2, 3), Severity.WARNING),
        ((3, 3), Severity.WARNING),
        ((2, 5), Severity.WARNING),
        ((4, 3), Severity.ERROR),
        ((9,), None),
        ((1, 9), None),
        ((2, 1, 2), None),
        ((2, 1, 3), Severity.WARNING),
    ],
)
def test_products(attempts: tuple[int, ...], severity: Severity | None) -> None:
    """2 x 2 = 4 is fine, 2 x 5 = 10 no error yet; a single edge is RT001's."""
    found = lint_yaml(chain(*attempts), "GR001")
    assert [d.severity for d in found] == ([] if severity is None else [severity])


def test_message_and_places() -> None:
    """The dominant path is printed once, at its last retrying call."""
    (found,) = lint_yaml(chain(3, 1, 4), "GR001")
    assert found.message == (
        "s0.run 3 x s2.run 4 = 12 attempts at s3.run for one request"
    )
    assert found.policy_path == "s2.operations.run.calls[s3.run].retry.max_attempts"
    assert [related.message for related in found.related] == [
        "retry.max_attempts of the callee",
        "up to 3 attempts",
    ]


def test_layers_of_the_callee_multiply() -> None:
    """web 3 x api 3 x mesh 2 = 18."""
    facts = "facts: {layers: [{name: mesh, max_attempts: 2}]}\n"
    (found,) = lint_yaml(chain(3, 3, facts=facts), "GR001")
    assert found.message.startswith("s0.run 3 x s1.run 6 = 18 attempts")


def test_budgets_bound_the_factors() -> None:
    """With 10 % budgets 3 x 3 becomes 1.1 x 1.1."""
    more = ", budget: {ratio: 10%, refill: request, floor: 0/s}"
    assert lint_yaml(chain(3, 3, more=more), "GR001") == []


def test_retries_of_refused_connections_do_not_multiply() -> None:
    """If the callee was not reached, nothing behind it was tried."""
    text = chain(3, 3)
    first, middle, last = text.split("---\n")
    outer = middle.replace(
        "max_attempts: 3",
        "max_attempts: 3, retry_on: [not_sent], retry_on_status: []",
    )
    assert lint_yaml("---\n".join([first, outer, last]), "GR001") == []
    inner = last.replace(
        "max_attempts: 3",
        "max_attempts: 3, retry_on: [not_sent], retry_on_status: []",
    )
    assert len(lint_yaml("---\n".join([first, middle, inner]), "GR001")) == 1


@pytest.mark.boundary
@pytest.mark.parametrize(("capacity", "count"), [("400/s", 1), ("401/s", 0)])
def test_load_against_the_capacity_of_the_leaf(capacity: str, count: int) -> None:
    """100/s x 2 x 2 just reach 400/s, although the product is only 4."""
    text = chain(
        2,
        2,
        rate="    facts: {rate: 100/s}\n",
        facts=f"facts: {{capacity: {capacity}}}\n",
    )
    found = lint_yaml(text, "GR001")
    assert [d.severity for d in found] == [Severity.ERROR] * count
    if found:
        assert found[0].message.endswith("; 400/s reach the capacity 400/s of s2")


def test_unlimited_attempts() -> None:
    """A loop above another retry has no bound."""
    text = chain("unlimited", 2).replace(
        "service: s1\n", "service: s1\nclass: control_loop\n"
    )
    (found,) = lint_yaml(text, "GR001")
    assert found.message.startswith("s0.run infinite x s1.run 2 = unlimited attempts")


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("attempts", "ratio", "severity"),
    [
        (4, "0.1%", Severity.WARNING),
        (9, "11.1%", Severity.WARNING),
        (9, "11.2%", Severity.ERROR),
    ],
)
def test_products_that_are_no_whole_numbers(
    attempts: int, ratio: str, severity: Severity
) -> None:
    """4 x 1.001 = 4.004; 9 x 1.111 = 9.999 and 9 x 1.112 = 10.008."""
    budget = f"    retry: {{budget: {{ratio: {ratio}, refill: request, floor: 0/s}}}}\n"
    text = chain(attempts, 3).rpartition("    retry:")[0] + budget
    (found,) = lint_yaml(text, "GR001")
    assert found.severity is severity


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("settings", "severity"),
    [
        ({"warn_above": 9}, None),
        ({"warn_above": 8.99}, Severity.WARNING),
        ({"error_above": 9}, Severity.WARNING),
        ({"error_above": 8.99}, Severity.ERROR),
    ],
)
def test_thresholds_can_be_set(
    settings: dict[str, float], severity: Severity | None
) -> None:
    """3 x 3 = 9 is not over 9."""
    found = lint_yaml(chain(3, 3), "GR001", thresholds={"GR001": settings})
    assert [d.severity for d in found] == ([] if severity is None else [severity])


@pytest.mark.boundary
@pytest.mark.parametrize(("capacity", "count"), [("400/s", 1), ("401/s", 0)])
def test_an_inner_callee_that_is_full_is_reported_too(
    capacity: str, count: int
) -> None:
    """100/s x 2 x 2 fill s2, although the path goes on to s3 with a product of 8."""
    text = chain(2, 2, 2, rate="    facts: {rate: 100/s}\n")
    text = text.replace(
        "service: s2\n", f"service: s2\nfacts: {{capacity: {capacity}}}\n"
    )
    found = lint_yaml(text, "GR001")
    assert [d.message for d in found] == [
        (
            "s0.run 2 x s1.run 2 = 4 attempts at s2.run for one request; "
            "400/s reach the capacity 400/s of s2"
        )
    ] * count + [
        "s0.run 2 x s1.run 2 x s2.run 2 = 8 attempts at s3.run for one request"
    ]


RATE = "    facts: {rate: 100/s}\n"


@pytest.mark.missing_facts
@pytest.mark.parametrize(
    ("rate", "facts", "lacking"),
    [
        ("", "", ["s0.operations.run.facts.rate", "s2.facts.capacity"]),
        (RATE, "", ["s2.facts.capacity"]),
        ("", "facts: {capacity: 1/s}\n", ["s0.operations.run.facts.rate"]),
        (RATE, "facts: {capacity: 401/s}\n", []),
    ],
)
def test_missing_facts_are_named(rate: str, facts: str, lacking: list[str]) -> None:
    """Whether a product of 4 fills the callee takes its capacity and the first rate."""
    result = run_yaml(chain(2, 2, rate=rate, facts=facts), "GR001")
    assert result.diagnostics == ()
    assert [s.fact for s in result.coverage.skipped] == lacking


def test_long_paths_are_abbreviated() -> None:
    """3^40 is about 10^19, and the middle of the path is left out."""
    (found,) = lint_yaml(chain(*([3] * 40)), "GR001")
    assert found.message == (
        "s0.run 3 x s1.run 3 x s2.run 3 x (35 more) x s38.run 3 x s39.run 3 = about "
        "10^19 attempts at s40.run for one request"
    )


def test_both_ends_of_a_fork_are_reported() -> None:
    """Each leaf has its own path; inner nodes are not reported again."""
    text = chain(3, 3).replace(
        "calls: [{to: s2.run}]", "calls: [{to: s2.run}, {to: t.run}]"
    )
    leaf = f"---\nversion: 1\nservice: t\noperations:\n  run:\n    {SAFE}\n    retry: {{}}\n"
    found = lint_yaml(text + leaf, "GR001")
    assert sorted(d.message.rpartition("at ")[2] for d in found) == [
        "s2.run for one request",
        "t.run for one request",
    ]


def test_a_layer_that_does_not_multiply_is_no_factor() -> None:
    """Retries of what was never sent do not repeat the work behind: 3 x 3 = 9, not 27."""
    retry = "retry: {max_attempts: 3}"
    refused = "retry: {max_attempts: 3, retry_on: [not_sent], retry_on_status: off}"
    layers = (("a", "b", ""), ("b", "c", retry), ("c", "d", refused), ("d", "", retry))
    text = ""
    for name, callee, own in layers:
        calls = f"calls: [{{to: {callee}.go}}]" if callee else ""
        text += (
            f"---\nversion: 1\nservice: {name}\nowner: o\noperations:\n  go:\n"
            "    transport: http\n    idempotent: true\n    attempt_timeout: 1s\n"
            f"    budget: 60s\n    {own}\n    {calls}\n"
        )
    messages = [d.message for d in lint_yaml(text, "GR001")]
    assert messages == [
        "a.go 3 x b.go 3 = 9 attempts at c.go for one request",
        "a.go 3 x c.go 3 = 9 attempts at d.go for one request",
    ]


def test_calls_for_one_request_are_no_factor() -> None:
    """3 x 3 attempts for each of 2 x 5 calls: the product is that of the retries."""
    text = chain(3, 3).replace("s1.run}", "s1.run, per_request: 2}")
    (found,) = lint_yaml(text.replace("s2.run}", "s2.run, per_request: 5}"), "GR001")
    assert found.message == (
        "s0.run 3 x s1.run 3 = 9 attempts at s2.run for each of 10 calls for one request"
    )


def undeclared(facts: str = "facts: {rate: 100/s}", last: str = "", n: int = 4) -> str:
    """Clients that no file declares call page, which calls api, which calls store."""
    documents: list[str] = []
    for name, callee in (("page", "api"), ("api", "store"), ("store", "")):
        calls = f"    calls: [{{to: {callee}.run}}]\n" if callee else ""
        own = f"    {facts}\n" if name == "page" else ""
        head = last if name == "store" else ""
        documents.append(
            f"version: 1\nservice: {name}\n{head}operations:\n  run:\n    {SAFE}\n{own}"
            f"    retry: {{max_attempts: {n}}}\n{calls}"
        )
    return "---\n".join(documents)


def test_clients_that_a_rate_proves_are_a_layer_too() -> None:
    """Three layers of four attempts send 64 requests; 100/s become 6400/s."""
    (found,) = lint_yaml(undeclared(), "GR001")
    product = "clients of page.run 4 x page.run 4 x api.run 4 = 64"
    assert found.message == f"{product} attempts at store.run for one request"
    facts = "facts: {capacity: 6400/s}\n"
    (full,) = lint_yaml(undeclared(last=facts), "GR001")
    assert full.message == (
        f"{product} attempts at store.run for one request; 6400/s reach the capacity "
        "6400/s of store"
    )


@pytest.mark.boundary
@pytest.mark.parametrize(("capacity", "reached"), [("1600/s", True), ("1601/s", False)])
def test_undeclared_clients_fill_a_callee(capacity: str, reached: bool) -> None:
    """2 x 2 x 2 attempts of 200/s are 1600/s."""
    text = undeclared("facts: {rate: 200/s}", f"facts: {{capacity: {capacity}}}\n", 2)
    (found,) = lint_yaml(text, "GR001")
    assert ("1600/s reach the capacity" in found.message) is reached
    assert found.severity is (Severity.ERROR if reached else Severity.WARNING)


def test_clients_that_nothing_proves_are_not_counted() -> None:
    """Without a rate, nobody is known to call page: 4 x 4 = 16 are left."""
    (found,) = lint_yaml(undeclared("facts: {callers: 3}"), "GR001")
    assert found.message == (
        "page.run 4 x api.run 4 = 16 attempts at store.run for one request"
    )


@pytest.mark.boundary
@pytest.mark.parametrize(("ratio", "reached"), [("50%", True), ("51%", False)])
def test_a_cache_in_front_of_the_callee_answers_its_share(
    ratio: str, reached: bool
) -> None:
    """Half of 1600/s miss the cache and reach the 800/s."""
    last = f"facts: {{capacity: 800/s, cache: {{hit_ratio: {ratio}}}}}\n"
    (found,) = lint_yaml(undeclared("facts: {rate: 200/s}", last, 2), "GR001")
    assert ("reach the capacity" in found.message) is reached
