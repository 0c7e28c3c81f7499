"""Text for outputs that cannot show every character."""

from __future__ import annotations

import unicodedata

_STAND_INS = str.maketrans(
    {
        "…": "...",
        "→": "->",
        "—": "-",
        "–": "-",
        "×": "x",
        "‘": "'",
        "’": "'",
        "“": '"',
        "”": '"',
    }
)
_ESCAPED = frozenset({"Cc", "Cf", "Cn", "Cs", "Zl", "Zp"})


def encodable(text: str, encoding: str | None) -> str:
    """Return ``text`` with what ``encoding`` lacks replaced, so that writing succeeds.

    Typographic signs become their ASCII look-alikes, other characters escapes such as
    ``\\u4ef7``. An unknown encoding is taken for ASCII.
    """
    encoding = encoding or "ascii"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        replaced = text.translate(_STAND_INS)
        return replaced.encode(encoding, "backslashreplace").decode(encoding)
    except LookupError:
        return encodable(text, "ascii")
    return text


def visible(character: str) -> str:
    """A character as people may see it: control and invisible ones as escapes."""
    if character < "\x7f":
        return character if character >= " " else f"\\x{ord(character):02x}"
    if unicodedata.category(character) in _ESCAPED:
        code = ord(character)
        if code < 0x100:
            return f"\\x{code:02x}"
        return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    return character


def one_line(text: str) -> str:
    """``text`` with everything that would break or disturb a line made visible."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(visible, text))
