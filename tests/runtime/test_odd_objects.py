"""Exceptions, results and callables that behave oddly neither break a call nor change it."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock, MagicMock, Mock, create_autospec
from xmlrpc.client import ServerProxy

import pytest

from policyctl.runtime import settings
from policyctl.runtime.policy import Policy


def make() -> Policy:
    """Retries everything twice, with rules over statuses, so that all is looked at."""
    return Policy(
        transport="http",
        retry=settings.Retry(
            max_attempts=3,
            retry_on=("Exception",),
            retry_on_status=("503",),
            retry_after=settings.RetryAfter(),
            backoff=settings.Backoff(initial=0.0, max=0.0, jitter="none"),
        ),
        circuit_breaker=settings.CircuitBreaker(
            failure_threshold=3,
            record_on=("Exception",),
            record_on_status=("500-599",),
            ignore_on_status=("400-499",),
        ),
        bulkhead=settings.Bulkhead(max_concurrent=1),
    )


@dataclasses.dataclass(frozen=True)
class Frozen(Exception):
    """Refuses every assignment, those of the interpreter's own attributes too."""

    code: int = 5


class NoAssignment(Exception):
    """The same with an error of its own."""

    def __setattr__(self, name: str, value: object) -> None:
        raise RuntimeError(name)


class NoAttributes(Exception):
    """Fails for whatever it does not have."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


class Unprintable(Exception):
    """Cannot be shown."""

    def __str__(self) -> str:
        raise RuntimeError("str")

    __repr__ = __str__


class BrokenProperties(Exception):
    """Whatever a status is looked for in fails."""

    @property
    def status_code(self) -> int:
        """Fails."""
        raise RuntimeError("property")

    response = code = status_code


class Incomparable(Exception):
    """Neither hashable nor comparable, and no truth value."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("eq")

    def __bool__(self) -> bool:
        raise RuntimeError("bool")


class NotesOfAnotherKind(Exception):
    """Its class has notes that are no list."""

    __notes__ = ("of the class",)  # type: ignore[assignment]


class CoroutineCode(Exception):
    """As in grpc.aio, where code() has to be awaited."""

    async def code(self) -> int:
        """Never awaited by us, and never left behind."""
        return 3


ODD = [
    *(Frozen, NoAssignment, NoAttributes, Unprintable, BrokenProperties),
    *(Incomparable, NotesOfAnotherKind, CoroutineCode),
]


@pytest.mark.parametrize("once", [True, False])
@pytest.mark.parametrize("kind", ODD)
async def test_an_odd_exception_comes_out_as_it_is(
    kind: type[Exception], once: bool
) -> None:
    """Three attempts, counted as three failures; the last error itself comes out."""
    for is_async in (True, False):
        raised: list[Exception] = []

        def fail(raised: list[Exception] = raised) -> None:
            raised.append(raised[0] if once and raised else kind())
            raise raised[-1]

        async def fail_in_task(fail: Callable[[], None] = fail) -> None:
            fail()

        policy = make()
        caught: BaseException | None = None
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                if is_async:
                    await policy.call(fail_in_task)
                else:
                    policy.call(fail)
            except kind as error:
                caught = error
            gc.collect()
        assert caught is raised[-1]
        assert len(raised) == 3
        assert policy.circuit_breaker.state == "open"
        assert policy.bulkhead.in_use == 0
        notes: list[str] = BaseException.__getattribute__(caught, "__notes__")
        assert "max_attempts is 3" in notes[-1]


def test_notes_of_others_are_kept() -> None:
    """Ours follows them, and replaces an older one of ours."""
    error = ValueError()
    error.add_note("theirs")

    def fail() -> None:
        raise error

    for _ in range(3):
        with pytest.raises(ValueError, match="theirs"):
            make().call(fail)
    assert len(error.__notes__) == 2
    assert error.__notes__[0] == "theirs"


class Lazy:
    """A proxy whose class is only known once it is evaluated, as in Django or Flask."""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """Fails outside of its context."""
        raise RuntimeError("evaluated")


class Unknowing:
    """Fails for whatever it does not have, and cannot be compared."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("eq")

    __hash__ = None  # type: ignore[assignment]


RESULTS = {
    "mock": MagicMock(),
    "lazy": Lazy(),
    "unknowing": Unknowing(),
    "list as status": SimpleNamespace(status_code=[1]),
    "nan as status": SimpleNamespace(status=float("nan")),
    "method as status": SimpleNamespace(status=lambda: 1 / 0),
    "mock as status": SimpleNamespace(status=MagicMock()),
}


@pytest.mark.parametrize("name", RESULTS)
async def test_an_odd_result_is_given_as_it_is(name: str) -> None:
    """Looked at for a status where rules ask for one, and not changed by that."""
    result = RESULTS[name]

    async def work() -> Any:
        return result

    policy = make()
    assert policy.call(lambda: result) is result
    assert policy(lambda: result)() is result
    assert await policy.call(work) is result
    assert policy.circuit_breaker.state == "closed"


def test_a_lazy_result_is_not_evaluated_without_rules() -> None:
    """Whether it can be awaited is a question to its type."""
    policy = Policy(bulkhead=settings.Bulkhead(max_concurrent=1))
    evaluated: list[str] = []

    class Noting:
        def __getattribute__(self, name: str) -> Any:
            evaluated.append(name)
            return object.__getattribute__(self, name)

    policy.call(Noting)
    policy(lambda: Noting())()
    assert evaluated == []


async def test_mocks_are_what_they_stand_for() -> None:
    """A plain mock is called like a function, an async one is awaited."""

    def plain(a: int) -> int:
        return a

    async def coroutine(a: int) -> int:
        return a

    policy = make()
    for mock in (MagicMock(return_value=3), Mock(return_value=3)):
        assert policy(mock)(1) == 3
        assert policy.call(mock, 1) == 3
        mock.assert_called_with(1)
    assert policy(create_autospec(plain, return_value=4))(1) == 4
    for mock in (AsyncMock(return_value=3), create_autospec(coroutine, return_value=3)):
        assert await policy(mock)(1) == 3
        assert await policy.call(mock, 1) == 3
        mock.assert_awaited_with(1)
    failing = MagicMock(side_effect=[TimeoutError(), 5])
    assert policy(failing)() == 5


class Remote:
    """Answers any attribute with another of its kind, as stubs of remote objects do."""

    def __init__(self, path: str = "") -> None:
        self.path = path

    def __getattr__(self, name: str) -> Remote:
        return Remote(f"{self.path}.{name}")

    def __call__(self, *args: object) -> tuple[object, ...]:
        return (self.path, *args)


class Failing:
    """Fails for whatever it does not have."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __call__(self, *args: object) -> tuple[object, ...]:
        return ("called", *args)


def test_stubs_of_remote_functions_can_be_guarded() -> None:
    """They have no code to look at, though they may seem to."""
    policy = make()
    assert policy.call(Remote().api.add, 1) == (".api.add", 1)
    assert policy(Remote().api.add)(1) == (".api.add", 1)
    assert policy.call(Failing(), 1) == ("called", 1)
    assert policy(Failing())(1) == ("called", 1)
    limited = Policy(
        attempt_timeout=settings.AttemptTimeout(
            total=5.0, sync="cooperative", argument="timeout"
        )
    )
    assert limited.call(lambda **given: sorted(given)) == ["timeout"]
    with ServerProxy("http://127.0.0.1:9") as proxy, pytest.raises(OSError):
        make().call(proxy.add, 1)


def test_an_odd_call_in_a_loop_leaves_nothing(recwarn: Any) -> None:
    """A guarded plain mock makes no coroutine that nobody awaits."""

    async def main() -> None:
        policy = make()
        assert policy.call(MagicMock(return_value=1)) == 1

    asyncio.run(main())
    gc.collect()
    assert [str(w.message) for w in recwarn if "never awaited" in str(w.message)] == []
