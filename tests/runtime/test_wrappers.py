"""RT-01, RT-05, DC-04, DC-07: what decorated functions look like and bind to."""

from __future__ import annotations

import asyncio
import functools
import inspect
import multiprocessing
import os
import pickle
import subprocess
import sys
import typing
import warnings
from collections.abc import Awaitable, Callable, Iterator
from types import MethodType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from policyctl.runtime import settings
from policyctl.runtime.errors import CircuitOpenError, PolicyConfigError
from policyctl.runtime.policy import Policy
from policyctl.runtime.signatures import is_async

NOW = settings.Backoff(initial=0.0, max=0.0)
RETRY = settings.Retry(max_attempts=3, backoff=NOW, retry_on=("ConnectionError",))
POLICY = Policy(
    service="wrappers",
    operation="module",
    retry=RETRY,
    circuit_breaker=settings.CircuitBreaker(),
    bulkhead=settings.Bulkhead(max_concurrent=8),
)


@POLICY
def module_level(
    value: int, /, other: str = "x", *rest: int, flag: bool = False
) -> str:
    """Says what it got."""
    return f"{value} {other} {rest} {flag}"


def _kinds() -> list[Callable[..., Any]]:
    def plain() -> None: ...
    def positional(a: int, /, b: int, *, c: int = 3) -> None: ...
    def stars(*args: int, **kwargs: str) -> None: ...
    def mixed(
        a: int, b: int = 2, *args: int, c: int, d: int = 4, **kw: int
    ) -> None: ...
    def shadows(type: int, fn: int, policy: int, BaseException: int = 1) -> None: ...

    return [plain, positional, stars, mixed, shadows]


@pytest.mark.parametrize("fn", _kinds())
def test_looks_like_the_function(fn: Callable[..., Any]) -> None:
    """DC-07: signature, annotations, names, doc and defaults are the function's."""
    fn.__doc__ = "About."
    fn.marker = 1  # type: ignore[attr-defined]
    wrapper: Any = Policy()(fn)
    assert inspect.signature(wrapper) == inspect.signature(fn)
    assert inspect.signature(wrapper, follow_wrapped=False).parameters.keys() == (
        inspect.signature(fn).parameters.keys()
    )
    assert typing.get_type_hints(wrapper) == typing.get_type_hints(fn)
    for name in ("__name__", "__qualname__", "__module__", "__doc__"):
        assert getattr(wrapper, name) == getattr(fn, name)
    assert wrapper.__defaults__ == fn.__defaults__
    assert wrapper.__kwdefaults__ == fn.__kwdefaults__
    assert wrapper.__wrapped__ is fn
    assert wrapper.marker == 1


def test_arguments_arrive() -> None:
    """Every kind of parameter is passed on as it was given."""
    assert module_level(1) == "1 x () False"
    assert module_level(1, "y", 2, 3, flag=True) == "1 y (2, 3) True"
    with pytest.raises(TypeError, match="module_level"):
        module_level()  # type: ignore[call-arg]


NAMES = st.lists(
    st.from_regex(r"[a-z_]{1,6}", fullmatch=True).filter(
        lambda name: name.isidentifier() and name not in {"None", "True"}
    ),
    unique=True,
    max_size=5,
)


@given(NAMES, st.data())
@hypothesis_settings(max_examples=60, deadline=None)
def test_any_signature_is_reproduced(names: list[str], data: Any) -> None:
    """For random signatures the guarded call returns what the bare call returns."""
    import keyword

    names = [name for name in names if not keyword.iskeyword(name)]
    split = data.draw(st.integers(0, len(names)))
    slash = data.draw(st.booleans()) and split > 0
    parts = [f"{n}=0" for n in names[:split]]
    if slash:
        parts.insert(1, "/")
    parts.append("*" + data.draw(st.sampled_from(["rest_of", "_pc_args"])))
    parts += [f"{n}=1" for n in names[split:]]
    text = f"def f({', '.join(parts)}, **more_of): return sorted(locals().items())"
    space: dict[str, Any] = {}
    exec(text, space)
    bare = space["f"]
    guarded = Policy()(bare)
    positional = [data.draw(st.integers()) for _ in range(data.draw(st.integers(0, 7)))]
    keywords = {
        n: data.draw(st.integers()) for n in names[max(split, len(positional)) :]
    }
    if slash:
        keywords.pop(names[0], None)
    assert guarded(*positional, **keywords) == bare(*positional, **keywords)


def test_pickles_by_reference() -> None:
    """RT-05: a module-level wrapper is found again by its name."""
    module = sys.modules[module_level.__module__]
    assert module.module_level is module_level
    assert pickle.loads(pickle.dumps(module_level)) is module_level


def test_runs_in_a_spawned_process(tmp_path: Any) -> None:
    """RT-05: a process pool maps a wrapper; its errors come back as the policy's."""
    (tmp_path / "guarded_module.py").write_text(
        "from concurrent.futures import ProcessPoolExecutor\n"
        "import multiprocessing\n"
        "from policyctl.runtime.policy import Policy\n"
        "from policyctl.runtime import settings as s\n"
        "from policyctl.runtime.errors import CircuitOpenError\n"
        "policy = Policy(service='pool', operation='one',"
        " circuit_breaker=s.CircuitBreaker(failure_threshold=1))\n"
        "@policy\n"
        "def work(value):\n"
        "    if value < 0: raise OSError(value)\n"
        "    return value * 2\n"
        "if __name__ == '__main__':\n"
        "    import guarded_module as m\n"
        "    context = multiprocessing.get_context('spawn')\n"
        "    with ProcessPoolExecutor(1, mp_context=context) as pool:\n"
        "        print(list(pool.map(m.work, [1, 2])))\n"
        "        for value in (-1, 3):\n"
        "            try: pool.submit(m.work, value).result()\n"
        "            except Exception as e: print(type(e).__name__)\n"
        "    print(m.work(4))\n"
    )
    path = os.pathsep.join([str(tmp_path), os.getcwd()])
    ran = subprocess.run(
        [sys.executable, "guarded_module.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert ran.stdout.split("\n")[:4] == ["[2, 4]", "OSError", "CircuitOpenError", "8"]


class Client:
    """Methods of all kinds."""

    def __init__(self, base: int) -> None:
        self.base = base

    @POLICY
    def add(self, value: int) -> int:
        """Instance method."""
        return self.base + value

    @POLICY
    async def add_later(self, value: int) -> int:
        """Coroutine method."""
        return self.base + value

    @classmethod
    @POLICY
    def make(cls, base: int) -> int:
        """Class method, under the policy's decorator."""
        return cls(base).base

    @staticmethod
    @POLICY
    def double(value: int) -> int:
        """Static method."""
        return value * 2


async def test_methods_bind() -> None:
    """Wrappers are functions, so that methods of all kinds bind as ever."""
    client = Client(10)
    assert client.add(5) == 15
    assert await client.add_later(5) == 15
    assert Client.make(3) == 3
    assert client.double(4) == 8
    assert isinstance(client.add, MethodType)


@pytest.mark.parametrize(
    ("target", "hint"),
    [
        (classmethod(lambda cls: 1), "write @classmethod above"),
        (staticmethod(lambda: 1), "write @staticmethod above"),
        (property(lambda self: 1), "write @property above"),
        (Client, "decorate its methods"),
        (7, "decorate a function"),
    ],
)
def test_what_is_no_function_is_refused(target: Any, hint: str) -> None:
    """A decorator above classmethod is an error at once, with the remedy."""
    with pytest.raises(PolicyConfigError, match=hint):
        POLICY(target)


class AsyncObject:
    """An object whose call is a coroutine function."""

    def __init__(self) -> None:
        self.calls = 0

    async def __call__(self, value: int = 0) -> int:
        """Fails twice."""
        self.calls += 1
        await asyncio.sleep(0)
        if self.calls < 3:
            raise ConnectionError
        return value

    async def method(self, value: int = 0) -> int:
        """As the call."""
        return await self(value)

    def plain(self, value: int = 0) -> Awaitable[int]:
        """A plain method that returns a coroutine."""
        return self(value)


@functools.singledispatch
async def _dispatched(value: object) -> int:
    raise TypeError


def _dispatching(target: AsyncObject) -> Callable[..., Any]:
    @functools.singledispatch
    async def dispatched(value: object) -> int:
        return await target(5)

    return functools.partial(dispatched, 1)


FORMS: list[Callable[[AsyncObject], Callable[..., Any]]] = [
    lambda target: functools.partial(target, 5),
    lambda target: functools.partial(functools.partial(target.method, value=5)),
    lambda target: lambda: target(5),
    lambda target: lambda: target.plain(5),
    lambda target: functools.partial(target.method, 5),
    _dispatching,
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("decorated", [True, False])
async def test_every_form_of_async_is_awaited_through_the_policy(
    form: Callable[[AsyncObject], Callable[..., Any]], decorated: bool
) -> None:
    """RT-01: each fails twice and then succeeds: three entries, the value, no warning."""
    policy = Policy(
        retry=RETRY, circuit_breaker=settings.CircuitBreaker(failure_threshold=9)
    )
    target = AsyncObject()
    fn = form(target)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = policy(fn)() if decorated else policy.call(fn)
        assert await result == 5
    assert target.calls == 3
    assert policy.gate.count == 0


async def test_refused_awaitable_is_closed() -> None:
    """RT-01: what an open circuit refuses to await is closed, without a warning."""
    policy = Policy(circuit_breaker=settings.CircuitBreaker(failure_threshold=1))
    target = AsyncObject()
    pending = policy.call(lambda: target())
    policy.circuit_breaker.force_open()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(CircuitOpenError):
            await pending
    assert target.calls == 0


def test_detection() -> None:
    """Coroutine functions are known beforehand in all the usual wrappings."""
    target = AsyncObject()
    assert is_async(target)
    assert is_async(target.method)
    assert is_async(functools.partial(functools.partial(target.method)))
    assert is_async(POLICY(target.method))
    assert not is_async(target.plain)
    assert not is_async(len)
    assert not is_async(int)
    if sys.version_info >= (3, 12):
        assert is_async(inspect.markcoroutinefunction(lambda: target()))


def test_sync_and_async_twins_count_alike() -> None:
    """DC-04: the same script of errors gives the same counters and transitions."""
    script = [OSError, None, OSError, OSError, ValueError, OSError, None, OSError]

    def steps() -> Iterator[Any]:
        yield from script

    def run(asynchronous: bool) -> list[tuple[str, int]]:
        policy = Policy(
            circuit_breaker=settings.CircuitBreaker(
                failure_threshold=3, record_on=("OSError",), ignore_on=("ValueError",)
            )
        )
        waiting, seen = steps(), []

        def plain() -> None:
            step = next(waiting)
            if step is not None:
                raise step

        async def coroutine() -> None:
            plain()

        for _ in script:
            try:
                if asynchronous:
                    asyncio.run(policy(coroutine)())
                else:
                    policy(plain)()
            except (OSError, ValueError, CircuitOpenError):
                pass
            breaker = policy.circuit_breaker
            seen.append((breaker.state, breaker.failures))
        return seen

    assert run(True) == run(False)
    assert run(True)[-1][0] == "open"


def _child(policy: Policy, send: Any) -> None:
    def work() -> str:
        return "child"

    guarded = policy(work)
    send.send((policy.bulkhead.in_use, guarded(), guarded(), policy.bulkhead.in_use))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork_while_locks_are_held_and_calls_run() -> None:
    """BH-12: the child has free slots and working locks; the parent goes on."""
    policy = Policy(
        circuit_breaker=settings.CircuitBreaker(failure_threshold=2),
        bulkhead=settings.Bulkhead(max_concurrent=2),
        attempt_timeout=settings.AttemptTimeout(total=20.0),
    )
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe()
    breaker = policy.breaker
    assert breaker is not None

    def in_flight() -> None:
        with policy.gate.lock, breaker.lock, policy.workers()._lock:
            child.start()

    child: Any = context.Process(target=_child, args=(policy, send))
    policy.gate.add(2)
    in_flight()
    assert receive.poll(60)
    assert receive.recv() == (0, "child", "child", 0)
    child.join(60)
    assert policy.bulkhead.in_use == 2


def test_asyncio_debug_and_warnings_as_errors(tmp_path: Any) -> None:
    """Guarded calls are clean under -W error, asyncio debug and dev mode."""
    code = (
        "import asyncio\n"
        "from policyctl.runtime.policy import Policy\n"
        "from policyctl.runtime import settings as s\n"
        "p = Policy(retry=s.Retry(max_attempts=2, retry_on=('timeout',),"
        " backoff=s.Backoff(initial=0.0, max=0.0)), budget=s.Budget(total=5.0),"
        " circuit_breaker=s.CircuitBreaker(), bulkhead=s.Bulkhead(max_concurrent=2,"
        " max_wait=1.0), attempt_timeout=s.AttemptTimeout(total=0.02))\n"
        "@p\n"
        "async def f(t): await asyncio.sleep(t)\n"
        "async def main():\n"
        "    r = await asyncio.gather(*(f(t) for t in (0, 9, 0, 9)),"
        " return_exceptions=True)\n"
        "    print([type(x).__name__ for x in r], p.gate.in_use)\n"
        "asyncio.run(main(), debug=True)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        timeout=180,
    )
    names = "['NoneType', 'AttemptTimeoutError', 'NoneType', 'AttemptTimeoutError']"
    assert (ran.stdout, ran.stderr) == (f"{names} 0\n", "")
