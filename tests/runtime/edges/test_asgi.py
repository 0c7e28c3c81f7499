"""Inbound protection of ASGI applications (C28, TD-10)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import httpx
import pytest

from policyctl.runtime import settings
from policyctl.runtime.budget import budget, detached_budget, remaining_budget
from policyctl.runtime.errors import PolicyConfigError
from policyctl.runtime.inbound import Inbound
from policyctl.testing import FakeClock, fake_clock

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

HEADER = settings.BudgetHeader(name="X-Timeout-Budget")
BUDGET = settings.InboundBudget(default=10.0, max=30.0, header=HEADER)


@pytest.fixture
def clock() -> Any:
    """A fake clock in force."""
    with fake_clock() as found:
        yield found


class App:
    """Answers with the budget that it sees; may wait at a gate."""

    def __init__(self) -> None:
        self.seen: list[float | None] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.inside = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.seen.append(remaining_budget())
        self.inside += 1
        try:
            await self.gate.wait()
        finally:
            self.inside -= 1
        body = str(remaining_budget()).encode()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})


def client(app: Any) -> httpx.AsyncClient:
    """A client of an application in this process."""
    transport = httpx.ASGITransport(app=app)
    return httpx.AsyncClient(transport=transport, base_url="http://server")


@pytest.mark.parametrize(
    ("values", "seen", "outcome"),
    [
        ([], 10.0, "absent"),
        (["5"], 5.0, "taken"),
        (["3600"], 30.0, "clamped"),
        (["nan"], 10.0, "ignored"),
        (["inf"], 10.0, "ignored"),
        ([""], 10.0, "ignored"),
        (["abc"], 10.0, "ignored"),
        (["1" * 40], 10.0, "ignored"),
        (["5", "6"], 10.0, "ignored"),
        (["5", "5"], 10.0, "ignored"),
    ],
)
async def test_the_endpoint_sees_what_the_header_grants(
    clock: FakeClock, values: list[str], seen: float, outcome: str
) -> None:
    """Taken, clamped or the default; never unlimited, never a 500; each is counted."""
    app = App()
    inbound = Inbound(service="search", budget=BUDGET)
    headers = [("X-Timeout-Budget", value) for value in values]
    async with client(inbound.asgi(app)) as http:
        response = await http.get("/", headers=headers)
    assert (response.status_code, response.text) == (200, str(seen))
    assert app.seen == [seen]
    counts = inbound.statistics()["budget_header"]
    assert counts == {
        **dict.fromkeys(("absent", "taken", "clamped", "expired", "ignored"), 0),
        outcome: 1,
    }
    assert remaining_budget() is None


@pytest.mark.parametrize("value", ["0", "-5", "-0.0"])
async def test_an_expired_request_is_504_and_reaches_nobody(value: str) -> None:
    """The caller gave up already, so no work is done."""
    app = App()
    inbound = Inbound(budget=BUDGET)
    async with client(inbound.asgi(app)) as http:
        response = await http.get("/", headers={"X-Timeout-Budget": value})
        headers_only = await http.head("/", headers={"X-Timeout-Budget": value})
    assert response.status_code == headers_only.status_code == 504
    assert (bool(response.content), headers_only.content) == (True, b"")
    assert "retry-after" not in response.headers
    assert app.seen == []
    assert inbound.statistics()["refused"]["budget_expired"] == 2


async def test_one_request_never_changes_anothers_limit(clock: FakeClock) -> None:
    """Interleaved requests with different budgets, and those after them."""
    app = App()
    guarded = Inbound(budget=BUDGET).asgi(app)
    app.gate.clear()
    async with client(guarded) as http:
        calls = [
            asyncio.create_task(http.get("/", headers={"x-timeout-budget": str(n)}))
            for n in range(1, 21)
        ]
        while app.inside < 20:
            await asyncio.sleep(0)
        clock.advance(0.5)
        app.gate.set()
        texts = [(await call).text for call in calls]
        assert texts == [str(n - 0.5) for n in range(1, 21)]
        assert (await http.get("/")).text == "10.0"


async def test_without_budget_settings_nothing_is_limited() -> None:
    """The header of a stranger means nothing then."""
    app = App()
    async with client(Inbound().asgi(app)) as http:
        await http.get("/", headers={"X-Timeout-Budget": "5"})
    assert app.seen == [None]


@pytest.mark.timing
async def test_a_full_bulkhead_is_503_with_retry_after() -> None:
    """Two run, one waits in vain, the rest are refused at once."""
    app = App()
    app.gate.clear()
    inbound = Inbound(
        bulkhead=settings.Bulkhead(max_concurrent=2, max_queue=1, max_wait=0.05)
    )
    async with client(inbound.asgi(app)) as http:
        running = [asyncio.create_task(http.get("/")) for _ in range(2)]
        while app.inside < 2:
            await asyncio.sleep(0)
        refused = await asyncio.gather(*(http.get("/") for _ in range(5)))
        assert [r.status_code for r in refused] == [503] * 5
        assert {r.headers["retry-after"] for r in refused} == {"1"}
        assert inbound.statistics()["in_use"] == 2
        app.gate.set()
        assert [(await r).status_code for r in running] == [200, 200]
        assert (await http.get("/")).status_code == 200
    assert inbound.statistics()["refused"]["bulkhead_full"] == 5
    assert inbound.statistics()["in_use"] == 0


async def test_a_request_that_waits_gets_the_next_slot() -> None:
    """First in, first out, within max_wait."""
    app = App()
    app.gate.clear()
    inbound = Inbound(
        bulkhead=settings.Bulkhead(max_concurrent=1, max_queue=5, max_wait=5.0)
    )
    async with client(inbound.asgi(app)) as http:
        calls = [asyncio.create_task(http.get("/")) for _ in range(4)]
        while app.inside < 1:
            await asyncio.sleep(0)
        app.gate.set()
        assert [(await call).status_code for call in calls] == [200] * 4


async def test_waiting_for_a_slot_ends_with_the_budget() -> None:
    """A request whose time runs out in the queue is 504, not 503."""
    app = App()
    app.gate.clear()
    inbound = Inbound(
        bulkhead=settings.Bulkhead(max_concurrent=1, max_queue=5, max_wait=60.0),
        budget=BUDGET,
    )
    async with client(inbound.asgi(app)) as http:
        holder = asyncio.create_task(http.get("/"))
        while app.inside < 1:
            await asyncio.sleep(0)
        late = await http.get("/", headers={"X-Timeout-Budget": "0.05"})
        assert late.status_code == 504
        app.gate.set()
        await holder


@pytest.mark.parametrize("mode", ["observe", "disabled"])
async def test_a_bulkhead_that_does_not_enforce_refuses_nobody(mode: str) -> None:
    """Everybody runs at once, and slots are counted all the same."""
    app = App()
    app.gate.clear()
    inbound = Inbound(
        bulkhead=settings.Bulkhead(max_concurrent=1, mode=mode)  # type: ignore[arg-type]
    )
    async with client(inbound.asgi(app)) as http:
        calls = [asyncio.create_task(http.get("/")) for _ in range(3)]
        while app.inside < 3:
            await asyncio.sleep(0)
        app.gate.set()
        assert [(await call).status_code for call in calls] == [200] * 3
    assert inbound.statistics()["in_use"] == 0


@pytest.mark.parametrize("ending", ["error", "cancel"])
async def test_a_slot_comes_back_however_the_request_ends(ending: str) -> None:
    """Errors of the application and disconnects leak nothing."""
    inbound = Inbound(bulkhead=settings.Bulkhead(max_concurrent=1))

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if ending == "error":
            raise ValueError("broken")
        await asyncio.sleep(60)

    guarded = inbound.asgi(app)
    for _ in range(3):
        scope = {"type": "http", "headers": []}
        task = asyncio.create_task(guarded(scope, None, None))  # type: ignore[arg-type]
        await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises((ValueError, asyncio.CancelledError)):
            await task
    assert inbound.statistics()["in_use"] == 0


@pytest.mark.parametrize("kind", ["websocket", "lifespan"])
async def test_other_scopes_pass_untouched(kind: str) -> None:
    """Neither a slot nor a budget for what has no end in sight."""
    seen: list[Any] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append((scope["type"], remaining_budget(), inbound.statistics()["in_use"]))

    inbound = Inbound(bulkhead=settings.Bulkhead(max_concurrent=1), budget=BUDGET)
    await inbound.asgi(app)({"type": kind, "headers": []}, None, None)  # type: ignore[arg-type]
    assert seen == [(kind, None, 0)]


def in_another_task(app: Any) -> Any:
    """A middleware that runs the application in a task of its own, as some do."""

    async def middleware(scope: Scope, receive: Receive, send: Send) -> None:
        sent: asyncio.Queue[Any] = asyncio.Queue()
        task = asyncio.create_task(app(scope, receive, sent.put))
        for _ in range(2):
            await send(await sent.get())
        await task

    return middleware


@pytest.mark.parametrize("place", ["outside", "inside", "both"])
async def test_middleware_that_starts_tasks_does_not_hide_the_budget(
    clock: FakeClock, place: str
) -> None:
    """TD-10: endpoint and response handling see it; nothing is left behind."""
    responding: list[float | None] = []
    background: list[float | None] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        clock.advance(1.0)
        body = str(remaining_budget()).encode()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})
        background.append(remaining_budget())
        with detached_budget():
            background.append(remaining_budget())

    def noting(inner: Any) -> Any:
        async def middleware(scope: Scope, receive: Receive, send: Send) -> None:
            async def note(message: Any) -> None:
                responding.append(remaining_budget())
                await send(message)

            await inner(scope, receive, note)

        return middleware

    inner = in_another_task(app) if place != "outside" else app
    guarded: Any = Inbound(budget=BUDGET).asgi(noting(inner))
    if place != "inside":
        guarded = in_another_task(guarded)
    async with client(guarded) as http:
        response = await http.get("/", headers={"X-Timeout-Budget": "5"})
    assert response.text == "4.0"
    assert responding == [4.0, 4.0]
    assert background == [4.0, None]
    assert remaining_budget() is None


async def test_a_budget_of_the_server_process_still_bounds(clock: FakeClock) -> None:
    """A header cannot lengthen a scope that is open around the server."""
    app = App()
    async with client(Inbound(budget=BUDGET).asgi(app)) as http:
        with budget(2.0):
            await http.get("/", headers={"X-Timeout-Budget": "25"})
    assert app.seen == [2.0]


async def test_a_rate_limit_is_429_with_retry_after(clock: FakeClock) -> None:
    """Burst, then refusals with the seconds to the next token, then a token again."""
    app = App()
    inbound = Inbound(rate_limit=settings.RateLimit(rate=0.4, burst=2))
    async with client(inbound.asgi(app)) as http:
        answers = [await http.get("/") for _ in range(4)]
        assert [a.status_code for a in answers] == [200, 200, 429, 429]
        assert answers[2].headers["retry-after"] == "3"
        clock.advance(2.5)
        assert (await http.get("/")).status_code == 200
    assert inbound.statistics()["refused"]["rate_limited"] == 2
    assert len(app.seen) == 3


async def test_a_request_waits_for_its_token_within_max_wait(clock: FakeClock) -> None:
    """Under the budget; a budget that is shorter than the wait is refused at once."""
    app = App()
    inbound = Inbound(
        rate_limit=settings.RateLimit(rate=0.5, burst=1, max_wait=5.0), budget=BUDGET
    )
    async with client(inbound.asgi(app)) as http:
        assert [(await http.get("/")).text for _ in range(2)] == ["10.0", "8.0"]
        late = await http.get("/", headers={"X-Timeout-Budget": "1"})
    assert late.status_code == 429
    assert clock.slept == [2.0]


async def test_a_token_of_a_request_that_is_gone_comes_back() -> None:
    """A disconnect while waiting for the token gives it back."""
    app = App()
    inbound = Inbound(rate_limit=settings.RateLimit(rate=0.1, burst=1, max_wait=60.0))
    guarded = inbound.asgi(app)
    async with client(guarded) as http:
        await http.get("/")
    scope = {"type": "http", "headers": []}
    waiting = asyncio.create_task(guarded(scope, None, None))  # type: ignore[arg-type]
    await asyncio.sleep(0.01)
    bucket = inbound._bucket
    assert bucket is not None
    assert bucket.tokens < -0.9
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert bucket.tokens > -0.1


@pytest.mark.parametrize(
    ("blocks", "path"),
    [
        (
            {"bulkhead": settings.Bulkhead(max_concurrent=1, scope="argument:a")},
            r"search\.inbound: inbound\.bulkhead\.scope",
        ),
    ],
)
def test_what_is_not_served_is_refused(blocks: dict[str, Any], path: str) -> None:
    """Nothing is dropped silently."""
    with pytest.raises(PolicyConfigError, match=path):
        Inbound(service="search", **blocks)


def test_overrides_reach_inbound() -> None:
    """SEARCH_INBOUND_BULKHEAD_MAX_CONCURRENT changes the slots at start-up."""
    from policyctl.runtime.overrides import read_environment

    read_environment({"SEARCH_INBOUND_BULKHEAD_MAX_CONCURRENT": "7"})
    try:
        inbound = Inbound(
            service="search", bulkhead=settings.Bulkhead(max_concurrent=2)
        )
    finally:
        read_environment(None)
    assert inbound.settings["bulkhead"].max_concurrent == 7
    assert inbound.statistics()["overrides"] == {
        "SEARCH_INBOUND_BULKHEAD_MAX_CONCURRENT": "7"
    }


def test_a_forked_child_has_all_slots() -> None:
    """Requests of the parent are not inside the child."""
    inbound = Inbound(bulkhead=settings.Bulkhead(max_concurrent=1))
    assert inbound.enter() is None
    assert inbound.enter() is not None
    inbound.after_fork()
    assert inbound.enter() is None
