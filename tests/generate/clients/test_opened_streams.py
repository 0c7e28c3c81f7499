"""Coroutine functions whose answer is a stream: awaited and iterated under the policy."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from policyctl.generate.build import Built

Package = Callable[[str], Callable[[str], ModuleType]]

CHAT = '''\
from collections.abc import AsyncIterator
from pydantic import BaseModel
from typing import Generic, Literal, TypeVar, overload

T = TypeVar("T")

class Chunk: ...
class Answer(BaseModel): ...

class AsyncStream(Generic[T]):
    def __init__(self, client, items): self.client, self.items = client, items
    def __aiter__(self) -> AsyncIterator[T]: return self
    async def __anext__(self) -> T:
        if not self.items:
            raise StopAsyncIteration
        item = self.items.pop(0)
        if isinstance(item, Exception):
            raise item
        return item
    async def close(self) -> None: self.client.closed += 1

class Stream(Generic[T]):
    def __init__(self, items): self.items = items
    def __iter__(self): return self
    def __next__(self) -> T:
        if not self.items:
            raise StopIteration
        return self.items.pop(0)

def required(fn):
    def wrapped(*args, **kwargs): return fn(*args, **kwargs)
    return wrapped

class AsyncChat:
    closed = 0
    def __init__(self, *answers): self.answers = list(answers)

    @overload
    async def create(self, text: str, *, stream: Literal[False] = False) -> Answer: ...
    @overload
    async def create(self, text: str, *, stream: Literal[True]) -> AsyncStream[Chunk]: ...
    @overload
    async def create(self, text: str, *, stream: bool) -> Answer | AsyncStream[Chunk]: ...
    @required
    async def create(self, text: str, *, stream: bool = False) -> Answer | AsyncStream[Chunk]:
        """Ask."""
        return await self.lines()

    async def lines(self) -> AsyncIterator[bytes]:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return AsyncStream(self, answer)

    async def one(self, text: str) -> Answer: ...

class Chat:
    @overload
    def create(self, text: str, *, stream: Literal[False] = False) -> Answer: ...
    @overload
    def create(self, text: str, *, stream: Literal[True]) -> Stream[Chunk]: ...
    def create(self, text: str, *, stream: bool = False) -> Answer | Stream[Chunk]:
        return Stream([1, 2])

async def follow(topic: str) -> AsyncStream[int]:
    return AsyncStream(AsyncChat(), [topic])
'''
POLICY = """\
version: 1
service: chat_api
target: chat_sdk:AsyncChat
defaults: {kind: stream, bulkhead: {max_concurrent: 2}}
operations:
  create: {idempotent: true, retry: {max_attempts: 3, retry_on: [ConnectionError], backoff: {initial: 1ms, max: 1ms}}}
  lines: {}
  follow: {target: "chat_sdk:follow"}
"""
PLAIN = """\
version: 1
service: plain_chat
target: chat_sdk:Chat
operations:
  create: {kind: stream, bulkhead: {max_concurrent: 2}}
"""


@pytest.fixture(autouse=True)
def sdk(tmp_path: Path) -> Iterator[None]:
    """A library with clients as those of language models have."""
    (tmp_path / "chat_sdk.py").write_text(CHAT)
    sys.path.insert(0, str(tmp_path))
    try:
        yield
    finally:
        sys.path.remove(str(tmp_path))
        sys.modules.pop("chat_sdk", None)


def raw(*answers: object) -> Any:
    """A client that gives these streams or errors, one for each call."""
    import chat_sdk  # type: ignore[import-not-found]

    return chat_sdk.AsyncChat(*answers)


def head(text: str, name: str) -> str:
    """What a module has between ``def`` and the end of a signature, without spaces."""
    _, _, rest = text.partition(f"def {name}(")
    return "".join(rest.partition(":\n")[0].partition(": ...\n")[0].split())


@pytest.mark.parametrize(
    ("policy", "name", "end"),
    [
        (POLICY, "create", "->_typing.AsyncGenerator[_chat_sdk.Chunk,None]"),
        (POLICY, "lines", "->_collections_abc.AsyncIterator[bytes]"),
        (POLICY, "follow", "->_typing.AsyncGenerator[int,None]"),
        (PLAIN, "create", "->_typing.Generator[_chat_sdk.Chunk,None,None]"),
    ],
)
def test_the_overload_that_gives_a_stream(
    policy: str,
    name: str,
    end: str,
    generate: Callable[..., Built],
    tmp_path: Path,
) -> None:
    """Nothing is awaited before the first item, and no other overload is left."""
    built = generate(policy, tmp_path / "acme")
    assert built.diagnostics == ()
    text = next(
        v
        for k, v in built.tree.items()
        if k.name.endswith(("chat_api.py", "plain_chat.py"))
    ).decode()
    assert f"async def {name}" not in text
    assert "overload" not in text
    assert head(text, name).endswith(end), head(text, name)
    if name == "create":
        assert "stream:_typing.Literal[True]" in head(text, name)


def test_an_answer_that_is_no_stream(
    generate: Callable[..., Built], tmp_path: Path
) -> None:
    """A coroutine function with one answer is still no stream."""
    built = generate(POLICY.replace("lines: {}", "one: {}"), tmp_path / "acme")
    assert [d.message for d in built.diagnostics] == [
        "chat_sdk:AsyncChat.one gives one answer, not a stream"
    ]


async def test_opening_is_tried_again(package: Package) -> None:
    """Errors before the first item are retried; the slot is held until the end."""
    api: Any = package(POLICY)("chat_api")
    client = raw(ConnectionError(), [ConnectionError()], [1, 2])
    stream = api.AsyncChat(client).create("a", stream=True)
    assert inspect.isasyncgen(stream)
    assert await anext(stream) == 1
    assert api.create.bulkhead.in_use == 1
    assert client.closed == 1
    assert [item async for item in stream] == [2]
    assert (api.create.bulkhead.in_use, client.closed) == (0, 2)


async def test_leaving_early_closes_the_answer(package: Package) -> None:
    """The library's own stream is closed with the guarded one."""
    api: Any = package(POLICY)("chat_api")
    client = raw([1, 2])
    stream = api.AsyncChat(client).lines()
    assert await anext(stream) == 1
    await stream.aclose()
    assert (api.lines.bulkhead.in_use, client.closed) == (0, 1)


async def test_functions_that_open_a_stream(package: Package) -> None:
    """The same for a function of a module."""
    api: Any = package(POLICY)("chat_api")
    assert [item async for item in api.guarded.follow("x")] == ["x"]


def test_plain_clients(package: Package) -> None:
    """A plain client's stream is a generator."""
    import chat_sdk

    api: Any = package(PLAIN)("plain_chat")
    client = api.Chat(chat_sdk.Chat())
    assert list(client.create("a", stream=True)) == [1, 2]
