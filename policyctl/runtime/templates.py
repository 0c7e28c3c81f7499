"""The source of compiled wrappers.

A wrapper has the parameters of the function that it guards, so that nothing is packed
and unpacked, and only those lines that its policy needs. What is unusual leaves at once
for the slow side: a budget that is shorter than the limit, a gate that is full or
flagged, an exception, a result that has to be judged.

The lines that change the gate's count have no call in them; see ``gate``. What belongs
together shares a line also because the compiler fuses instructions of one line only.
"""

from __future__ import annotations

from policyctl.runtime.clock import CLOCK_ID
from policyctl.runtime.gate import UNUSUAL
from policyctl.runtime.telemetry.meter import BOUNDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from policyctl.runtime.signatures import Shape

CLOSURE = (
    *("fn", "policy", "gate", "count", "limit", "need", "total", "window", "slow"),
    *("meter", "counts"),
)
"""What ``make`` takes, in this order, each under the prefix of wrappers; other names
are globals of the compiled source."""


class Features:
    """What a wrapper has to do; one source for each combination.

    Attributes:
        is_async: whether the function is a coroutine function.
        timer: whether an attempt's limit is kept by the wheel.
        budget: whether the policy has a budget of its own.
        inherits: whether a shorter one of the caller goes before.
        starts: whether somebody will ask when the attempt began.
        tallies: whether the breaker counts every success.
        judges: whether results other than plain built-in ones are looked at.
        judges_plain: whether plain ones are too, since a predicate may mind them.
        meters: whether calls are counted and timed.
        locks: whether the gate needs its lock (builds without the GIL).
        slow: whether every call takes the slow side.
    """

    __slots__ = (
        "budget",
        "inherits",
        "is_async",
        "judges",
        "judges_plain",
        "locks",
        "meters",
        "slow",
        "starts",
        "tallies",
        "timer",
    )

    def __init__(self, is_async: bool, slow: bool, locks: bool) -> None:
        self.is_async = is_async
        self.slow = slow
        self.locks = locks
        self.timer = self.budget = self.inherits = False
        self.meters = self.starts = self.tallies = self.judges = self.judges_plain = (
            False
        )


def source(shape: Shape, features: Features, packed: bool) -> str:
    """The source of ``make(...)``, which returns the wrapper.

    Args:
        shape: the wrapper's parameters.
        features: what it does.
        packed: whether the function itself is the first parameter.
    """
    names = CLOSURE[1:] if packed else CLOSURE
    head = "async def" if features.is_async else "def"
    lines = [
        f"def make({', '.join('_pc_' + name for name in names)}):",
        f"  {head} guarded({shape.parameters}):",
    ]
    if not features.slow:
        shared = "nonlocal _pc_count"
        if features.timer:
            lines.insert(1, "  _pc_wheel = _pc_no_wheel")
            shared += ", _pc_wheel"
        lines.append("    " + shared)
    body = _slow(shape, features) if features.slow else _fast(shape, features)
    lines += ["    " + line for line in body]
    lines.append("  return guarded")
    return "\n".join(lines) + "\n"


def _run(shape: Shape, features: Features, more: str = "") -> str:
    run = "await _pc_aio.run" if features.is_async else "_pc_run"
    packed = f"_pc_policy, _pc_fn, {shape.positional}, {shape.keywords}"
    return f"return {run}({packed}{more})"


def _slow(shape: Shape, features: Features) -> list[str]:
    return [_run(shape, features)]


def _fast(shape: Shape, features: Features) -> list[str]:
    slow = _run(shape, features)
    call = f"_pc_fn({shape.forward})"
    return [
        *_check_deadline(slow, features),
        *(_find_task(slow) if features.timer else ()),
        *_enter(slow, features),
        *_arm(features),
        "try:",
        *_call(call, features),
        "except _pc_BaseException as _pc_caught:",
        *_failed(features),
        "  if _pc_attempt is None: raise",
        "else:",
        *_returned(features),
        "try:",
        "  " + _run(shape, features, f", _pc_attempt, {_start(features)}"),
        "finally:",
        "  _pc_attempt = None",
    ]


def _start(features: Features) -> str:
    return "_pc_start" if features.starts else "None"


def _check_deadline(slow: str, features: Features) -> list[str]:
    lines = [f"_pc_start = {_NOW}"] if features.starts else []
    if features.timer:
        lines[0] += "; _pc_due = _pc_start + _pc_limit"
    if features.budget:
        lines.append("_pc_outer = _pc_deadline()")
    if features.budget and features.inherits:
        left = "(_pc_left := _pc_outer - _pc_start)"
        return [*lines, f"if {left} < _pc_need: {slow}"]
    if features.budget:
        return lines
    if features.timer:
        return [*lines, "if _pc_deadline() < _pc_due: " + slow]
    return [*lines, "if _pc_deadline() < _pc_need: " + slow]


def _find_task(slow: str) -> list[str]:
    # The shared name may be another thread's wheel a moment later, hence a local.
    find = "_pc_mine = _pc_wheel = _pc_aio.find_wheel(_pc_running_loop(), _pc_limit)"
    return [
        f"if (_pc_mine := _pc_wheel).loop is not _pc_running_loop(): {find}",
        f"if (_pc_task := _pc_current_task()).cancelling(): {slow}",
        "if _pc_mine.free is None: _pc_mine.more()",
    ]


_NOW = f"_pc_now({CLOCK_ID})"
_TAKE_PLACE = (
    "_pc_place = _pc_mine.free; _pc_mine.free = _pc_place.next"
    "; _pc_place.task = _pc_task; _pc_place.due = _pc_due"
)
_LEAVE_PLACE = (
    "_pc_place.task = None; _pc_place.next = _pc_mine.free; _pc_mine.free = _pc_place"
)
_PASS_IN = (
    "if _pc_count < _pc_gate.limit: _pc_count += 1; _pc_episode = _pc_gate.episode"
)
_PASS_OUT = f"if _pc_count < {UNUSUAL}: _pc_count -= 1"

_COUNT_OUT = (
    f"if _pc_count < {UNUSUAL} and _pc_episode == _pc_gate.episode"
    " and _pc_end < _pc_window.until and _pc_end - _pc_start <= _pc_slow"
    " and (_pc_fresh := _pc_window.fresh) < _pc_window.room: "
    "_pc_count -= 1; _pc_window.fresh = _pc_fresh + 1"
)


def _enter(slow: str, features: Features) -> list[str]:
    # The frame drops the error that it raises, or the two would keep each other alive.
    refuse = (
        f"  if (_pc_refusal := _pc_refuse(_pc_policy, {_start(features)})) is not None:",
        "    try: raise _pc_refusal",
        "    finally: _pc_refusal = None",
    )
    if not features.locks:
        return [_PASS_IN, "else:", *refuse, "  " + slow]
    return [
        "_pc_gate.lock.acquire()",
        _PASS_IN + "; _pc_gate.lock.release()",
        "else:",
        "  _pc_gate.lock.release()",
        *refuse,
        "  " + slow,
    ]


def _leave(features: Features) -> list[str]:
    leave = f"_pc_leave(_pc_policy, _pc_episode, {_start(features)})"
    if features.tallies and features.locks:
        return [leave]
    if features.tallies:
        return [_COUNT_OUT, f"else: {leave}"]
    if not features.locks:
        return [_PASS_OUT, f"else: {leave}"]
    return [
        "_pc_gate.lock.acquire()",
        _PASS_OUT + "; _pc_gate.lock.release()",
        "else:",
        "  _pc_gate.lock.release()",
        f"  {leave}",
    ]


def _count(features: Features) -> list[str]:
    if not features.meters:
        return []
    seconds = f"_pc_seconds = {_NOW} - _pc_start"
    bucket = "_pc_bisect(_pc_bounds, _pc_seconds)"
    if features.locks:
        return [seconds, "_pc_meter.success(_pc_seconds)"]
    return [
        seconds,
        # The search is for calls that take long enough not to notice it.
        f"_pc_counts[0 if _pc_seconds <= {BOUNDS[0]} else {bucket}] += 1",
        "_pc_meter.seconds += _pc_seconds",
    ]


def _arm(features: Features) -> list[str]:
    lines: list[str] = []
    if features.timer:
        lines.append(_TAKE_PLACE)
    if features.budget:
        lines.append("_pc_token = None")
    return lines


def _call(call: str, features: Features) -> list[str]:
    """The lines in which Ctrl-C can strike while a slot is held, all in one block."""
    lines = [f"_pc_result = {'await ' if features.is_async else ''}{call}"]
    if features.budget:
        publish = "_pc_token = _pc_set_deadline(_pc_start + _pc_total)"
        reset = "_pc_reset_deadline(_pc_token)"
        if features.inherits:
            publish = "if _pc_total < _pc_left: " + publish
            reset = "if _pc_token is not None: " + reset
        lines = [publish, *lines, reset]
    if features.tallies and not features.locks:
        lines.append(f"_pc_end = {_NOW}")
    return ["  " + line for line in lines]


def _failed(features: Features) -> list[str]:
    arguments = f"_pc_policy, _pc_caught, _pc_episode, {_start(features)}"
    if features.timer:
        arguments += ", _pc_place"
    if features.budget:
        arguments += ", token=_pc_token, outer=_pc_outer"
    return [f"  _pc_attempt = _pc_failed({arguments})"]


def _returned(features: Features) -> list[str]:
    end = [*_leave(features), *_count(features), "return _pc_result"]
    if features.judges:
        plain = [
            "if _pc_type(_pc_result) in _pc_plain:",
            *("  " + line for line in end),
        ]
        end = [
            *([] if features.judges_plain else plain),
            f"if (_pc_attempt := {_judge(features, 'None')}) is None:",
            *("  " + line for line in end),
        ]
    if features.timer:
        end = [
            "if _pc_place.limit is None:",
            "  " + _LEAVE_PLACE,
            *("  " + line for line in end),
            "else:",
            f"  _pc_attempt = {_judge(features, '_pc_place')}",
        ]
    return ["  " + line for line in end]


def _judge(features: Features, place: str) -> str:
    arguments = f"_pc_policy, _pc_result, _pc_episode, {_start(features)}, {place}"
    name = "_pc_judged" if features.is_async else "_pc_judged_sync"
    return f"{name}({arguments})"
