"""Rates and callers, derived or missing, never guessed."""

from __future__ import annotations

from policyctl.lint.context import Context
from policyctl.lint.testing import load_yaml
from policyctl.lint.traffic import Load

TAX = "version: 1\nservice: tax\noperations:\n  compute: {transport: http%s}\n"
SHOP = (
    "version: 1\nservice: %s\nfacts: {%s}\noperations:\n"
    "  buy: {transport: http, facts: {%s}, calls: [{to: tax.compute, per_request: %s}]}\n"
)


def load_of(text: str) -> Load:
    """The load of tax.compute."""
    context = Context(load_yaml(text))
    (site,) = [s for s in context.sites if s.policy.id == "tax.compute"]
    return context.load(site)


def test_stated_facts() -> None:
    """An operation's own facts win over what its callers say."""
    shop = SHOP % ("shop", "instances: 3", "rate: 10/s", "1")
    load = load_of(f"{shop}---\n{TAX % ', facts: {rate: 40/s, callers: 8}'}")
    assert (load.rate, load.callers, load.per_client) == (40.0, 8, 5.0)
    assert load.missing == ()


def test_sums_over_callers() -> None:
    """Rates times calls per request, and instances, of all callers."""
    shop = SHOP % ("shop", "instances: 3", "rate: 10/s", "2")
    kiosk = SHOP % ("kiosk", "instances: 1", "rate: 5/s", "0.5")
    load = load_of(f"{shop}---\n{kiosk}---\n{TAX % ''}")
    assert (load.rate, load.callers) == (22.5, 4)


def test_one_unknown_caller_makes_the_sum_unknown() -> None:
    """A sum over some of the callers would be a guess."""
    shop = SHOP % ("shop", "instances: 3", "rate: 10/s", "2")
    kiosk = SHOP % ("kiosk", "workers: 1", "callers: 5", "0.5")
    load = load_of(f"{shop}---\n{kiosk}---\n{TAX % ''}")
    assert (load.rate, load.callers, load.per_client) == (None, None, None)
    assert load.missing == (
        "tax.operations.compute.facts.rate",
        "tax.operations.compute.facts.callers",
    )
    assert load.missing_rate == ("tax.operations.compute.facts.rate",)
    assert load.missing_callers == ("tax.operations.compute.facts.callers",)


def test_cycles_are_unknown() -> None:
    """A rate that feeds itself has no sum."""
    text = (
        "version: 1\nservice: tax\noperations:\n"
        "  compute: {transport: http, calls: [{to: tax.compute}]}\n"
    )
    assert load_of(text).rate is None


def edge_load(text: str) -> Load:
    """The load of the only call to tax.compute."""
    context = Context(load_yaml(text))
    (edge,) = context.graph.callers("tax.compute")
    return context.traffic.of_edge(edge)


def test_edge_of_a_known_caller() -> None:
    """The caller's rate and instances make the load of its edge."""
    shop = SHOP % ("shop", "instances: 4", "rate: 10/s", "2")
    load = edge_load(f"{shop}---\n{TAX % ''}")
    assert (load.rate, load.callers, load.per_client) == (20.0, 4, 5.0)


def test_edge_of_an_only_caller_takes_the_callees_facts() -> None:
    """If nobody else calls, what the callee states is this caller's traffic."""
    shop = (
        "version: 1\nservice: shop\nfacts: {workers: 4}\ncalls: [{to: tax.compute}]\n"
    )
    load = edge_load(f"{shop}---\n{TAX % ', facts: {rate: 40/s, callers: 8}'}")
    assert (load.rate, load.callers) == (40.0, 8)


def test_edge_with_other_clients_around_is_unknown() -> None:
    """Eight client processes, of which the caller has two: its share is not known."""
    shop = (
        "version: 1\nservice: shop\nfacts: {instances: 2}\ncalls: [{to: tax.compute}]\n"
    )
    load = edge_load(f"{shop}---\n{TAX % ', facts: {rate: 40/s, callers: 8}'}")
    assert (load.rate, load.callers) == (None, 2)
