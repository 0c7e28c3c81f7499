"""Generated clients at run time: what they call, what they look like, what they load."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import AsyncMock, create_autospec

import pytest

Package = Callable[[str], Callable[[str], ModuleType]]


@pytest.fixture
def api(package: Package, texts: dict[str, str]) -> Any:
    """The module of the fixture library's policies."""
    return package(texts["payments"])("payment_api")


@pytest.fixture
def library(sdk: Path) -> Any:
    """The fixture library itself."""
    import payment_sdk  # type: ignore[import-not-found]

    return payment_sdk


async def test_calls_arrive_as_they_were_made(api: Any, library: Any) -> None:
    """Defaults are the library's own: what was not passed is not passed on."""
    raw = library.Client()
    client = api.Client(raw)
    order = library.Order(7, library.Money(1))
    assert await client.charge(order, "4111", note="x") == library.Receipt(7)
    receipt = library.Receipt(1)
    assert client.refund(receipt, 2, 3, a="b") == library.Money(5)
    from payment_sdk._base import MISSING  # type: ignore[import-not-found]

    assert raw.calls == [
        ("charge", (order, "4111", "x")),
        ("refund", (receipt, (2, 3), None, MISSING, {"a": "b"})),
    ]


async def test_each_method_goes_through_its_policy(api: Any, library: Any) -> None:
    """A failure is retried as the operation says, and counted where it belongs."""
    calls = 0

    class Flaky:
        async def charge(self, *args: object) -> str:
            nonlocal calls
            calls += 1
            if calls == 1:
                raise ConnectionError
            return "ok"

    assert await api.Client(Flaky()).charge(1, 2) == "ok"
    assert calls == 2
    raw = library.Client()
    raw.refund = lambda *args: api.refund.bulkhead.in_use
    assert api.Client(raw).refund() == 1
    assert api.refund.bulkhead.in_use == 0


async def test_a_plain_method_whose_answer_is_awaited(api: Any, library: Any) -> None:
    """It is guarded until the answer is there, not until there is an awaitable."""
    import asyncio

    from policyctl.runtime.errors import AttemptTimeoutError

    client = api.Client(library.Client())
    answer = client.later(library.Order(3, library.Money(1)))
    assert inspect.iscoroutine(answer)
    assert await answer == library.Receipt(3)

    class Stuck:
        def later(self) -> Any:
            return asyncio.Event().wait()

    with pytest.raises(AttemptTimeoutError):
        await api.Client(Stuck()).later()


def test_members_look_like_the_librarys(api: Any, library: Any) -> None:
    """Signature, docstring, name and kind, of the instance and of the class."""
    client = api.Client(library.Client())
    raw = library.Client()
    for name in ("charge", "refund", "find", "list", "identity", "untyped"):
        ours, theirs = getattr(client, name), getattr(raw, name)
        assert inspect.signature(ours) == inspect.signature(theirs)
        assert ours.__doc__ == theirs.__doc__
        assert ours.__name__ == name
        of_class = getattr(api.Client, name)
        assert inspect.signature(of_class) == inspect.signature(
            getattr(library.Client, name)
        )
        assert of_class.__doc__ == theirs.__doc__
    assert inspect.iscoroutinefunction(client.charge)
    assert not inspect.iscoroutinefunction(client.refund)
    assert api.Client.find(client, 1) == raw.find(1)
    assert repr(client).startswith("<guarded <payment_sdk.client.Client object")


def test_methods_that_need_no_instance(api: Any, library: Any) -> None:
    """Static methods and those of the class are there on both."""
    made = api.Client.from_env("X")
    assert type(made) is library.Client
    assert made.key == "X"
    client = api.Client(made)
    assert type(client.from_env()) is library.Client
    assert api.Client.parse("11") == client.parse("11") == 11
    assert client.parse("11", base=2) == 3


async def test_properties_and_contexts_are_passed_through(
    api: Any, library: Any
) -> None:
    """They are the real client's; entering gives the guarded one."""
    raw = library.Client()
    client = api.Client(raw)
    assert client.closed is False
    client.closed = True
    assert raw.closed is True
    raw.closed = False
    with client as entered:
        assert entered is client
    assert raw.closed is True
    async with client as entered:
        assert entered is client
    assert [name for name, _ in raw.calls] == ["enter", "aenter"]
    with pytest.raises(LookupError):
        client.total


async def test_mocks_are_guarded_like_clients(api: Any, library: Any) -> None:
    """What the object itself has decides, whatever made it."""
    raw = create_autospec(library.Client, instance=True)
    raw.charge = AsyncMock(return_value=5)
    client = api.Client(raw)
    assert await client.charge(1, "x") == 5
    raw.charge.assert_awaited_once_with(1, "x")
    assert client.find(1) is raw.find.return_value


def test_functions(api: Any, library: Any) -> None:
    """Guarded functions are imported when they are first used."""
    order = library.Order(1, library.Money(9))
    assert api.guarded.price(order, speed="fast") == library.Money(9)
    assert api.guarded.price is not library.client.quote
    assert inspect.iscoroutinefunction(api.guarded.price_later)
    assert api.guarded.price.__doc__ == "The price of an order."


def test_a_guarded_method_is_made_once(api: Any, library: Any) -> None:
    """Per client it is one object; clients of one class share what guards."""
    first, second = (api.Client(library.Client()) for _ in range(2))
    assert first.find is first.find
    assert first.find.__func__ is second.find.__func__


def test_importing_loads_no_library(
    package: Package, texts: dict[str, str], tmp_path: Path, sdk: Path
) -> None:
    """A generated module, and making a client, load nothing of the target's."""
    package(texts["payments"])
    code = (
        f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(sdk)!r}]\n"
        "from acme import payment_api\n"
        "payment_api.Client(object())\n"
        "assert not [m for m in sys.modules if m.startswith('payment_sdk')]\n"
        "payment_api.Client.parse('1')\n"
        "assert 'payment_sdk.client' in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=180)
    assert done.returncode == 0


def test_without_the_library_there_is_still_a_client(
    package: Package, texts: dict[str, str]
) -> None:
    """Only what has to import it fails, with the name that is wrong."""
    from policyctl.runtime.errors import PolicyConfigError

    api = package(texts["payments"])("payment_api")
    members = vars(api.Client)
    members["parse"].target = "no_such_sdk:Client"
    members["find"].target = "no_such_sdk:Client"
    with pytest.raises(PolicyConfigError, match=r"no_such_sdk:Client\.parse"):
        api.Client.parse("1")
    assert api.Client.find.__name__ == "find"
    assert api.Client(_Finder()).find(1) == 1


class _Finder:
    def find(self, key: int) -> int:
        """The key."""
        return key
