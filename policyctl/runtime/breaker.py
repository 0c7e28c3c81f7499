"""The circuit breaker: one state machine for threads, tasks and event loops alike.

Every change happens under the breaker's lock in one step; nothing waits, calls user
code or emits an event while it is held. Time comes in as an argument, so that the
machine can be tested against a model.
"""

from __future__ import annotations

from _thread import RLock
from math import inf

from policyctl.runtime.gate import HAS_GIL, UNUSUAL, Gate, later_if_mine
from policyctl.runtime.recovery import break_length
from policyctl.runtime.window import make_window

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from policyctl.runtime.bulkhead import Waiter, Waiters
    from policyctl.runtime.chance import Chance
    from policyctl.runtime.settings import CircuitBreaker
    from policyctl.runtime.window import CountWindow, TimeWindow

CLOSED = "closed"
OPEN = "open"
HALF_OPEN = "half_open"
FORCED_OPEN = "forced_open"
FORCED_CLOSED = "forced_closed"
DISABLED = "disabled"

REFUSED = -1
"""``admit`` answers this instead of an episode when the attempt must not run."""
_MANY_QUEUES = 16
_NO_PERMITS: dict[int, float] = {}
UNCOUNTED = -2
"""The episode of attempts that run although they would be refused (mode observe)."""


class Breaker:
    """State, counts and permits of one circuit breaker.

    Attributes:
        settings: the ``circuit_breaker`` block.
        episode: grows with every change of state; results of other episodes are void.
        failures: consecutive failures while closed.
        until: the instant at which the break ends.
        reopenings: failed half-open episodes since the breaker was last closed.
        rejected: attempts refused so far.
        rejects: whether every attempt before ``until`` is refused for sure; wrappers
            read it without the lock, since an answer that was right a moment ago will
            do.
        window: what it remembers of completed attempts, None where nothing asks.
    """

    __slots__ = (
        "_gates",
        "_inside",
        "_manual",
        "_notify",
        "_pending",
        "_permits",
        "_queues",
        "_random",
        "_refusing",
        "_state",
        "_successes",
        "_turned_away",
        "_unusual",
        "episode",
        "failures",
        "lock",
        "rejected",
        "rejects",
        "reopenings",
        "settings",
        "until",
        "window",
    )

    def __init__(
        self,
        settings: CircuitBreaker,
        notify: Callable[[str, str], None],
        random: Chance,
    ) -> None:
        """``notify(old, new)`` is called for each transition, outside the lock."""
        self.settings = settings
        self.lock = RLock()
        self.episode = 0
        self.failures = 0
        self.until = -inf
        self.reopenings = 0
        self.rejected = 0
        self._state = CLOSED
        self._successes = 0
        self._manual: str | None = _manual_of(settings)
        self._permits = _NO_PERMITS
        self.window: CountWindow | TimeWindow | None = None
        if settings.failure_ratio is not None or settings.slow_call is not None:
            self.window = make_window(settings.window)
        self._gates: tuple[Gate, ...] = ()
        self._queues: tuple[Waiters, ...] = ()
        self._inside = 0
        self._unusual = self._is_unusual()
        self._pending: tuple[tuple[str, str], ...] = ()
        self._turned_away: tuple[Waiter, ...] = ()
        self._notify = notify
        self._random = random
        self._refusing = settings.mode != "observe"
        self.rejects = False

    # -- attaching -------------------------------------------------------------

    def attach(self, gate: Gate) -> None:
        """Flag ``gate`` while anything here is unusual."""
        with self.lock, gate.lock:
            self._gates += (gate,)
            gate.episode = self.episode
            if self._unusual:
                gate.add(UNUSUAL)

    def attach_queue(self, waiters: Waiters) -> None:
        """Turn away who waits there when the circuit opens (C6)."""
        with self.lock:
            if waiters in self._queues:
                return
            if len(self._queues) >= _MANY_QUEUES:
                self._queues = tuple(queue for queue in self._queues if queue.queue)
            self._queues += (waiters,)

    def make_window(self) -> CountWindow | TimeWindow:
        """A new window as the settings want it."""
        return make_window(self.settings.window)

    def settings_changed(self) -> None:
        """Take note that ``settings`` is another object now."""

    shared = False
    """Whether attempts may have to ask a store (``SharedBreaker``)."""

    def wants_to_ask(self, now: float) -> bool:
        """Whether an attempt has to ``ask`` before ``admit``."""
        return False

    def ask(self, permit: int) -> None:
        """Get a lease for the probe that ``permit`` stands for, blocking the thread."""

    async def ask_async(self, permit: int) -> None:
        """``ask`` without blocking the event loop."""

    @property
    def counts_successes(self) -> bool:
        """Whether every success has to be reported, not only the unusual ones."""
        return self.window is not None

    def state(self, now: float) -> str:
        """The state at ``now``; an elapsed break reads as half-open (C5)."""
        with self.lock:
            self._advance(now)
            shown = self._shown()
        self._emit()
        return shown

    def retry_after(self, now: float) -> float:
        """Seconds until a probe may pass: 0.0 unless open, infinity if forced open."""
        with self.lock:
            self._advance(now)
            if self._manual is not None:
                wait = inf if self._manual == FORCED_OPEN else 0.0
            else:
                wait = max(0.0, self.until - now) if self._state == OPEN else 0.0
        self._emit()
        return wait

    def refusing_as(self) -> str:
        """``open``, ``half_open`` or ``forced_open``: what a rejection calls it."""
        shown = self._shown()
        return shown if shown in (HALF_OPEN, FORCED_OPEN) else OPEN

    def statistics(self, now: float) -> dict[str, object]:
        """Numbers for people and for the registry, consistent with each other."""
        with self.lock:
            self._advance(now)
            window = self.window
            if window is not None:
                window.expire(now)
                window.expect_judgement(self.settings.minimum_calls)
            numbers: dict[str, object] = {
                "state": self._shown(),
                "failures": self.failures,
                "rejected": self.rejected,
                "reopenings": self.reopenings,
                "permits_in_use": len(self._permits),
                "half_open_successes": self._successes,
                "retry_after": max(0.0, self.until - now) if self._state == OPEN else 0,
            }
            if window is not None:
                numbers["window"] = {
                    "calls": window.total,
                    "failures": window.failed,
                    "slow": window.slow,
                }
        self._emit()
        return numbers

    def _shown(self) -> str:
        return self._state if self._manual is None else self._manual

    @property
    def is_idle(self) -> bool:
        """Whether it is closed and nothing that ``admit`` let in is still running.

        Only true of breakers that compiled wrappers do not pass by.
        """
        return self._state == CLOSED and self._manual is None and self._inside <= 0

    def admit(self, now: float, permit: int) -> int:
        """Let an attempt in, or refuse it.

        Args:
            now: the time.
            permit: a number that is this attempt's own; it marks the permit taken in
                half-open.

        Returns:
            The episode to report the result with, ``UNCOUNTED`` or ``REFUSED``.
        """
        with self.lock:
            verdict = self._admit(now, permit)
            self._inside += verdict != REFUSED
        if self._pending:
            try:
                self._emit()
            except BaseException:  # Ctrl-C in a listener
                if verdict != REFUSED:
                    self.neutral(verdict, permit)
                raise
        return verdict

    def admit_closed(self) -> int:
        """Let an attempt in while closed; ``REFUSED`` where that is not for sure.

        Without the lock, since nothing in here can be interrupted (see ``gate``).
        """
        episode = self.episode  # before the state: a debugger may switch threads
        if self._state != CLOSED or self._manual is not None or not HAS_GIL:
            return REFUSED
        self._inside += 1
        return episode

    def _admit(self, now: float, permit: int) -> int:
        if self._manual is not None:
            if self._manual != FORCED_OPEN:
                return UNCOUNTED
            return self._refuse()
        if self._state != CLOSED:
            self._advance(now)
            if self._state == OPEN:
                return self._refuse()
            if len(self._permits) >= self.settings.half_open_max_calls:
                return self._refuse()
            self._take_permit(permit, now)
        return self.episode

    def _take_permit(self, permit: int, now: float) -> None:
        if not self._permits:
            self._permits = {}
        self._permits[permit] = now

    def _refuse(self) -> int:
        self.rejected += 1
        return REFUSED if self._refusing else UNCOUNTED

    # -- results ---------------------------------------------------------------

    def success(self, episode: int, permit: int, now: float, duration: float) -> None:
        """Record an attempt that worked."""
        with self.lock:
            self._inside -= 1
            if self._state != CLOSED:
                self._advance(now)
            if episode == self.episode and self._manual is None:
                if self._state == CLOSED:
                    self._closed_success(now, duration)
                elif self._permits.pop(permit, None) is not None:
                    self._probe_success(now, duration)
        if self._pending or self._turned_away:
            self._emit()

    def failure(self, episode: int, permit: int, now: float, duration: float) -> None:
        """Record an attempt that failed."""
        with self.lock:
            self._inside -= 1
            if self._state != CLOSED:
                self._advance(now)
            if episode == self.episode and self._manual is None:
                if self._state == CLOSED:
                    self._closed_failure(now, duration)
                elif self._permits.pop(permit, None) is not None:
                    self._reopen(now)
        if self._pending or self._turned_away:
            self._emit()

    def neutral(self, episode: int, permit: int) -> None:
        """Give back what the attempt held, without a verdict (C2)."""
        if later_if_mine(self.lock, self.neutral, episode, permit):
            return
        with self.lock:
            self._inside -= episode != REFUSED
            if episode == self.episode:
                self._permits.pop(permit, None)

    def take_back(self, permit: int) -> None:
        """Free a permit whose attempt was broken off, if it is held still."""
        with self.lock:
            self._inside -= self._permits.pop(permit, None) is not None

    def _closed_success(self, now: float, duration: float) -> None:
        self.failures = 0
        if self.window is not None:
            self.window.add(now, False, self._is_slow(duration))
            self._judge_window(now)
        if self._unusual and not self._is_unusual():
            self._flag(False)

    def _closed_failure(self, now: float, duration: float) -> None:
        self.failures += 1
        threshold = self.settings.failure_threshold
        if self.window is not None:
            self.window.add(now, True, self._is_slow(duration))
        if threshold is not None and self.failures >= threshold:
            self._open(now, now)
        elif self.window is not None:
            self._judge_window(now)
        if not self._unusual:
            self._flag(True)

    def _probe_success(self, now: float, duration: float) -> None:
        if self._is_slow(duration):
            self._reopen(now)
            return
        self._successes += 1
        if self._successes >= self.settings.success_threshold:
            self._close()

    def _is_slow(self, duration: float) -> bool:
        slow_call = self.settings.slow_call
        return slow_call is not None and duration > slow_call.after

    def _judge_window(self, now: float) -> None:
        window, settings = self.window, self.settings
        if window is None or self._state != CLOSED:
            return
        window.expire(now)
        total = window.total
        if total < settings.minimum_calls:
            window.expect_judgement(settings.minimum_calls)
            return
        window.expect_judgement(0)
        ratio, slow_call = settings.failure_ratio, settings.slow_call
        if (ratio is not None and window.failed >= ratio * total) or (
            slow_call is not None and window.slow >= slow_call.ratio * total
        ):
            self._open(now, now)

    # -- transitions, all under the lock ----------------------------------------

    def _advance(self, now: float) -> None:
        """Do what time alone brings about: half-open, and probes that take too long."""
        if self._state == OPEN and now >= self.until:
            self._move(HALF_OPEN)
        while self._state == HALF_OPEN and self._permits:
            overdue = min(self._permits.values()) + self.settings.half_open_max_wait
            if now < overdue:
                return
            self._reopen(overdue)
            if now >= self.until:
                self._move(HALF_OPEN)

    def _open(self, now: float, since: float) -> None:
        length = break_length(
            self.settings.recovery_timeout, self.reopenings, self._random
        )
        self.until = since + length
        self._move(OPEN)

    def _reopen(self, since: float) -> None:
        self.reopenings += 1
        self._open(since, since)

    def _close(self) -> None:
        self.reopenings = 0
        self._move(CLOSED)

    def _move(self, state: str) -> None:
        old, self._state = self._state, state
        self.episode += 1
        self.failures = 0
        self._successes = 0
        self._permits.clear()
        if state == CLOSED and self.window is not None:
            self.window.clear()
            self.window.expect_judgement(0)
        if old != state:
            self._pending += ((old, state),)
        self._refresh(renew=True)

    def _refresh(self, renew: bool = False) -> None:
        """Bring the gates in line: flagged first and unflagged last.

        So an attempt that passes at once always belongs to the closed episode that it
        reads.
        """
        unusual = self._is_unusual()
        self.rejects = self._state == OPEN and self._refusing and self._manual is None
        if unusual == self._unusual and not renew:
            return
        refusing = self._refusing and self._shown() in (OPEN, FORCED_OPEN)
        self._flag(unusual)
        if refusing:
            for queue in self._queues:
                self._turned_away += tuple(queue.turn_away(self))

    def _flag(self, unusual: bool) -> None:
        change = (unusual - self._unusual) * UNUSUAL
        self._unusual = unusual
        for gate in self._gates:
            gate.flag(change, self.episode)

    def _is_unusual(self) -> bool:
        if self._manual is not None:
            return self._manual == FORCED_OPEN
        return self._state != CLOSED or self.failures > 0

    # -- by hand ---------------------------------------------------------------

    def set_manual(self, state: str | None) -> None:
        """Force a state by name, or give the machine its head again (None)."""
        with self.lock:
            old = self._shown()
            self._manual = state
            self._renew(old)
        self._emit()

    def reset(self) -> None:
        """Closed, counts at zero, nothing forced; the break's growth starts anew."""
        with self.lock:
            old = self._shown()
            self._manual = None
            self._state = CLOSED
            self.until = -inf
            self.reopenings = 0
            if self.window is not None:
                self.window.clear()
                self.window.expect_judgement(0)
            self._renew(old)
        self._emit()

    def _renew(self, old: str) -> None:
        self.episode += 1
        self.failures = 0
        self._successes = 0
        self._permits.clear()
        new = self._shown()
        if new != old:
            self._pending += ((old, new),)
        self._refresh(renew=True)

    def after_fork(self) -> None:
        """In a child process: a fresh lock, and no probe of the parent in flight."""
        self.lock = RLock()
        if self._permits:
            self.episode += 1
            self._permits.clear()
            for gate in self._gates:
                gate.episode = self.episode

    # -- events ------------------------------------------------------------------

    def _emit(self) -> None:
        # Each waiter and each transition is for one thread, whichever takes them first.
        if not HAS_GIL:
            self.lock.acquire()
        turned_away, self._turned_away = self._turned_away, ()
        pending, self._pending = self._pending, ()
        if not HAS_GIL:
            self.lock.release()
        for waiter in turned_away:
            waiter.wake()
        for old, new in pending:
            self._notify(old, new)


def _manual_of(settings: CircuitBreaker) -> str | None:
    if settings.mode == "forced_open":
        return FORCED_OPEN
    return DISABLED if settings.mode == "disabled" else None
