"""mypy and pyright, both strict, see a client's own types and every wrong call."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from policyctl.generate.build import Built

ROOT = Path(__file__).parents[3]
SDK = Path(__file__).parent / "sdk"

USES = '''\
"""Uses of generated clients; every line with a mark is an error."""

import re
from collections.abc import Awaitable
from typing import assert_type

import httpx
import payment_sdk
import wire_sdk
from payment_sdk import DeclinedError, Money, Order, Receipt
from payment_sdk._models import Page
from payment_sdk.generic import Store

from acme import cache_api, http_api, payment_api, store_api, stream_api


async def payments(raw: payment_sdk.Client, order: Order) -> None:
    client = payment_api.Client(raw)
    assert_type(client.unguarded, payment_sdk.Client)
    assert_type(await client.charge(order, "4111", note="x"), Receipt)
    await client.charge(order=order, card="4111")  # ERROR
    await client.charge(order, "4111", "x")  # ERROR
    await client.charge("order", "4111")  # ERROR
    await client.charge(order, "4111", note=None)  # ERROR
    await client.charge(order)  # ERROR
    assert_type(client.refund(Receipt(1), 1, 2, reason=None, a="b"), Money)
    client.refund(Receipt(1), "1")  # ERROR
    client.refund(Receipt(1), a=1)  # ERROR
    await client.refund(Receipt(1))  # ERROR
    assert_type(client.find(1), Order)
    assert_type(client.find("1", many=True), list[Order])
    client.find(1, many=True)  # ERROR
    client.find(b"1")  # ERROR
    client.list("quick")  # ERROR
    assert_type(client.list("fast"), list[Order])
    assert_type(client.after_list([1]), dict[str, list[int]])
    client.after_list(["1"])  # ERROR
    assert_type(client.later(order), Awaitable[Receipt])
    assert_type(client.fails(payment_sdk.Client.Error), payment_sdk.Client.Error)
    client.fails(DeclinedError)  # ERROR
    assert_type(client.search(tenant="x", limit=1), Page[Order])
    client.search(tenant=1)  # ERROR
    client.search(tenat="x")  # ERROR
    assert_type(client.identity("x", "y"), str)
    assert_type(payment_api.Client.from_env(), payment_sdk.Client)
    assert_type(payment_api.Client.parse("1"), int)
    payment_api.Client.parse(1)  # ERROR
    assert_type(client.newer(1), int)
    client.newer("1")  # ERROR
    assert_type(client.last(), Receipt)
    assert_type(client.history(), list[Receipt])
    assert_type(client.configured(retries=1), payment_sdk.Client)
    assert_type(client.measure("fast"), float)
    assert_type(client.describe(deep=True), str)
    client.describe(1.5)  # ERROR
    assert_type(client.closed, bool)
    client.closed = True
    client.closed = "x"  # ERROR
    assert_type(client.total, Money)
    client.total = Money(1)  # ERROR
    client.unguarded = raw  # ERROR
    client.stream(1)  # ERROR
    payment_api.Client(order)  # ERROR
    with client as same:
        assert_type(same, payment_api.Client)
    async with client as again:
        assert_type(again, payment_api.Client)
    assert_type(payment_api.guarded.price(order, speed="fast"), Money)
    payment_api.guarded.price(order, "fast")  # ERROR
    assert_type(await payment_api.guarded.price_later(order), Money)


async def streams(raw: payment_sdk.Client) -> None:
    client = stream_api.Client(raw)
    async for receipt in client.stream(2):
        assert_type(receipt, Receipt)
    async for receipt in client.updates(2):
        assert_type(receipt, Receipt)
    for number in client.numbers(2):
        assert_type(number, int)
    with client.session("x") as entered:
        assert_type(entered, payment_sdk.Client)
    async with client.transaction() as entered:
        assert_type(entered, payment_sdk.Client)
    async with client.lock("x") as entered:
        assert_type(entered, payment_sdk.Client)
    client.session()  # ERROR
    client.transaction(1)  # ERROR
    await client.stream(2)  # ERROR


def stores(raw: Store[Order], receipts: Store[Receipt], order: Order) -> None:
    client = store_api.Store(raw)
    assert_type(client, store_api.Store[Order])
    assert_type(client.add(order), Store[Order])
    client.add(Receipt(1))  # ERROR
    assert_type(client.first(1), Order | int)
    assert_type(client.total(), int)
    client.total("EUR")  # ERROR
    assert_type(store_api.Store(receipts).total("EUR"), str)
    assert_type(client.get("x"), bytes)
    wire = store_api.Wire(wire_sdk.Wire())
    assert_type(wire.send(b"x"), int)
    assert_type(wire.send("x", retries=1), float)
    wire.send(1)  # ERROR


async def http(raw: httpx.AsyncClient) -> None:
    async with http_api.AsyncClient(raw) as client:
        response = await client.get("https://x.example", params={"a": 1}, timeout=None)
        assert_type(response, httpx.Response)
        assert_type(client.headers, httpx.Headers)
        client.headers = {"a": "b"}
        client.headers = 1  # ERROR
        await client.get()  # ERROR
        await client.get("x", json={})  # ERROR
        await client.get("x", follow_redirects="yes")  # ERROR
        await client.request("GET", "x", json={})
        await client.request("GET")  # ERROR
        await client.post("x")  # ERROR


async def cache() -> None:
    client = cache_api.Redis(cache_api.Redis.from_url("redis://x", db=1))
    assert_type(await client.get("a"), bytes | str | None)
    await client.set("a", "b", ex=5, nx=True)
    assert_type(await client.hgetall("a"), dict[bytes | str, bytes | str])
    await client.set("a")  # ERROR
    await client.set("a", re)  # ERROR
    await client.get("a", "b")  # ERROR
    await client.set("a", "b", ex="soon")  # ERROR
    client.get("a").upper()  # ERROR
'''
ERRORS = [n for n, text in enumerate(USES.splitlines(), 1) if text.endswith("# ERROR")]


@pytest.fixture(scope="module")
def project(
    tmp_path_factory: pytest.TempPathFactory,
    generate: Callable[..., Built],
    texts: dict[str, str],
) -> Path:
    """A folder with the package ``acme``, and a module that uses it."""
    folder = tmp_path_factory.mktemp("clients")
    sys.path.insert(0, str(SDK))
    try:
        text = f"{texts['payments']}---\n{texts['others']}---\n{texts['streams']}"
        assert generate(text, folder / "acme").diagnostics == ()
    finally:
        sys.path.remove(str(SDK))
    (folder / "uses.py").write_text(USES, encoding="utf-8")
    (folder / "pyrightconfig.json").write_text(
        f'{{"typeCheckingMode": "strict", "extraPaths": ["{ROOT}", "{SDK}"]}}'
    )
    return folder


def run(*command: str, folder: Path) -> str:
    """What a checker prints."""
    path = os.pathsep.join((str(ROOT), str(SDK)))
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        env={**os.environ, "MYPYPATH": path},
    )
    return done.stdout + done.stderr


def lines_of(output: str) -> list[int]:
    """The lines of ``uses.py`` with an error; nothing else may have one."""
    found: set[int] = set()
    for line in output.splitlines():
        if ": error" in line or " - error" in line:
            place = line.strip().split("uses.py:")
            assert len(place) == 2, line
            found.add(int(place[1].split(":")[0]))
    return sorted(found)


def test_mypy_strict(project: Path) -> None:
    """mypy accepts the package and every right use, and finds every wrong one."""
    output = run(
        "mypy", "--strict", "--no-error-summary", "acme", "uses.py", folder=project
    )
    assert lines_of(output) == ERRORS, output


def test_pyright_strict(project: Path) -> None:
    """pyright agrees."""
    output = run("pyright", "--pythonpath", sys.executable, folder=project)
    assert lines_of(output) == ERRORS, output
