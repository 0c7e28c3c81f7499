"""DC-07: a guarded function looks like the bare one to people and frameworks."""

from __future__ import annotations

import inspect
import typing
from decimal import Decimal
from typing import Annotated

import httpx
import typer
from fastapi import Depends, FastAPI, Query
from typer.testing import CliRunner

from policyctl.runtime import settings
from policyctl.runtime.policy import Policy

policy = Policy(
    retry=settings.Retry(),
    circuit_breaker=settings.CircuitBreaker(),
    attempt_timeout=settings.AttemptTimeout(total=5.0),
)


def plain(
    a: int, /, b: str = "x", *rest: Decimal, c: float = 0.5, **more: bytes
) -> str:
    """A docstring."""
    return f"{a} {b} {rest} {c} {more}"


async def coroutine(a: int, *, key: bytes = b"") -> dict[str, Decimal]:
    """Another docstring."""
    return {}


def test_what_inspect_sees() -> None:
    """Signature, names, module, doc, defaults, annotations, kind and attributes."""
    plain.mark = 1  # type: ignore[attr-defined]
    for fn in (plain, coroutine):
        guarded = policy(fn)
        assert guarded is not fn
        assert inspect.signature(guarded) == inspect.signature(fn)
        assert typing.get_type_hints(guarded) == typing.get_type_hints(fn)
        for name in ("__name__", "__qualname__", "__module__", "__doc__"):
            assert getattr(guarded, name) == getattr(fn, name)
        assert guarded.__annotations__ == fn.__annotations__
        assert inspect.unwrap(guarded) is fn
    assert inspect.iscoroutinefunction(policy(coroutine))
    assert not inspect.iscoroutinefunction(policy(plain))
    assert policy(plain).mark == 1  # type: ignore[attr-defined]


def test_defaults_are_the_functions_own() -> None:
    """Calling with and without arguments gives what the bare function gives."""
    guarded = policy(plain)
    assert guarded(1) == plain(1)
    assert guarded(1, "y", Decimal(2), c=1.5, z=b"") == plain(
        1, "y", Decimal(2), c=1.5, z=b""
    )


def test_a_command_line_reads_the_parameters() -> None:
    """typer makes the same command of the guarded function."""
    app = typer.Typer()

    @app.command()
    @policy
    def greet(name: str, count: int = 1) -> None:
        """Say hello."""
        typer.echo(f"hello {name} " * count)

    result = CliRunner().invoke(app, ["Ann", "--count", "2"])
    assert (result.exit_code, result.output) == (0, "hello Ann hello Ann \n")
    assert "Say hello." in CliRunner().invoke(app, ["--help"]).output


@policy
async def page_of(limit: int, tags: Annotated[list[str], Query()]) -> str:
    """What a request asks for."""
    return f"{limit} {tags}"


async def test_a_web_framework_reads_the_parameters() -> None:
    """FastAPI takes a guarded dependency and endpoint as it takes the bare ones."""
    app = FastAPI()

    @app.get("/items")
    @policy
    def items(page: Annotated[str, Depends(page_of)], size: int = 3) -> str:
        return f"{page} {size}"

    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://s") as client:
        good = await client.get("/items?limit=2&tags=a&tags=b")
        bad = await client.get("/items?tags=a")
    assert (good.status_code, good.json()) == (200, "2 ['a', 'b'] 3")
    assert bad.status_code == 422
    assert [error["loc"] for error in bad.json()["detail"]] == [["query", "limit"]]


def test_methods_bind() -> None:
    """Guarded methods, class methods and static methods get what they should."""

    class Client:
        @policy
        def method(self, a: int) -> tuple[object, int]:
            return self, a

        @classmethod
        @policy
        def make(cls, a: int) -> tuple[object, int]:
            return cls, a

        @staticmethod
        @policy
        def static(a: int) -> int:
            return a

    class Special(Client):
        pass

    client = Special()
    assert client.method(1) == (client, 1)
    assert client.make(2) == Special.make(2) == (Special, 2)
    assert client.static(3) == 3
