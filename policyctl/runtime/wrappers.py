"""Wrappers of functions: compiled for their signature, then dressed as the function."""

from __future__ import annotations

from _bisect import bisect_left
from types import FunctionType

from policyctl.runtime import fast, run_sync
from policyctl.runtime.aio import AIO, NO_WHEEL
from policyctl.runtime.budget import DEADLINE
from policyctl.runtime.clock import CLOCK
from policyctl.runtime.errors import PolicyConfigError
from policyctl.runtime.gate import HAS_GIL
from policyctl.runtime.signatures import (
    GENERATORS,
    PACKED,
    PLAIN,
    PREFIX,
    Shape,
    attribute,
    code_of,
    flags_of,
    is_async,
    shape_of,
)
from policyctl.runtime.telemetry.meter import BOUNDS
from policyctl.runtime.templates import Features, source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from policyctl.runtime.gate import Gate
    from policyctl.runtime.policy import Policy

_COPIED = ("__module__", "__name__", "__qualname__", "__doc__", "__type_params__")
_MOST_SOURCES = 4096

_GLOBALS: dict[str, Any] = {
    f"{PREFIX}{name}": value
    for name, value in {
        "aio": AIO,
        "no_wheel": NO_WHEEL,
        "deadline": DEADLINE.get,
        "set_deadline": DEADLINE.set,
        "reset_deadline": DEADLINE.reset,
        "run": run_sync.run,
        "refuse": fast.refuse,
        "failed": fast.failed,
        "judged": fast.judged,
        "judged_sync": fast.judged_sync,
        "leave": fast.leave,
        "plain": PLAIN,
        "type": type,
        "BaseException": BaseException,
        "bisect": bisect_left,
        "bounds": BOUNDS,
    }.items()
}
_GLOBALS["__name__"] = "policyctl.runtime.guarded"
AIO.publish(_GLOBALS, PREFIX)
CLOCK.publish(_GLOBALS, f"{PREFIX}now")

_compiled: dict[str, Callable[..., Any]] = {}


def decorate(policy: Policy, fn: Any) -> Any:
    """The guarded form of ``fn``.

    Raises:
        PolicyConfigError: ``fn`` is nothing that this policy can guard.
    """
    _refuse_what_is_no_function(policy, fn)
    if policy.is_stream:
        wrapper = _make_stream(policy, fn)
    else:
        wrapper = _make(policy, shape_of(fn), is_async(fn), fn)
    _dress(wrapper, fn)
    return wrapper


def packed_call(policy: Policy, asynchronous: bool) -> Callable[..., Any]:
    """The guarded form of ``lambda fn, args, kwargs: fn(*args, **kwargs)``."""
    wrapper: Callable[..., Any] = _make(policy, PACKED, asynchronous, None)
    return wrapper


def _make_stream(policy: Policy, fn: Any) -> Any:
    from policyctl.runtime.stream_wrappers import wrap_generator

    return wrap_generator(policy, fn)


def _make(policy: Policy, shape: Shape, asynchronous: bool, fn: Any) -> Any:
    if policy.hedges is not None and not asynchronous:
        raise _refusal(
            policy,
            "a hedged policy guards a plain function",
            "hedge coroutine functions, or use retry",
        )
    features = features_of(policy, asynchronous)
    text = source(shape, features, packed=fn is None)
    make = _compiled.get(text)
    if make is None:
        if len(_compiled) >= _MOST_SOURCES:
            _compiled.clear()
        make = _compiled[text] = _compile(text)
    limits = policy.wheel_limit, _need(policy, features), policy.budget_total
    first = () if fn is None else (fn,)
    meter = policy.meter
    metered = meter, None if meter is None else meter.fast
    gate = policy.gate
    wrapper = make(*first, policy, gate, 0, *limits, *_window(policy), *metered)
    return _share_count(wrapper, gate)


def _share_count(wrapper: Any, gate: Gate) -> Any:
    """The same function with the gate's count in place of a count of its own."""
    code = wrapper.__code__
    name = f"{PREFIX}count"
    if name not in code.co_freevars:
        return wrapper
    cells = list(wrapper.__closure__)
    cells[code.co_freevars.index(name)] = gate.cell
    shared = FunctionType(
        code,
        wrapper.__globals__,
        wrapper.__name__,
        wrapper.__defaults__,
        tuple(cells),
    )
    shared.__kwdefaults__ = wrapper.__kwdefaults__
    return shared


def _window(policy: Policy) -> tuple[object, float]:
    """The breaker's window, and the seconds over which an attempt is slow."""
    breaker = policy.breaker
    if breaker is None:
        return None, float("inf")
    slow_call = breaker.settings.slow_call
    return breaker.window, float("inf") if slow_call is None else slow_call.after


def _compile(text: str) -> Callable[..., Any]:
    made: dict[str, Any] = {}
    exec(compile(text, "<policyctl guard>", "exec"), _GLOBALS, made)
    make: Callable[..., Any] = made["make"]
    return make


def features_of(policy: Policy, asynchronous: bool) -> Features:
    """What a wrapper for this policy has to do."""
    slow = policy.always_slow or (
        policy.minimum > policy.wheel_limit
        if asynchronous
        else policy.attempt_limit is not None
    )
    features = Features(asynchronous, slow, not HAS_GIL)
    features.timer = asynchronous and policy.wheel_limit != float("inf")
    features.budget = policy.budget_total is not None
    features.inherits = policy.inherits_budget
    breaker = policy.breaker
    features.tallies = breaker is not None and breaker.counts_successes
    features.judges = not asynchronous or policy.classifier.checks_results
    features.judges_plain = policy.classifier.has_result_rules
    features.meters = policy.meter is not None
    features.starts = (
        features.meters
        or features.timer
        or features.budget
        or features.tallies
        or policy.strategies is not None
    )
    return features


def _need(policy: Policy, features: Features) -> float:
    """Seconds of the caller's budget below which a call takes the slow side.

    Without a limit of its own an attempt is cut by whatever budget is open, which is
    why any budget is too short then.
    """
    if features.timer:
        return max(policy.wheel_limit, policy.minimum)
    if features.budget:
        return policy.minimum
    return float("inf")


def _refuse_what_is_no_function(policy: Policy, fn: Any) -> None:
    kind = type(fn).__name__
    if isinstance(fn, (classmethod, staticmethod, property)):
        raise _refusal(
            policy,
            f"a policy cannot decorate a {kind} object",
            f"write @{kind} above the policy, not below it",
        )
    if isinstance(fn, type):
        raise _refusal(
            policy,
            f"a policy cannot decorate the class {fn.__name__}",
            "decorate its methods, or a function that makes it",
        )
    if not callable(fn):
        raise _refusal(policy, f"{fn!r} is not callable", "decorate a function")
    if not policy.is_stream and flags_of(fn) & GENERATORS:
        raise generator_refusal(policy, fn)
    module: dict[str, Any] = attribute(fn, "__globals__") or {}
    if module.get("__name__") == "contextlib" and (
        flags_of(attribute(fn, "__wrapped__")) & GENERATORS
    ):
        raise _refusal(
            policy,
            f"calling the context manager {getattr(fn, '__name__', fn)!r} runs nothing "
            "of it",
            "say kind: stream, and write @contextmanager above the policy, not below it",
        )


def generator_refusal(policy: Policy, fn: Any) -> PolicyConfigError:
    """The error for a generator function where one answer is guarded.

    Calling it runs nothing of its body, so that nothing would be guarded.
    """
    return _refusal(
        policy,
        f"{getattr(fn, '__name__', fn)!r} is a generator function",
        "say kind: stream for operations that are generators",
    )


def _refusal(policy: Policy, message: str, help: str) -> PolicyConfigError:
    return PolicyConfigError(
        message, help=help, service=policy.service, operation=policy.operation
    )


def _dress(wrapper: Any, fn: Any) -> None:
    """Make the wrapper look like ``fn`` to people, frameworks and pickle."""
    for name in _COPIED:
        try:
            setattr(wrapper, name, getattr(fn, name))
        except Exception:
            continue
    lazily = attribute(fn, "__annotate__") if code_of(fn) is not None else None
    if lazily is not None:
        wrapper.__annotate__ = lazily
    elif isinstance(found := attribute(fn, "__annotations__"), dict):
        wrapper.__annotations__ = found
    if code_of(fn) is not None and shape_matches(wrapper, fn):
        wrapper.__defaults__ = fn.__defaults__
        wrapper.__kwdefaults__ = fn.__kwdefaults__
    wrapper.__dict__.update(attribute(fn, "__dict__") or {})
    wrapper.__wrapped__ = fn


def shape_matches(wrapper: Any, fn: Any) -> bool:
    """Whether the wrapper has the parameters of ``fn`` and not just any."""
    ours, theirs = wrapper.__code__, fn.__code__
    return bool(
        ours.co_argcount == theirs.co_argcount
        and ours.co_kwonlyargcount == theirs.co_kwonlyargcount
    )
