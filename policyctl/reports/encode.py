"""Text for outputs that cannot show every character."""

from __future__ import annotations

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
    """A character as people may see it: control and invisible ones as escapes.

    The plain space is the only space that is shown as it is.
    """
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def one_line(text: str) -> str:
    """``text`` with everything that would break or disturb a line made visible."""
    if text.isprintable():
        return text
    return "".join(map(visible, text))
