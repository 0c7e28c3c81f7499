"""A circuit breaker that processes share (C11).

It is a whole local breaker: it counts, opens and recovers by itself. While the store is
there it also reports what it counts, takes over what the store says of the state, and
lets a probe run only with a lease from the store.
"""

from __future__ import annotations

import json
from functools import partial
from math import inf

from policyctl.runtime.breaker import CLOSED, HALF_OPEN, OPEN, Breaker
from policyctl.runtime.clock import CLOCK
from policyctl.runtime.errors import PolicyConfigError
from policyctl.runtime.gate import UNUSUAL
from policyctl.runtime.shared.breaker_config import (
    LONGEST,
    MICRO,
    config_of,
    key_of,
    lease_name,
)
from policyctl.runtime.shared.breaker_script import PEEK, SYNC
from policyctl.runtime.shared.link import link_to
from policyctl.runtime.shared.tally import (
    TalliedCountWindow,
    TalliedTimeWindow,
    make_tallied,
)
from policyctl.runtime.shared.waiting import (
    ABANDONED,
    ANSWERED,
    PENDING,
    Question,
    wake_all,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from policyctl.runtime.chance import Chance
    from policyctl.runtime.settings import CircuitBreaker
    from policyctl.runtime.stores.redis import Step

PREFIX = "policyctl:breaker:"
_BUSY = 0.05
"""Seconds for which "all permits are in use" is believed without asking again."""
_CLOSE_ENOUGH = 0.01
_SENT = "sent"
_ANY = -1
"""The version between a reset by hand and the store's answer to it."""


class SharedBreaker(Breaker):
    """A breaker whose state lives in Redis too.

    Args:
        settings: the ``circuit_breaker`` block, with ``store="redis"``.
        notify: called with the old and the new state for each transition.
        random: spreads breaks.
        name: the same in every process that shares it, and in no other.
    """

    shared = True

    __slots__ = (
        "__weakref__",
        "_asked",
        "_busy_until",
        "_config",
        "_grants",
        "_joined",
        "_key",
        "_leases",
        "_link",
        "_outbox",
        "_recheck_at",
        "_sent",
        "_tally",
        "_version",
        "_was_alone",
    )

    def __init__(
        self,
        settings: CircuitBreaker,
        notify: Callable[[str, str], None],
        random: Chance,
        name: str,
    ) -> None:
        if not name:
            raise PolicyConfigError(
                "a policy without a name shares nothing with other processes",
                path="circuit_breaker.store",
                help="give the policy a service and an operation",
            )
        assert settings.url_env is not None
        self._forget()
        self._tally = make_tallied(settings.window)
        super().__init__(settings, notify, random)
        self.window = self._tally
        self._key = PREFIX + name
        self._config = json.dumps(config_of(settings))
        self._link = link_to(settings.url_env)
        self._link.join(self)

    def _forget(self) -> None:
        """Nothing is known of the store's side, and nothing is under way."""
        self._joined = False
        self._was_alone = False
        self._version = 0
        self._outbox: list[list[Any]] = []
        self._sent: list[list[Any]] = []
        self._asked: list[Question] = []
        self._grants: dict[int, tuple[int, str]] = {}
        self._leases: dict[int, str] = {}
        self._busy_until = -inf
        self._recheck_at = inf

    def state(self, now: float) -> str:
        """The state at ``now``; the first time it is asked for, the store is too."""
        if not self._joined:
            self._link.push(self)
        return super().state(now)

    def make_window(self) -> TalliedCountWindow | TalliedTimeWindow:
        """A new window as the settings want it, with what is still to be told."""
        window = make_tallied(self.settings.window)
        window.untold = self._tally.tell()
        self._tally = window
        return window

    def settings_changed(self) -> None:
        """Send the new settings along from now on."""
        self._config = json.dumps(config_of(self.settings))

    # -- asking for a permit ---------------------------------------------------------

    def wants_to_ask(self, now: float) -> bool:
        """Whether an attempt has to ask the store before ``admit``: to probe, or once
        at first use."""
        if self._manual is not None:
            return False
        if not self._joined:
            return True
        if self._state == CLOSED or now < self.until or not self._link.is_up:
            return False
        return now >= self._busy_until

    def ask(self, permit: int) -> None:
        """Get a lease for ``permit`` if there is one, blocking the thread."""
        question = Question(permit)
        try:
            with self.lock:
                self._asked.append(question)
            self._link.serve_here(self)
            question.wait(self._link.patience)
        except BaseException:
            self._end(question)
            self._give_back(permit)
            raise
        self._end(question)

    async def ask_async(self, permit: int) -> None:
        """``ask`` without blocking the event loop."""
        from asyncio import get_running_loop

        question = Question(permit, get_running_loop())
        with self.lock:
            self._asked.append(question)
        self._link.push(self)
        try:
            await question.wait_async(self._link.patience)
        except BaseException:
            self._end(question)
            self._give_back(permit)
            raise
        self._end(question)

    def _end(self, question: Question) -> None:
        """The asker goes on; an answer that comes later is given back."""
        with self.lock:
            if question.state == PENDING:
                question.state = ABANDONED
                if not self._joined:
                    self._join()

    def _give_back(self, permit: int) -> None:
        with self.lock:
            grant = self._grants.pop(permit, None)
            if grant is not None:
                self._outbox.append(["n", self._version, grant[1]])
        if grant is not None:
            self._link.push(self)

    def _admit(self, now: float, permit: int) -> int:
        grant = self._grants.pop(permit, None)
        verdict = self._admit_with(now, permit, grant)
        if grant is not None and permit not in self._leases:
            self._outbox.append(["n", self._version, grant[1]])
        return verdict

    def _admit_with(
        self, now: float, permit: int, grant: tuple[int, str] | None
    ) -> int:
        if self._manual is None and self._state != CLOSED and self._link.is_up:
            self._advance(now)
            if self._state == HALF_OPEN:
                if grant is None or grant[0] != self.episode:
                    return self._refuse()
                self._take_permit(permit, now)
                self._leases[permit] = grant[1]
                return self.episode
        return super()._admit(now, permit)

    # -- results -----------------------------------------------------------------------

    def success(self, episode: int, permit: int, now: float, duration: float) -> None:
        """Record an attempt that worked."""
        lease = self._leases.pop(permit, None)
        if lease is None:
            super().success(episode, permit, now, duration)
        else:
            self._probed(lease, episode, permit, now, not self._is_slow(duration))

    def failure(self, episode: int, permit: int, now: float, duration: float) -> None:
        """Record an attempt that failed; the store is told at once."""
        lease = self._leases.pop(permit, None)
        if lease is None:
            super().failure(episode, permit, now, duration)
            if self._tally.untold[1] or self._outbox:
                self._link.push(self)
        else:
            self._probed(lease, episode, permit, now, False)

    def neutral(self, episode: int, permit: int) -> None:
        """Give back what the attempt held, without a verdict (C2)."""
        lease = self._leases.pop(permit, None)
        super().neutral(episode, permit)
        if lease is not None:
            with self.lock:
                self._outbox.append(["n", self._version, lease])
                self._busy_until = -inf
            self._link.push(self)

    def _probed(
        self, lease: str, episode: int, permit: int, now: float, worked: bool
    ) -> None:
        with self.lock:
            self._inside -= 1
            self._advance(now)
            self._busy_until = -inf
            valid = episode == self.episode and self._manual is None
            if not (valid and self._permits.pop(permit, None) is not None):
                self._outbox.append(["n", self._version, lease])
            elif not worked:
                self._reopen(now)
            elif self._link.is_up:
                self._outbox.append(["s", self._version, lease])
            else:
                self._probe_success(now, 0.0)
        self._link.push(self)
        self._emit()

    def _open(self, now: float, since: float) -> None:
        opened = self._state == CLOSED
        super()._open(now, since)
        if opened:
            self._outbox.append(["o", self._version, 0, 0])

    def _reopen(self, since: float) -> None:
        if self._link.is_up:
            self._outbox.append(["f", self._version])
        super()._reopen(since)

    def _is_unusual(self) -> bool:
        if self._manual is None and not self._joined:
            return True
        return super()._is_unusual()

    def reset(self) -> None:
        """Closed for all processes, with all counts at zero.

        Before first use nobody is told, so that nothing is opened.
        """
        super().reset()
        if not self._joined:
            return
        with self.lock:
            self._outbox = [["x"]]
            self._version = _ANY
        self._link.push(self)

    def set_manual(self, state: str | None) -> None:
        """Force a state in this process alone, or follow the others again (None)."""
        super().set_manual(state)
        with self.lock:
            self._joined = self._joined and state is not None
            self._refresh()

    def statistics(self, now: float) -> dict[str, object]:
        """Numbers of this process, and whether the store is ``up`` or ``away``."""
        return {**super().statistics(now), "store": self._link.state}

    # -- for the link ------------------------------------------------------------------

    def collect(self, due: bool) -> Step | None:
        """What there is to say or ask; only a look at the version if that is nothing."""
        now = CLOCK.now()
        with self.lock:
            if due and self._manual is None and self._permits:
                self._advance(now)
            steps = self._steps(now)
            must = bool(steps) or not self._joined or self._was_alone
            must = must or now >= self._recheck_at
        self._tell()
        if not must:
            return (PEEK, (self._key,), ()) if due else None
        chance = repr(self._random.uniform(0.0, 1.0))
        return SYNC, (self._key,), (self._config, json.dumps(steps), chance)

    def _steps(self, now: float) -> list[list[Any]]:
        steps: list[list[Any]] = []
        untold = self._tally.tell()
        if self._was_alone:  # what happened meanwhile is old; an open circuit is not
            self._outbox = [step for step in self._outbox if step == ["x"]]
            self._propose(now)
        elif untold[0]:
            trailing = min(self.failures, untold[1]) if self._state == CLOSED else 0
            steps.append(["c", self._version, *untold, trailing])
        for step in self._outbox:
            if step[0] == "o":
                step[2:] = [self._rest(now), self.reopenings]
        resets = [step for step in self._outbox if step == ["x"]]
        steps = resets + steps + [step for step in self._outbox if step != ["x"]]
        self._sent, self._outbox = self._outbox, []
        wanted = [q for q in self._asked if q.state == PENDING]
        if wanted and self._joined:
            for question in wanted:
                question.answer = _SENT
            leases = min(len(wanted), self.settings.half_open_max_calls)
            steps.append(["p", *(lease_name() for _ in range(leases))])
        return steps

    def _propose(self, now: float) -> None:
        if self._state == OPEN and self.until > now:
            self._outbox.append(["o", self._version, 0, 0])

    def _rest(self, now: float) -> int:
        return max(1, round(min(self.until - now, LONGEST) * MICRO))

    def applied(self, reply: Any) -> bool:
        """Take over what the store says; True to go on with it at once."""
        if reply is None or isinstance(reply, bytes):
            renewed = int(reply or 0) != self._version
            if renewed:
                self._recheck_at = -inf
            return renewed
        again = self._take_over(reply)
        self._tell()
        return again

    def _take_over(self, reply: list[Any]) -> bool:
        state, version = reply[0].decode(), int(reply[1])
        rest, reopenings, suspicion, given = reply[2:]
        now = CLOCK.now()
        with self.lock:
            self._recheck_at = now + suspicion / MICRO if suspicion else inf
            self._was_alone = False
            self._sent = []
            leases = [lease.decode() for lease in given]
            if self._outbox:  # it knows more by now than this reply
                self._outbox += [["n", version, lease] for lease in leases]
                return True
            if version == 0 and self._version > 0 and self._state == OPEN:
                self._version = 0
                self._propose(now)  # the store has forgotten, we have not
                if self._outbox:
                    return True
            if self._manual is None:
                self._follow(state, version, rest / MICRO, reopenings, now)
            self._version = version
            self._joined = True
            self._refresh()
            probing = self._state != CLOSED and now >= self.until
            self._answer(leases, now, everyone=not probing)
            return bool(self._asked)

    def _follow(
        self, state: str, version: int, rest: float, reopenings: int, now: float
    ) -> None:
        renewed = version != self._version
        if state == CLOSED:
            if self._state != CLOSED:
                self._close()
            return
        self.reopenings = reopenings
        if state == OPEN:
            if self._state == OPEN:
                if abs(now + rest - self.until) > _CLOSE_ENOUGH:
                    self.until = now + rest
            elif self._state == CLOSED or renewed:
                self.until = now + rest
                self._move(OPEN)
            return
        if self._state == CLOSED:
            self._move(OPEN)
        if self._state == OPEN or renewed:
            self.until = now
            self._move(HALF_OPEN)

    def _answer(self, given: list[str], now: float, everyone: bool) -> None:
        """Answer who asked before the reply was made, or everyone."""
        asked, self._asked = self._asked, []
        waiting = [question for question in asked if question.state == PENDING]
        if not everyone:
            self._asked = [q for q in waiting if q.answer != _SENT]
            waiting = [q for q in waiting if q.answer == _SENT]
        for question in waiting:
            question.state = ANSWERED
            if given:
                self._grants[question.subject] = self.episode, given.pop()
            elif self._state == HALF_OPEN:
                self._busy_until = now + _BUSY
        wake_all(waiting)
        self._outbox += [["n", self._version, lease] for lease in given]

    def went_away(self) -> None:
        """Go on alone: probes whose verdict could not be told are judged here."""
        now = CLOCK.now()
        with self.lock:
            self._was_alone = True
            self._join()
            untold, self._sent = self._sent + self._outbox, []
            worked = sum(step[0] == "s" for step in untold)
            self._outbox = [step for step in untold if step == ["x"]]
            self._leases.clear()
            self._grants.clear()
            self._busy_until = -inf
            for _ in range(worked):
                if self._state == HALF_OPEN:
                    self._probe_success(now, 0.0)
            self._answer([], now, everyone=True)
        self._tell()

    def _join(self) -> None:
        self._joined = True
        self._refresh()

    def _tell(self) -> None:
        """``_emit`` for the link's thread: listeners are called from another one."""
        turned_away, self._turned_away = self._turned_away, ()
        for waiter in turned_away:
            waiter.wake()
        pending, self._pending = self._pending, ()
        for old, new in pending:
            self._link.notify(partial(self._notify, old, new))

    def after_fork(self) -> None:
        """In a child process: fresh locks, and the state is asked for anew."""
        super().after_fork()
        self._forget()
        self._tally.untold = [0, 0, 0]
        if self._is_unusual() and not self._unusual:
            self._unusual = True
            for gate in self._gates:  # their locks may not be free yet
                gate.add(UNUSUAL)


__all__ = ["SharedBreaker", "key_of"]
