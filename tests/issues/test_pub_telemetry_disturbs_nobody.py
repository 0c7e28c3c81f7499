"""Logs and metrics: sentry #60890, client_python #431, marselester/json-log-formatter #41.

A log handler that makes guarded calls itself, a filter that fails, arguments that end up in
the log, numbers that go backwards while they are read.
"""

from __future__ import annotations

import json
import os
import sys
import textwrap
from subprocess import run
from typing import Any

import pytest

COMMON = """
    import json, logging, sys, threading
    from policyctl.runtime import settings
    from policyctl.runtime.policy import Policy
    from policyctl.runtime.telemetry import enable

    enable("shop", metrics="prometheus", logs="json")
    policy = Policy(
        service="shop", operation="buy",
        retry=settings.Retry(
            max_attempts=3, retry_on=(ConnectionError,),
            backoff=settings.Backoff(initial=0.001, jitter="none"),
        ),
        circuit_breaker=settings.CircuitBreaker(failure_threshold=100),
    )
    logger = logging.getLogger("policyctl.shop")
    logger.setLevel(logging.DEBUG)

    @policy
    def buy(card, **options):
        raise ConnectionError("refused")

    def outcome(*args, **kwargs):
        try:
            buy(*args, **kwargs)
        except Exception as error:
            return repr(error)

    class Handler(logging.Handler):
        lines = []
        def emit(self, record):
            self.lines.append(record.getMessage() + json.dumps(record.policyctl))
            if guarded:
                outcome("handler")

    guarded = "guarded" in sys.argv
    logger.addHandler(Handler())
"""
ARGUMENTS = """
    print(json.dumps([outcome("4111 1111", token="s3cret"), Handler.lines]))
"""
FILTER = """
    class Filter(logging.Filter):
        def filter(self, record):
            raise RuntimeError("filter")
    logger.addFilter(Filter())
    print(json.dumps([outcome("card"), []]))
"""
SCRAPES = """
    from prometheus_client import generate_latest
    from prometheus_client.parser import text_string_to_metric_families

    logger.setLevel(logging.CRITICAL)
    works = policy(lambda: None)
    works()
    over = threading.Event()

    def hammer():
        while not over.is_set():
            works()

    threads = [threading.Thread(target=hammer, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    found = []
    for _ in range(30):
        text = generate_latest().decode()
        families = {f.name: f for f in text_string_to_metric_families(text)}
        values = {s.name: s.value for s in families["policyctl_calls"].samples
                  if s.labels.get("outcome") == "success"}
        buckets = [s.value for s in families["policyctl_call_seconds"].samples
                   if s.name.endswith("_bucket")]
        found.append([values["policyctl_calls_total"], buckets])
    over.set()
    for thread in threads:
        thread.join()
    print(json.dumps(found))
"""


def program(text: str, *arguments: str) -> Any:
    """What a program prints as JSON."""
    done = run(
        [sys.executable, "-c", textwrap.dedent(COMMON + text), *arguments],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        env={k: v for k, v in os.environ.items() if k != "PROMETHEUS_MULTIPROC_DIR"},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_arguments_are_in_no_line() -> None:
    """The lines of all levels name the error and not what was passed."""
    outcome, lines = program(ARGUMENTS)
    assert outcome == "ConnectionError('refused')"
    assert any("failed" in line for line in lines)
    assert not [line for line in lines if "4111" in line or "s3cret" in line]


def test_a_handler_that_makes_guarded_calls_does_not_call_itself() -> None:
    """What it causes is not logged again: three attempts make a handful of lines."""
    outcome, lines = program(ARGUMENTS, "guarded")
    assert outcome == "ConnectionError('refused')"
    assert 1 <= len(lines) <= 10


def test_a_filter_that_fails_changes_no_outcome() -> None:
    """The caller gets the callee's error, not the filter's."""
    assert program(FILTER)[0] == "ConnectionError('refused')"


@pytest.fixture(scope="module")
def scrapes() -> Any:
    """Calls and buckets of thirty scrapes during calls of three threads."""
    return program(SCRAPES)


def test_counters_never_go_backwards(scrapes: Any) -> None:
    """From scrape to scrape."""
    calls = [found[0] for found in scrapes]
    assert calls == sorted(calls)


def test_buckets_of_a_scrape_never_fall(scrapes: Any) -> None:
    """From bound to bound, in each of them."""
    assert all(buckets == sorted(buckets) for _, buckets in scrapes)
