"""Streams and context managers of generated clients."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

Package = Callable[[str], Callable[[str], ModuleType]]


@pytest.fixture
def api(package: Package, texts: dict[str, str]) -> Any:
    """The module of the streams' policies."""
    return package(texts["streams"])("stream_api")


@pytest.fixture
def raw(sdk: Path) -> Any:
    """A real client."""
    import payment_sdk  # type: ignore[import-not-found]

    return payment_sdk.Client()


def test_the_module_says_that_they_are_streams(api: Any) -> None:
    """The policy is built for streams, and the docstring says so."""
    assert api.stream.settings["kind"] == "stream"
    assert "stream:\n    a stream, not known to be idempotent" in api.__doc__


@pytest.mark.parametrize("name", ["numbers", "pages"])
def test_a_plain_stream(api: Any, raw: Any, name: str) -> None:
    """A slot is held from the first item until the end."""
    client = api.Client(raw)
    policy = getattr(api, name)
    items = getattr(client, name)(3)
    assert policy.bulkhead.in_use == 0
    assert next(items) == 0
    assert policy.bulkhead.in_use == 1
    assert list(items) == [1, 2]
    assert policy.bulkhead.in_use == 0


@pytest.mark.parametrize("name", ["stream", "updates"])
async def test_an_async_stream(api: Any, raw: Any, name: str) -> None:
    """Leaving early gives the slot back, as soon as the stream is closed."""
    client = api.Client(raw)
    policy = getattr(api, name)
    stream = getattr(client, name)(3)
    assert (await anext(stream)).id == 0
    assert policy.bulkhead.in_use == 1
    await stream.aclose()
    assert policy.bulkhead.in_use == 0
    assert [receipt.id async for receipt in getattr(client, name)(2)] == [0, 1]


def test_a_context_manager(api: Any, raw: Any) -> None:
    """The body runs inside; an error in it ends the session and comes out."""
    client = api.Client(raw)
    with client.session("a") as entered:
        assert entered is raw
        assert api.session.bulkhead.in_use == 1
        assert raw.calls == [("begin", "a")]
    assert raw.calls == [("begin", "a"), ("end", "a")]
    assert api.session.bulkhead.in_use == 0
    with pytest.raises(KeyError), client.session("b"):
        raise KeyError
    assert raw.calls[2:] == [("begin", "b"), ("end", "b")]
    assert api.session.bulkhead.in_use == 0
    assert inspect.signature(client.session) == inspect.signature(raw.session)


@pytest.mark.parametrize("name", ["transaction", "lock"])
async def test_an_async_context_manager(api: Any, raw: Any, name: str) -> None:
    """The same, awaited; by a decorator or from a plain function."""
    client = api.Client(raw)
    policy = getattr(api, name)
    async with getattr(client, name)("a") as entered:
        assert entered is raw
        assert policy.bulkhead.in_use == 1
    assert raw.calls == [("begin", "a"), ("end", "a")]
    with pytest.raises(KeyError):
        async with getattr(client, name)("b"):
            raise KeyError
    assert raw.calls[2:] == [("begin", "b"), ("end", "b")]
    assert policy.bulkhead.in_use == 0
