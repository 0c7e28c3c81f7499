"""Policies as objects: copies, pickles, settings, and what ``call`` accepts."""

from __future__ import annotations

import copy
import functools
import pickle
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.errors import PolicyConfigError
from policyctl.runtime.policy import Policy
from policyctl.runtime.registry import registry


@pytest.fixture
def named() -> Iterator[Policy]:
    """A policy with a name."""
    policy = Policy(
        service="s", operation="object", bulkhead=settings.Bulkhead(max_concurrent=2)
    )
    yield policy
    if "s.object" in registry:
        registry.forget("s.object")


def test_a_copy_is_the_policy_itself(named: Policy) -> None:
    """State is shared by all that a policy guards, so a second one would be wrong."""
    nameless = Policy()
    for policy in (named, nameless):
        assert copy.copy(policy) is policy
        assert copy.deepcopy({"a": [policy]})["a"][0] is policy


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_is_the_name(named: Policy, protocol: int) -> None:
    """It loads as the live policy, and tells where there is none."""
    data = pickle.dumps(named, protocol)
    assert pickle.loads(data) is named
    assert len(data) < 150
    registry.forget("s.object")
    with pytest.raises(PolicyConfigError, match=r"no policy called 's\.object'"):
        pickle.loads(data)


def test_a_nameless_policy_cannot_be_found_again() -> None:
    """So pickling it is refused with the reason."""
    with pytest.raises(TypeError, match="without a name cannot be pickled"):
        pickle.dumps(Policy())


def test_settings_are_read_only(named: Policy) -> None:
    """Changing them would change nothing that is compiled already."""
    found: Any = named.settings
    with pytest.raises(TypeError):
        found["bulkhead"] = None
    with pytest.raises(TypeError):
        del found["bulkhead"]
    with pytest.raises(AttributeError):
        found["bulkhead"].max_concurrent = 3
    assert found["bulkhead"].max_concurrent == 2


def numbers() -> Iterator[int]:
    """A generator function."""
    yield 1


async def later_numbers() -> AsyncIterator[int]:
    """An async generator function."""
    yield 1


class Numbers:
    """Generator methods and a callable that is one."""

    def method(self) -> Iterator[int]:
        """A generator method."""
        yield 1

    def __call__(self) -> Iterator[int]:
        """Another one."""
        yield 1


@pytest.mark.parametrize(
    "fn",
    [
        numbers,
        later_numbers,
        functools.partial(numbers),
        functools.partial(later_numbers),
        Numbers().method,
        Numbers(),
    ],
)
def test_generators_are_refused_by_call_as_by_the_decorator(fn: Any) -> None:
    """Calling one runs nothing of its body, so that nothing would be guarded."""
    policy = Policy(retry=settings.Retry(max_attempts=2, retry_on=("Exception",)))
    texts: list[str] = []
    for use in (policy, policy.call, policy, policy.call):
        with pytest.raises(PolicyConfigError, match="is a generator function") as found:
            use(fn)
        texts.append(str(found.value))
    assert len(set(texts)) == 1
    assert "kind: stream" in texts[0]


def test_streams_are_called_still() -> None:
    """With kind: stream, call gives the guarded generator."""
    policy = Policy(kind="stream")
    assert list(policy.call(numbers)) == [1]
