"""``policyctl generate --watch``: generate again whenever something it reads changes."""

from __future__ import annotations

import gc
import os
import signal
import stat
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from policyctl import config
from policyctl.cli import _exit, _generation, _recording, _run, _session
from policyctl.cli._console import Console
from policyctl.model.sources import consulted

INTERVAL = 0.2
"""Seconds between two looks; a change is acted on when the next look finds no other."""
PATIENCE = 2.0
"""Seconds after which a change is acted on though more keep coming."""

_Statuses = dict[str, tuple[int, int, int]]


@dataclass(frozen=True, slots=True)
class _State:
    """How everything is: the configuration and what it names, and code of targets.

    Which code that is shows while policies are read, so more of it is no change.
    """

    files: _Statuses
    code: _Statuses

    def differs(self, later: _State) -> bool:
        """Whether something has changed since."""
        if self.files != later.files:
            return True
        return any(later.code.get(path) != known for path, known in self.code.items())


def watch(console: Console, request: _generation.Request) -> int:
    """Generate, and again after each change, until Ctrl-C; return the exit code.

    Findings are printed and end nothing. Nothing is written from policies that changed
    while they were read.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
    places = _Places(request)
    try:
        while not console.closed:
            places.refresh()
            state = places.state()
            if not _generate(console, request, places, state):
                continue
            console.flush()
            _session.forget()
            gc.collect()
            console.note(f"watching {places.count} files; Ctrl-C ends")
            places.wait(state)
    except KeyboardInterrupt:
        pass
    return _exit.CLEAN


def _generate(
    console: Console, request: _generation.Request, places: _Places, state: _State
) -> bool:
    """Generate once; whether it came to an end, for better or worse."""
    try:
        outcome = _generation.run(
            request, dry=False, confirm=lambda: not state.differs(places.state())
        )
        if outcome.findings:
            _generation.print_findings(console, outcome)
        else:
            _generation.print_warnings(console, outcome)
            _generation.print_written(console, outcome, False)
    except _generation.ChangedError:
        time.sleep(INTERVAL)
        return False
    except Exception as error:  # what is broken now is mended by the next change
        _run._fail(console, error)
    return True


class _Places:
    """The files and folders that a run reads, and how they are now."""

    def __init__(self, request: _generation.Request) -> None:
        self._request = request
        self._root = Path.cwd()
        self._roots: tuple[Path, ...] = ()
        self._output = ""
        self.count = 0
        self.refresh()

    def refresh(self) -> None:
        """Ask the configuration for its folders; while it is broken the last ones stay."""
        try:
            loaded = config.load(Path.cwd())
        except Exception:  # the run that follows says what is wrong with it
            if not self._roots:
                self._roots = (Path.cwd() / "policies",)
            return
        given = map(Path, self._request.paths)
        found = [*given, *(loaded.root / name for name in loaded.policies)]
        found += [path.parent / "presets" for path in found if path.suffix]
        if loaded.templates is not None:
            found.append(loaded.root / loaded.templates)
        self._root = loaded.root
        self._roots = tuple(dict.fromkeys(path.absolute() for path in found))
        output = self._request.output or loaded.root / loaded.output
        self._output = os.path.realpath(output)

    def state(self) -> _State:
        """Times, sizes and inodes of everything, by path."""
        files: _Statuses = {}
        for path in _recording._configurations(self._root):
            _note(files, path)
        for root in self._roots:
            _note(files, str(root))
            for path in self._files(str(root)):
                _note(files, path)
        code: _Statuses = {}
        for path in list(consulted):
            _note(code, path, folders=True)
        self.count = sum(status is not _ABSENT for status in files.values())
        return _State(files, code)

    def wait(self, known: _State) -> None:
        """Return when something is not as it was, and has come to rest."""
        now = self.state()
        known = replace(known, code={**now.code, **known.code})
        while not known.differs(now):
            time.sleep(INTERVAL)
            now = self.state()
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            time.sleep(INTERVAL)
            before, now = now, self.state()
            if not before.differs(now):
                return

    def _files(self, folder: str) -> Iterator[str]:
        """Everything below a folder but hidden files, bytecode and the output."""
        todo = [folder]
        while todo:
            try:
                entries = os.scandir(todo.pop())
            except OSError:
                continue
            with entries:
                for entry in entries:
                    if entry.name.startswith(".") or entry.name == "__pycache__":
                        continue
                    if not entry.is_dir(follow_symlinks=False):
                        yield entry.path
                    elif os.path.realpath(entry.path) != self._output:
                        todo.append(entry.path)


_ABSENT = (0, 0, 0)


def _note(found: _Statuses, path: str, *, folders: bool = False) -> None:
    """Note how a path is; of folders the time only where ``folders`` says so."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        found[path] = _ABSENT
        return
    if stat.S_ISDIR(status.st_mode):
        found[path] = (status.st_mtime_ns if folders else 0, 0, status.st_ino)
    else:
        found[path] = (status.st_mtime_ns, status.st_size, status.st_ino)
