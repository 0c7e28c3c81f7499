"""Where each key of a TOML text stands, which ``tomllib`` does not tell.

The text has been accepted by ``tomllib`` before it comes here, so the scanner only has
to step over values, not to judge them.
"""

from __future__ import annotations

import re

KeyPath = tuple[str, ...]
Place = tuple[int, int]

_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*"{3,5}'
    r"|'''(?:[^']|'(?!''))*'{3,5}"
    r'|"(?:[^"\\]|\\.)*"'
    r"|'[^']*'",
    re.DOTALL,
)
_ATOM = re.compile(r"[^,\]}#\n]*")
_UNTIL_EQUALS = re.compile(r"[ \t]*=[ \t]*")


class _Scanner:
    """One pass over the text; ``places`` maps key paths to character offsets."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.places: dict[KeyPath, Place] = {}

    def skip(self, pattern: re.Pattern[str]) -> str:
        """Step over what ``pattern`` matches here and return it."""
        found = pattern.match(self.text, self.at)
        if found is None:
            return ""
        self.at = found.end()
        return found.group()

    def peek(self, prefix: str) -> bool:
        """Whether the text goes on with ``prefix``."""
        return self.text.startswith(prefix, self.at)

    def key(self) -> tuple[KeyPath, Place]:
        """Read a dotted key; the place covers all its parts."""
        start = self.at
        parts: list[str] = []
        while True:
            quoted = self.skip(_STRING)
            parts.append(quoted[1:-1] if quoted else self.skip(_BARE))
            end = self.at
            self.skip(_SPACE)
            if not self.peek("."):
                return tuple(parts), (start, end)
            self.at += 1
            self.skip(_SPACE)

    def assignment(self, table: KeyPath) -> None:
        """Read ``key = value`` inside ``table``."""
        parts, place = self.key()
        path = table + parts
        for length in range(len(table) + 1, len(path) + 1):
            self.places.setdefault(path[:length], place)
        self.skip(_UNTIL_EQUALS)
        self.value(path)

    def value(self, path: KeyPath) -> None:
        """Step over a value, noting the keys of inline tables."""
        if self.skip(_STRING):
            return
        if not self.peek("[") and not self.peek("{"):
            self.skip(_ATOM)
            return
        inline_table = self.peek("{")
        closing = "}" if inline_table else "]"
        self.at += 1
        while self.at < len(self.text):
            self.skip(_SPACE)
            if self.peek(closing):
                self.at += 1
                return
            if self.peek(","):
                self.at += 1
            elif inline_table:
                self.assignment(path)
            else:
                self.value(path)

    def run(self) -> dict[KeyPath, Place]:
        """Read the whole text."""
        table: KeyPath = ()
        while True:
            self.skip(_SPACE)
            before = self.at
            if before >= len(self.text):
                return self.places
            if self.peek("["):
                table = self.header()
            else:
                self.assignment(table)
            if self.at == before:
                return self.places

    def header(self) -> KeyPath:
        """Read ``[table]`` or ``[[table]]``."""
        brackets = 2 if self.peek("[[") else 1
        self.at += brackets
        self.skip(_SPACE)
        parts, place = self.key()
        self.at += brackets
        for length in range(1, len(parts) + 1):
            self.places.setdefault(parts[:length], place)
        return parts


def find_keys(text: str) -> dict[KeyPath, Place]:
    """Map each key path of a valid TOML text to the offsets of its first mention.

    Tables are listed by their header, dotted keys by the whole dotted key. The tables of
    an array of tables share one path.
    """
    return _Scanner(text).run()
