"""C4 to C8: the breaker against a model that is as plain as the contract's words."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from policyctl.runtime.breaker import REFUSED, Breaker
from policyctl.runtime.chance import RANDOM
from policyctl.runtime.gate import UNUSUAL, Gate
from policyctl.runtime.settings import CircuitBreaker, Recovery, Window

BREAK = 30.0


@dataclass
class Model:
    """A breaker for people: no locks, no speed, everything recomputed."""

    threshold: int
    ratio: float | None
    minimum: int
    permits: int
    wait: float
    needed: int
    state: str = "closed"
    until: float = 0.0
    row: int = 0
    good: int = 0
    completed: list[bool] = field(default_factory=list)
    probes: dict[int, float] = field(default_factory=dict)
    episode: int = 0

    def pass_time(self, now: float) -> None:
        """Half-open when the break is over; reopen at the instant a probe is overdue."""
        while True:
            if self.state == "open" and now >= self.until:
                self.change("half_open")
            overdue = [t + self.wait for t in self.probes.values()]
            if self.state != "half_open" or not overdue or min(overdue) > now:
                return
            self.open(min(overdue))

    def change(self, state: str) -> None:
        """Enter a state; everything that belongs to the old one is void."""
        self.state = state
        self.episode += 1
        self.row = self.good = 0
        self.probes.clear()
        if state == "closed":
            self.completed.clear()

    def open(self, now: float) -> None:
        """Open for one break."""
        self.until = now + BREAK
        self.change("open")

    def admit(self, now: float, permit: int) -> bool:
        """Whether an attempt may run."""
        self.pass_time(now)
        if self.state == "open":
            return False
        if self.state == "half_open":
            if len(self.probes) >= self.permits:
                return False
            self.probes[permit] = now
        return True

    def end(self, now: float, permit: int, episode: int, worked: bool | None) -> None:
        """An attempt of ``episode`` ended; None is neutral."""
        if worked is not None:
            self.pass_time(now)
        if episode != self.episode:
            return
        self.probes.pop(permit, None)
        if worked is None:
            return
        if self.state == "half_open":
            self.good += worked
            if not worked:
                self.open(now)
            elif self.good >= self.needed:
                self.change("closed")
            return
        self.row = 0 if worked else self.row + 1
        self.completed = [*self.completed, not worked][-6:]
        failed, total = sum(self.completed), len(self.completed)
        if self.row >= self.threshold or (
            self.ratio is not None
            and total >= self.minimum
            and failed / total >= self.ratio
        ):
            self.open(now)


class BreakerAgainstModel(RuleBasedStateMachine):
    """Random attempts, results and waits; both must agree after every step."""

    @initialize(
        threshold=st.integers(1, 4),
        ratio=st.sampled_from([None, 0.5, 0.75]),
        permits=st.integers(1, 3),
        needed=st.integers(1, 3),
    )
    def start(
        self, threshold: int, ratio: float | None, permits: int, needed: int
    ) -> None:
        """Make both."""
        self.now = 1000.0
        self.count = 0
        self.running: dict[int, tuple[int, int]] = {}
        self.model = Model(threshold, ratio, 3, permits, 10.0, needed)
        self.gate = Gate()
        self.breaker = Breaker(
            CircuitBreaker(
                failure_threshold=threshold,
                failure_ratio=ratio,
                window=Window(calls=6),
                minimum_calls=3,
                recovery_timeout=Recovery(initial=BREAK, jitter=0.0),
                half_open_max_calls=permits,
                half_open_max_wait=10.0,
                success_threshold=needed,
            ),
            lambda old, new: None,
            RANDOM,
        )
        self.breaker.attach(self.gate)

    @rule(seconds=st.sampled_from([0.5, 3.0, 9.5, 10.0, 29.5, 30.0, 75.0]))
    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds

    @rule(times=st.integers(1, 4))
    def admit(self, times: int) -> None:
        """Begin attempts."""
        for _ in range(times):
            self.count += 1
            episode = self.breaker.admit(self.now, self.count)
            expected = self.model.admit(self.now, self.count)
            assert (episode != REFUSED) == expected
            if expected:
                self.running[self.count] = (episode, self.model.episode)

    @rule(
        which=st.integers(0, 50),
        worked=st.sampled_from([True, True, False, False, False, None]),
    )
    def end(self, which: int, worked: bool | None) -> None:
        """End some attempt, old or new."""
        if not self.running:
            return
        permit = sorted(self.running)[which % len(self.running)]
        episode, modelled = self.running.pop(permit)
        if worked is None:
            self.breaker.neutral(episode, permit)
        elif worked:
            self.breaker.success(episode, permit, self.now, 0.0)
        else:
            self.breaker.failure(episode, permit, self.now, 0.0)
        self.model.end(self.now, permit, modelled, worked)

    @invariant()
    def agree(self) -> None:
        """State, counts, instants and the gate's flag are those of the model."""
        if not hasattr(self, "model"):
            return
        self.model.pass_time(self.now)
        assert self.breaker.state(self.now) == self.model.state
        if self.model.state == "closed":
            assert self.breaker.failures == self.model.row
        if self.model.state == "open":
            assert self.breaker.retry_after(self.now) == self.model.until - self.now
        quiet = self.model.state == "closed" and self.model.row == 0
        assert self.gate.count == (0 if quiet else UNUSUAL)


TestBreakerAgainstModel = BreakerAgainstModel.TestCase
TestBreakerAgainstModel.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None
)
