"""What all sides of a queue share: its settings, its store and its codec."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from policyctl.runtime.chance import Chance
    from policyctl.runtime.queues.codec import Codec
    from policyctl.runtime.queues.records import Change, Store
    from policyctl.runtime.queues.settings import QueueSettings

T = TypeVar("T")

FIRST_POLL = 0.01
LONGEST_POLL = 0.25
"""Seconds between two looks of a take that waits; what other processes put is seen so."""


class QueueBase(Generic[T]):
    """A queue without operations."""

    service: str
    queue: str
    settings: QueueSettings
    _random: Chance
    _store: Store | None
    _codec: Codec | None
    _lock: Any

    @property
    def name(self) -> str:
        """``service.queue``."""
        return f"{self.service}.{self.queue}"

    @property
    def store(self) -> Store:
        """Where items live, opened by the first operation on it.

        Raises:
            PolicyConfigError: the store needs what is not there, such as an address.
        """
        found = self._store
        if found is None:
            from policyctl.runtime.queues.open import open_store

            with self._lock:
                if self._store is None:
                    self._store = open_store(self)
                found = self._store
        return found

    @property
    def codec(self) -> Codec:
        """What turns payloads into bytes and back.

        Raises:
            PolicyConfigError: ``payload`` or ``codec`` does not exist or does not fit.
        """
        found = self._codec
        if found is None:
            from policyctl.runtime.queues.codec import find_codec

            found = find_codec(self.settings.codec, self.settings.payload)
            self._codec = found
        return found

    def prepare(self) -> None:
        """Import all that operations need; still nothing is opened.

        A fork while another thread imports would leave the module locked in the child.

        Raises:
            PolicyConfigError: the store, the payload or the codec does not fit.
        """
        self._change()
        assert self.store is not None
        assert self.codec is not None

    def _change(self) -> Change:
        from policyctl.runtime.queues.records import Change

        return Change()

    async def _astep(self, step: str, *arguments: Any) -> Any:
        from policyctl.runtime.queues.report import report

        change = self._change()
        result = await self.store.run(step, *arguments, change)
        report(self, change)
        return result

    def __repr__(self) -> str:
        return f"<queue {self.name}>"
