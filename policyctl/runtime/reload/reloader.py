"""Keeps the policies of a process as a document says that others edit (C40)."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import uniform
from threading import Event, Lock, Thread
from typing import Literal
from weakref import WeakSet

from policyctl.runtime.reload.document import (
    PolicyDocument,
    RefusedError,
    read_document,
)
from policyctl.runtime.reload.keep import Kept, KeptError
from policyctl.runtime.reload.plan import Change, Plan, plan_changes
from policyctl.runtime.reload.reading import LastGood, StaleError
from policyctl.runtime.reload.sources import Source

INTERVAL = 5.0
"""Seconds between looks at the source, give or take a tenth."""
STOP_WITHIN = 1.0
"""Seconds that ``stop`` waits for a look that is under way."""
_SAVE_EVERY = 60.0

Mode = Literal["apply", "shadow"]
_reloaders: WeakSet[Reloader] = WeakSet()


@dataclass(frozen=True, slots=True)
class Status:
    """What the last look at the source came to.

    Attributes:
        revision: the digest of the document in force; None while generated settings
            are. In mode shadow, of the one that would be.
        changes: what the last document that differed changed, or would change.
        unknown: operations of this process that the document does not have.
        stale: whether the source has another document, or none, for ``error``.
        error: why what the source has is not in force; None if it is.
        age: seconds since the source confirmed the document; None if it never did.
        restored: whether the document in force was kept on disk by an earlier process.
    """

    revision: str | None = None
    changes: tuple[Change, ...] = ()
    unknown: tuple[str, ...] = ()
    stale: bool = False
    error: Exception | None = None
    age: float | None = None
    restored: bool = False


@dataclass(slots=True)
class _Options:
    interval: float
    mode: Mode
    kept: Kept | None
    on_status: Callable[[Status], object] | None = None
    running: bool = False
    saved: str = ""
    saved_age: float = field(default=float("inf"))


class Reloader:
    """Looks at a source, and puts what it says into force if all of it is right.

    A document that is wrong, or cannot be applied while the process runs, is refused
    whole, and what was in force stays so. Breaker windows, slots in use, tokens and
    stored outcomes are kept. Nothing happens before ``start`` or ``check``.

    Args:
        source: where documents come from.
        interval: seconds between looks.
        mode: ``shadow`` only reports what would change.
        keep: a file for the last good document, used at start while the source is away.
        max_age: seconds after which a kept document is not used any more.
        max_stale: seconds after which a document that the source does not confirm is
            reported as ``StaleError``; the settings in force stay.
        on_status: called with the status after each look that brought news.
    """

    def __init__(
        self,
        source: Source,
        *,
        interval: float = INTERVAL,
        mode: Mode = "apply",
        keep: str | os.PathLike[str] | None = None,
        max_age: float | None = 7 * 86400.0,
        max_stale: float | None = None,
        on_status: Callable[[Status], object] | None = None,
    ) -> None:
        if not interval > 0:
            raise ValueError(f"interval={interval!r}: it must be over 0 s")
        if mode not in ("apply", "shadow"):
            raise ValueError(f"mode={mode!r}: it is apply or shadow")
        kept = None if keep is None else Kept(keep, max_age)
        self._source = source
        self._options = _Options(interval, mode, kept, on_status)
        self._last = LastGood(source.fetch, self._accept, max_stale=max_stale)
        self._status = Status()
        self._plan: Plan | None = None
        self._lock = Lock()
        self._stopped = Event()
        self._thread: Thread | None = None
        _reloaders.add(self)

    @property
    def status(self) -> Status:
        """What the last look came to."""
        return self._status

    # -- running ---------------------------------------------------------------------

    def start(self) -> Status:
        """Look once, in this thread, and go on in one of its own.

        Where the source is away, the kept document is used; without one the generated
        settings stay, and ``status.error`` says why.
        """
        self._options.running = True
        status = self.check()
        if status.revision is None and self._options.kept is not None:
            status = self._restore(self._options.kept, status)
        self._begin()
        return status

    def stop(self) -> None:
        """End the thread; what is in force stays so. Takes a second at most."""
        self._options.running = False
        self._stopped.set()
        thread, self._thread = self._thread, None
        if thread is not None and thread.is_alive():
            thread.join(STOP_WITHIN)

    def _begin(self) -> None:
        if self._thread is None:
            self._stopped = Event()
            self._thread = Thread(
                target=self._run,
                args=(self._stopped,),
                name="policyctl reload",
                daemon=True,
            )
            self._thread.start()

    def _run(self, stopped: Event) -> None:
        interval = self._options.interval
        while not stopped.wait(interval * uniform(0.9, 1.1)):
            self.check()

    def after_fork(self) -> None:
        """In a child process: a fresh lock, and a thread if the parent had one."""
        self._lock = Lock()
        self._stopped = Event()
        self._thread = None
        if self._options.running:
            self._begin()

    # -- looking ---------------------------------------------------------------------

    def check(self) -> Status:
        """Look at the source now; never raises for what the source has."""
        with self._lock:
            before = self._status
            status = self._look()
            self._status = status
        self._report(before, status)
        return status

    def _look(self) -> Status:
        before, self._plan = self._status, None
        try:
            reading = self._last.read()
        except StaleError as error:
            return replace(before, stale=True, error=error, age=error.age)
        if reading.stale:
            return replace(before, stale=True, error=reading.error, age=reading.age)
        document, plan = reading.value, self._plan
        if plan is None:  # the same text; policies that came later are to follow it
            try:
                plan = plan_changes(document)
            except RefusedError as error:
                return replace(before, stale=True, error=error, age=reading.age)
        return self._put_into_force(document, plan, reading.changed, False)

    def _accept(self, text: bytes) -> PolicyDocument:
        """A document that is right and that this process can take over."""
        document = read_document(text)
        self._plan = plan_changes(document)
        return document

    def _put_into_force(
        self, document: PolicyDocument, plan: Plan, changed: bool, restored: bool
    ) -> Status:
        options = self._options
        if options.mode == "apply":
            plan.apply()
            if not restored:
                self._keep(document)
        changes = tuple(plan.changes)
        if not changes and not changed:
            changes = self._status.changes
        age = self._last.age()
        return Status(
            document.revision,
            changes,
            tuple(plan.unknown),
            restored,
            None,
            age,
            restored,
        )

    def _restore(self, kept: Kept, before: Status) -> Status:
        """Use what an earlier process kept."""
        with self._lock:
            try:
                text, age = kept.load()
                document = read_document(text)
                plan = plan_changes(document)
            except (KeptError, RefusedError) as error:
                _log("warning", "kept policies are not used: %s", error)
                return before
            self._last.restore(text, document, age)
            status = self._put_into_force(document, plan, True, True)
            self._status = status = replace(status, error=before.error, age=age)
        _log(
            "warning",
            "policies of %s are %.0f s old, kept on disk: %s",
            self._source.name,
            age,
            before.error,
        )
        return status

    def _keep(self, document: PolicyDocument) -> None:
        """Write the document down when it is new, and now and then to confirm it."""
        options = self._options
        if options.kept is None:
            return
        from policyctl.runtime.clock import CLOCK

        now = CLOCK.now()
        is_new = options.saved != document.revision
        if not is_new and now - options.saved_age < _SAVE_EVERY:
            return
        try:
            options.kept.save(document.text)
        except (OSError, ValueError) as error:
            if is_new:
                _log("warning", "policies cannot be kept on disk: %s", error)
        options.saved, options.saved_age = document.revision, now

    # -- telling ---------------------------------------------------------------------

    def _report(self, before: Status, status: Status) -> None:
        name = self._source.name
        news = True
        if status.error is not None:
            news = _why(status) != _why(before)
            if news:
                _log("error", "policies of %s are refused: %s", name, status.error)
        elif status.revision != before.revision or before.error is not None:
            verb = "would change" if self._options.mode == "shadow" else "are in force"
            _log(
                "info",
                "policies of %s %s: %s",
                name,
                verb,
                "; ".join(map(str, status.changes)) or "nothing differs",
            )
        else:
            news = status.changes != before.changes
        if news and self._options.on_status is not None:
            try:
                self._options.on_status(status)
            except Exception as error:
                _log("error", "on_status failed: %r", error)


def _why(status: Status) -> str:
    """The reason of an error, without ages, which differ every time."""
    return str(getattr(status.error, "error", None) or status.error)


def _log(level: str, message: str, *args: object) -> None:
    import logging

    getattr(logging.getLogger("policyctl"), level)(message, *args)


def _after_fork_in_child() -> None:
    for reloader in list(_reloaders):
        reloader.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
