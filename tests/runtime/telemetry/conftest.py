"""Telemetry that no other test meets."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from itertools import count

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from policyctl.runtime.events import EVENTS
from policyctl.runtime.registry import registry
from policyctl.runtime.telemetry import prometheus, trouble
from policyctl.runtime.telemetry.beat import BEAT
from policyctl.runtime.telemetry.listener import LISTENER
from policyctl.runtime.telemetry.switch import SWITCH
from policyctl.testing import FakeClock, fake_clock

_numbers = count(1)
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


@pytest.fixture
def service() -> Iterator[str]:
    """A service's name of the test's own; what is switched on for it goes away."""
    name = f"telemetry_{next(_numbers)}"
    listeners = EVENTS.listeners
    yield name
    EVENTS.listeners = listeners
    BEAT.stop()
    prometheus.unregister()
    trouble.forget()
    for known in list(SWITCH.services):
        if known.startswith(name):
            del SWITCH.services[known]
            SWITCH.awake.discard(known)
            SWITCH.beats.pop(known, None)
            LISTENER._prepared.discard(known)
            logger = logging.getLogger(f"policyctl.{known}")
            logger.handlers.clear()
            logger.propagate = True
            logger.setLevel(logging.NOTSET)
    for key in [key for key in SWITCH.meters if key[0].startswith(name)]:
        del SWITCH.meters[key]
    for policy in [p for p in registry if p.startswith(name)]:
        registry.forget(policy)


@pytest.fixture
def clock() -> Iterator[FakeClock]:
    """Time that the test turns."""
    with fake_clock() as clock:
        yield clock


@pytest.fixture
def scrape() -> Callable[..., Samples]:
    """All samples of a registry as a scrape shows them, by name and labels."""

    def read(shown: CollectorRegistry | None = None) -> Samples:
        if shown is None:
            shown = CollectorRegistry()
            prometheus.register(shown)
        text = generate_latest(shown).decode()
        return {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }

    return read
