"""RQ-12: a thread that drops the connections leaves those that others are using.

redis-py #460. A connection that is closed under a thread gives it an error of the client's
inner parts, "I/O operation on closed file", which says nothing of the server.
"""

from __future__ import annotations

import threading
from typing import Any

import pytest

from policyctl.runtime.stores.redis import RedisServer, Script
from policyctl.runtime.stores.redis_quick import QuickConnections, QuickScript

ECHO = Script("return ARGV[1]")


@pytest.mark.parametrize("end", ["reconnect", "close"])
@pytest.mark.parametrize("quick", [False, True])
def test_a_command_under_way_has_its_answer(
    own_valkey: Any, wait_until: Any, end: str, quick: bool
) -> None:
    """The answer comes after the other thread has dropped all connections."""
    server = RedisServer("POLICY_REDIS_URL", timeout=60.0)
    script = QuickScript(QuickConnections(server), ECHO, [], [])

    def echo(text: str) -> Any:
        return script.run([text]) if quick else server.run(ECHO, [], [text])

    assert echo("first") == b"first"
    sent = threading.Event()
    answers: list[Any] = []

    def ask() -> None:
        sent.set()
        answers.append(echo("under way"))

    thread = threading.Thread(target=ask, daemon=True)
    pool = server.client().connection_pool
    own_valkey.freeze(True)
    try:
        thread.start()
        assert sent.wait(60)
        wait_until(lambda: bool(pool._in_use_connections))
        getattr(server, end)()
    finally:
        own_valkey.freeze(False)
    thread.join(60)
    assert answers == [b"under way"]
    assert echo("again") == b"again"
    server.close()
