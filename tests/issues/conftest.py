"""Both forms of a guarded call behind one interface, and a clock that tests turn."""

from __future__ import annotations

import asyncio
import importlib
import sys
import warnings
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from policyctl.generate.build import build
from policyctl.generate.compare import compare
from policyctl.generate.options import GenerateOptions
from policyctl.generate.write import write
from policyctl.resolve.project import InputFile, Inputs, load_project
from policyctl.runtime.policy import Policy
from policyctl.runtime.registry import registry
from policyctl.runtime.run_sync import BlockingCallWarning
from policyctl.testing import FakeClock, fake_clock


class Form:
    """A way to guard a function: as ``def`` or as ``async def``."""

    def __init__(self, is_async: bool) -> None:
        self.is_async = is_async

    def guard(
        self, policy: Policy, fn: Callable[..., Any]
    ) -> Callable[..., Awaitable[Any]]:
        """``fn`` guarded in this form, called as a coroutine function in either.

        ``fn`` may return an awaitable in the async form, which is awaited.
        """
        if not self.is_async:
            plain = policy(fn)

            async def call_plain(*args: Any, **kwargs: Any) -> Any:
                with warnings.catch_warnings():
                    # The tests' own event loop is in this thread, on purpose.
                    warnings.simplefilter("ignore", BlockingCallWarning)
                    return plain(*args, **kwargs)

            return call_plain

        async def twin(*args: Any, **kwargs: Any) -> Any:
            result = fn(*args, **kwargs)
            return await result if hasattr(result, "__await__") else result

        return policy(twin)


@pytest.fixture(params=[True, False], ids=["async", "sync"])
def form(request: pytest.FixtureRequest) -> Form:
    """Both forms, one after the other."""
    return Form(request.param)


class Script:
    """A callable that returns or raises its outcomes in turn, the last one for ever."""

    def __init__(self, *outcomes: Any) -> None:
        self.outcomes = list(outcomes)
        self.entries = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The next outcome."""
        self.entries += 1
        outcome = self.outcomes[0]
        if len(self.outcomes) > 1:
            self.outcomes.pop(0)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome


@pytest.fixture
def script() -> type[Script]:
    """The class of scripted functions."""
    return Script


@pytest.fixture
def clock() -> Iterator[FakeClock]:
    """A fake clock in force."""
    with fake_clock() as found:
        yield found


@pytest.fixture(autouse=True)
def _forget_policies() -> Iterator[None]:
    """Policies that a test names are forgotten after it."""
    before = set(registry)
    yield
    for name in set(registry) - before:
        registry.forget(name)


async def outcome_of(awaitable: Awaitable[Any]) -> Any:
    """What comes out: the value, or the exception as a value."""
    try:
        return await awaitable
    except (Exception, asyncio.CancelledError) as error:
        return error


@pytest.fixture
def settle() -> Callable[[Awaitable[Any]], Awaitable[Any]]:
    """``await settle(call())`` is the value or the exception."""
    return outcome_of


@pytest.fixture
def generated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], Mapping[str, Policy]]]:
    """``generated(operations)`` has what the module of a service with them has."""
    package = f"reported_{abs(hash(str(tmp_path)))}"

    def make(operations: str) -> Mapping[str, Policy]:
        body = dedent(operations).strip("\n").replace("\n", "\n  ")
        text = f"version: 1\nservice: reported\noperations:\n  {body}\n"
        loaded = load_project(Inputs((InputFile("reported.yaml", text.encode()),)))
        assert [d.message for d in loaded.diagnostics] == []
        options = GenerateOptions(tmp_path / package, package, root=tmp_path)
        built = build(loaded.project, options)
        assert built.diagnostics == ()
        write(built, compare(built, options), options)
        monkeypatch.syspath_prepend(str(tmp_path))
        importlib.invalidate_caches()
        return vars(importlib.import_module(f"{package}.reported"))

    yield make
    for name in [m for m in sys.modules if m.partition(".")[0] == package]:
        del sys.modules[name]
