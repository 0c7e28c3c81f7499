"""RQ-05: every key that a script touches is given to it, and all are in one hash slot.

asynq #1086, work PR 49.
"""

from __future__ import annotations

import re

import pytest

from policyctl.runtime.queues.redis_lua import KEYS
from policyctl.runtime.queues.redis_scripts import SCRIPTS
from policyctl.runtime.queues.redis_store import RedisStore
from policyctl.runtime.queues.settings import QueueSettings, Redis
from policyctl.runtime.stores.redis import RedisServer

CALL = re.compile(r"redis\.p?call\(\s*'(\w+)'\s*(?:,\s*([^,)]+))?")


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_first_operand_is_a_declared_key(name: str) -> None:
    """No script builds the name of a key."""
    found = CALL.findall(SCRIPTS[name].script.text)
    assert found
    for command, operand in found:
        if command == "TIME":
            continue
        number = re.fullmatch(r"KEYS\[(\d+)\]", operand.strip())
        assert number is not None, (command, operand)
        assert 1 <= int(number[1]) <= len(SCRIPTS[name].keys)


def test_all_keys_share_a_hash_slot() -> None:
    """What is in braces is all that a cluster hashes, and it is the queue's key."""
    settings = QueueSettings(store=Redis(key="a:b", url_env="X"), max_size=1)
    store = RedisStore(RedisServer("X"), "a:b", ("s", "q"), settings)
    keys = {key for _, names in store._scripts.values() for key in names}
    assert {key.partition("}")[0] for key in keys} == {"{a:b"}
    assert len(keys) == len(KEYS)
