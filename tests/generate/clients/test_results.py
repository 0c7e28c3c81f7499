"""Results of a library's own classes: awaited, entered or iterated under the policy."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from policyctl.generate.build import Built

Package = Callable[[str], Callable[[str], ModuleType]]

RIDES = '''\
from typing import Any, AsyncIterator, Generator, Generic, Iterator, Self, TypeVar

T = TypeVar("T")
I = TypeVar("I")

class Response: ...

class _Request(Generic[T]):
    """Sent when it is awaited or entered."""
    def __init__(self, value): self.value = value
    def __await__(self) -> Generator[Any, None, T]:
        if self.value == "down":
            raise ConnectionError("down")
        return self.value
        yield
    async def __aenter__(self) -> T: return self.value
    async def __aexit__(self, *error: object) -> None: self.value = "closed"

_Sent = _Request[Response]
_Kept = _Request[list[I]]

class Pages(Generic[I]):
    def __init__(self, items): self.items = items
    def __iter__(self) -> Self: return self
    def __next__(self) -> I: return self.items.pop()
    def __enter__(self) -> Self: return self
    def __exit__(self, *error: object) -> None: self.items.append("left")

class Feed:
    def __aiter__(self) -> AsyncIterator[int]: return self.items()
    async def items(self):
        for item in (1, 2):
            yield item

class Session:
    def __enter__(self) -> Self: return self
    def __exit__(self, *error: object) -> None: self.closed = True

class Client:
    made = None
    def __await__(self): return self.connect().__await__()
    @classmethod
    def from_url(cls, url: str) -> "Client": return cls()
    def get(self, url: str) -> _Sent: return _Request(url)
    def post(self, url: str) -> "_Sent": return _Request(url)
    def all(self, url: str) -> _Kept[int]: return _Request([1])
    def pages(self) -> Pages[str]: return Pages(["a", "b"])
    def first(self) -> Pages[str]: return Pages(["a"])
    def feed(self) -> Feed: return Feed()
    def session(self) -> Session:
        self.made = Session()
        return self.made
'''
POLICY = """\
version: 1
service: rides
target: ride_sdk:Client
operations:
  from_url: {}
  get: {circuit_breaker: {failure_threshold: 1, minimum_calls: 1, record_on: [ConnectionError]}}
  post: {kind: stream}
  all: {}
  pages: {kind: stream}
  first: {}
  feed: {kind: stream}
  session: {kind: stream}
"""


@pytest.fixture
def rides(package: Package, tmp_path: Path) -> Iterator[ModuleType]:
    """The generated module of the library above."""
    (tmp_path / "ride_sdk.py").write_text(RIDES)
    sys.path.insert(0, str(tmp_path))
    try:
        yield package(POLICY)("rides")
    finally:
        sys.path.remove(str(tmp_path))
        sys.modules.pop("ride_sdk", None)


def test_types_say_what_a_caller_gets(
    generate: Callable[..., Built], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was used up under the policy is not promised to the caller."""
    (tmp_path / "ride_sdk.py").write_text(RIDES)
    monkeypatch.syspath_prepend(str(tmp_path))
    built = generate(POLICY, tmp_path / "acme")
    assert built.diagnostics == ()
    text = next(v for k, v in built.tree.items() if k.name == "rides.py").decode()
    heads = ["".join(part.split(":\n")[0].split()) for part in text.split("def ")]
    found = {h.partition("(")[0]: h.partition("->")[2] for h in heads if "->" in h}
    assert {name: value.partition(":")[0] for name, value in found.items()} == {
        "__init__": "None",
        "from_url": "_ride_sdk.Client",
        "get": "_typing.Coroutine[_typing.Any,_typing.Any,_ride_sdk.Response]",
        "post": "_contextlib.AbstractAsyncContextManager[_ride_sdk.Response]",
        "all": "_typing.Coroutine[_typing.Any,_typing.Any,list[int]]",
        "pages": "_typing.Generator[str,None,None]",
        "first": "_ride_sdk.Pages[str]",
        "feed": "_typing.AsyncGenerator[int,None]",
        "session": "_contextlib.AbstractContextManager[_ride_sdk.Session]",
    }
    assert "import contextlib as _contextlib" in text


def test_awaiting_runs_under_the_policy(rides: ModuleType) -> None:
    """A request that is sent when awaited counts when it fails there."""
    ride_sdk = import_module("ride_sdk")

    client = rides.Client(ride_sdk.Client())
    assert asyncio.run(client.get("x")) == "x"
    with pytest.raises(ConnectionError):
        asyncio.run(client.get("down"))
    assert rides.get.circuit_breaker.state == "open"


def test_streams_and_managers(rides: ModuleType) -> None:
    """Objects are iterated and entered as their methods say."""
    ride_sdk = import_module("ride_sdk")

    raw = ride_sdk.Client()
    client = rides.Client(raw)

    async def drive() -> tuple[str, list[int]]:
        async with client.post("y") as answer:
            return answer, [item async for item in client.feed()]

    assert asyncio.run(drive()) == ("y", [1, 2])
    pages = client.pages()
    assert (next(pages), next(pages)) == ("b", "a")
    pages.close()
    assert type(client.first()) is ride_sdk.Pages
    with client.session() as session:
        assert session is raw.made
    assert session.closed
