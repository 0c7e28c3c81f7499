"""A rate limit that processes share: one token bucket in Redis, on the server's clock.

What several callers of a process ask for at once goes in one script call. While the
store is away each process has its own bucket.
"""

from __future__ import annotations

import json
from math import inf

from policyctl.runtime.clock import CLOCK
from policyctl.runtime.errors import PolicyConfigError
from policyctl.runtime.rate_limit import EARLY, TokenBucket
from policyctl.runtime.shared.link import AWAY, TICK, link_to
from policyctl.runtime.shared.waiting import (
    ABANDONED,
    ANSWERED,
    PENDING,
    Question,
    wake_all,
)
from policyctl.runtime.stores.redis import Script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from policyctl.runtime.settings import RateLimit
    from policyctl.runtime.stores.redis import Step

PREFIX = "policyctl:rate:"
_MICRO = 1_000_000
_LONGEST = 86400.0

TAKE = Script("""
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local rate, burst = tonumber(ARGV[1]) / 1000000, tonumber(ARGV[2])
local wanted = cjson.decode(ARGV[3])
local found = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens = burst
if found[1] then
  tokens = tonumber(found[1]) + math.max(0, now - tonumber(found[2])) * rate
end
tokens = math.min(burst, tokens + tonumber(ARGV[4]))
local answers = {}
for _, longest in ipairs(wanted) do
  local wait = math.max(0, (1 - tokens) / rate)
  if wait < longest + 1 then
    tokens = tokens - 1
    answers[#answers + 1] = math.floor(wait)
  else
    answers[#answers + 1] = -math.ceil(wait) - 1
  end
end
redis.call('HSET', KEYS[1], 'tokens', string.format('%.9f', tokens),
  'at', string.format('%.0f', now))
redis.call('PEXPIRE', KEYS[1],
  string.format('%.0f', math.ceil((burst - tokens) / rate / 1000) + 1000))
return {string.format('%.9f', tokens), answers}
""")
"""``ARGV``: tokens a second, burst, the longest waits in microseconds as JSON, tokens to
give back. The reply is the tokens left and, for each wait, the microseconds until its
token is there, or minus one minus those after which there would be one. A part of a
microsecond is no wait: it is the rounding of the sum, and the bucket owes it."""


class SharedBucket(TokenBucket):
    """A token bucket whose tokens are in Redis.

    Args:
        settings: the ``rate_limit`` block, with ``store="redis"``.
        name: the same in every process that shares it, and in no other.
    """

    shared = True

    __slots__ = (
        "__weakref__",
        "_asked",
        "_key",
        "_link",
        "_next_at",
        "_returned",
        "_told",
    )

    def __init__(self, settings: RateLimit, name: str) -> None:
        if not name:
            raise PolicyConfigError(
                "a policy without a name shares nothing with other processes",
                path="rate_limit.store",
                help="give the policy a service and an operation",
            )
        assert settings.url_env is not None
        super().__init__(settings)
        self._key = PREFIX + name
        self._forget()
        self._link = link_to(settings.url_env)
        self._link.join(self)

    def _forget(self) -> None:
        self._asked: list[Question] = []
        self._returned = 0
        self._next_at = -inf
        self._told: float | None = None

    # -- for attempts ----------------------------------------------------------------

    def take(self, longest_wait: float) -> tuple[bool, float]:
        """Take a token, in advance if it will be there within ``longest_wait`` seconds.

        Blocks the thread until the store has answered.
        """
        known = self._known(longest_wait)
        if known is not None:
            return known
        question = Question(longest_wait)
        try:
            with self._lock:
                self._asked.append(question)
            self._link.serve_here(self)
            question.wait(self._link.patience)
        except BaseException:
            self._abandon(question)
            raise
        return self._outcome(question, longest_wait)

    async def take_async(self, longest_wait: float) -> tuple[bool, float]:
        """``take`` without blocking the event loop."""
        from asyncio import get_running_loop

        known = self._known(longest_wait)
        if known is not None:
            return known
        question = Question(longest_wait, get_running_loop())
        with self._lock:
            self._asked.append(question)
        self._link.push(self)
        try:
            await question.wait_async(self._link.patience)
        except BaseException:
            self._abandon(question)
            raise
        return self._outcome(question, longest_wait)

    def give_back(self) -> None:
        """Return a token that was taken in advance and not used."""
        super().give_back()
        with self._lock:
            self._returned += 1
        self._link.push(self)

    @property
    def tokens(self) -> float:
        """Tokens there were when the store last answered; without it, our own."""
        told = self._told
        return super().tokens if told is None or self._link.state == AWAY else told

    def _known(self, longest_wait: float) -> tuple[bool, float] | None:
        """The answer where it takes no asking."""
        if self.settings.mode == "disabled":
            return True, 0.0
        if self._link.state == AWAY:
            return super().take(longest_wait)
        wait = self._next_at - CLOCK.now()
        if wait - EARLY > longest_wait and self.settings.mode == "enforce":
            with self._lock:
                self.rejected += 1
            return False, wait
        return None

    def _abandon(self, question: Question) -> bool:
        """Stop waiting; a token that was given is returned. False if it was answered."""
        with self._lock:
            if question.state == PENDING:
                question.state = ABANDONED
                return True
            if question.answer is not None and question.answer[0]:
                self._returned += 1
        return False

    def _outcome(self, question: Question, longest_wait: float) -> tuple[bool, float]:
        with self._lock:
            answer: tuple[bool, float] | None = question.answer
            if question.state == PENDING:
                question.state = ABANDONED  # a token that comes later is returned
                answer = None
        if answer is None:
            return super().take(longest_wait)
        if answer[0]:
            return answer
        with self._lock:
            self.rejected += 1
        return (True, 0.0) if self.settings.mode == "observe" else answer

    # -- for the link ------------------------------------------------------------------

    def collect(self, due: bool) -> Step | None:
        """The tokens that are wanted and given back now."""
        with self._lock:
            self._asked = [q for q in self._asked if q.state == PENDING]
            if not (self._asked or self._returned or (due and not self._link.is_up)):
                return None
            observes = self.settings.mode == "observe"
            longest = [
                0 if observes else round(min(max(q.subject, 0.0), _LONGEST) * _MICRO)
                for q in self._asked
            ]
            returned, self._returned = self._returned, 0
            for question in self._asked:
                question.answer = ()  # on its way
        settings = self.settings
        args = (repr(settings.rate), settings.burst, json.dumps(longest), returned)
        return TAKE, (self._key,), args

    def applied(self, reply: Any) -> bool:
        """Hand out the answers; True to be asked again at once."""
        tokens, answers = float(reply[0]), list(reply[1])
        now = CLOCK.now()
        answered: list[Question] = []
        with self._lock:
            self._told = tokens
            sent = [q for q in self._asked if q.answer == ()]
            self._asked = [q for q in self._asked if q.answer != ()]
            for question, number in zip(sent, answers, strict=True):
                taken = number >= 0
                wait = (number if taken else -number - 1) / _MICRO
                if not taken:
                    self._next_at = now + min(wait, TICK)
                if question.state == PENDING:
                    question.answer = taken, wait
                    question.state = ANSWERED
                    answered.append(question)
                else:
                    self._returned += taken
            again = bool(self._asked or self._returned)
        wake_all(answered)
        return again

    def went_away(self) -> None:
        """Let those who asked use the local bucket."""
        with self._lock:
            asked, self._asked = self._asked, []
            self._returned = 0
            self._next_at = -inf
            waiting = [question for question in asked if question.state == PENDING]
            for question in waiting:
                question.answer = None
                question.state = ANSWERED
        wake_all(waiting)

    def after_fork(self) -> None:
        """In a child process: a fresh lock, and nothing asked."""
        super().after_fork()
        self._forget()
