"""Bytes to text: encoding, byte-order mark, forbidden characters, line starts."""

from __future__ import annotations

import codecs
import re
from itertools import accumulate

from policyctl.diagnostics import Diagnostic, Span
from policyctl.source.codes import finding
from policyctl.source.nodes import Source

_PLAIN_BYTES = bytes([9, 10, 13, *range(32, 127)])
_FORBIDDEN = re.compile(
    "[^\\t\\n\\r\\x20-\\x7e\\xa0-\\u2027\\u202a-\\ud7ff\\ue000-\\ufefe\\uff00-\\ufffd"
    "\\U00010000-\\U0010ffff]"
)
_BREAK_NAMES = {
    "\x85": "next line (U+0085)",
    "\u2028": "line separator (U+2028)",
    "\u2029": "paragraph separator (U+2029)",
}
OFFSETS = tuple(range(16_384))
"""Offsets that all files share: each would be an object of its own otherwise."""
_UTF8_HELP = "save the file as UTF-8"


def decode(data: bytes, path: str) -> tuple[Source | None, Diagnostic | None]:
    """Return the decoded text of a file, and the one finding that forbids to parse it.

    Only UTF-8 is read, with or without a byte-order mark. Characters that YAML forbids
    and the line breaks that only some parsers know are refused, so that every offset
    means the same to us, to libyaml and to an editor.
    """
    has_bom = data.startswith(codecs.BOM_UTF8)
    if has_bom:
        data = data[3:]
    elif (problem := _foreign(data)) is not None:
        message = f"the file is {problem}"
        return None, finding("SY001", Span(path), message, _UTF8_HELP)
    if b"\0" in data:
        at = data.index(b"\0")
        message = f"the file is binary: it has a NUL byte at offset {at}"
        return None, finding("SY002", Span(path), message, "give a YAML text file")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return None, _not_utf8(data, path, error)
    if text.isascii() and not data.translate(None, _PLAIN_BYTES):
        return Source(path, text, has_bom, _plain_line_starts(text)), None
    source = Source(path, text, has_bom, line_starts(text))
    return source, _forbidden(source)


def line_starts(text: str) -> list[int]:
    """Offsets of line starts; only ``\\n``, ``\\r\\n`` and ``\\r`` end a line."""
    return [0, *(found.end() for found in re.finditer("\r\n?|\n", text))]


def _plain_line_starts(text: str) -> list[int]:
    """The same, faster, for text where ``splitlines`` knows no other line break."""
    lines = text.splitlines(True)
    offsets = accumulate(map(len, lines), initial=0)
    if len(text) < len(OFFSETS):
        starts = list(map(OFFSETS.__getitem__, offsets))
    else:
        starts = list(offsets)
    if lines and lines[-1][-1] not in "\r\n":
        starts.pop()
    return starts


def _foreign(data: bytes) -> str | None:
    """The encoding of data that is UTF-16 or UTF-32, by mark or by its zero bytes."""
    head = data[:4]
    if head in (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE):
        return "UTF-32, not UTF-8"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "UTF-16, not UTF-8"
    zeros = tuple(byte == 0 for byte in head)
    if zeros in ((False, True, False, True), (True, False, True, False)):
        return "UTF-16 without a byte-order mark, not UTF-8"
    return None


def _not_utf8(data: bytes, path: str, error: UnicodeDecodeError) -> Diagnostic:
    line = data.count(b"\n", 0, error.start) + 1
    byte = data[error.start]
    message = (
        f"the file is not UTF-8: byte 0x{byte:02x} at offset {error.start}, line {line}"
    )
    return finding("SY001", Span(path), message, _UTF8_HELP)


def _forbidden(source: Source) -> Diagnostic | None:
    found = _FORBIDDEN.search(source.text)
    if found is None:
        return None
    character = found.group()
    span = source.span(found.start(), found.end())
    name = _BREAK_NAMES.get(character)
    if name is not None:
        escape = f"\\u{ord(character):04x}"
        return finding(
            "SY002",
            span,
            f"{name} ends a line for some YAML parsers and not for others",
            f'use an ordinary line break, or write "{escape}" in double quotes',
        )
    message = f"control or invalid character U+{ord(character):04X}"
    escape = f"\\x{ord(character):02x}" if ord(character) < 256 else "an escape"
    hint = f"remove it, or write {escape} inside double quotes"
    return finding("SY002", span, message, hint)
