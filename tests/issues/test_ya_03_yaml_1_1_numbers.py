"""YA-03: under YAML 1.1 rules ``1:30`` became 90 and ``22:22`` became 1342.

https://github.com/yaml/pyyaml/issues/395, https://github.com/yaml/pyyaml/issues/272
"""

from __future__ import annotations

import pytest

from policyctl.source.plain import to_plain
from policyctl.source.reader import read


@pytest.mark.parametrize("pure", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        "1:30",
        "10:00",
        "22:22",
        "190:20:30",
        "010",
        "0o10",
        "-0o7",
        "1_000",
        "1_0.5",
        "2024-01-01",
        "2024-01-01T10:00:00Z",
        "0b1",
        "+0x1F",
        "1,000",
        "12e03_4",
        "yes",
        "no",
        "on",
        "off",
        "y",
        "n",
        "Yes",
        "OFF",
    ],
)
def test_the_literal_text_is_the_value(text: str, pure: bool) -> None:
    """Neither parser makes a number, date or boolean of it."""
    (document,) = read(f"a: {text}".encode(), "f.yaml", pure=pure).documents
    assert to_plain(document.root) == {"a": text}


def test_quoted_numbers_are_text() -> None:
    """Quotes always make text."""
    (document,) = read(b"a: '1:30'\nb: '5'\nc: \"true\"\n", "f.yaml").documents
    assert to_plain(document.root) == {"a": "1:30", "b": "5", "c": "true"}


def test_core_numbers_are_numbers() -> None:
    """What YAML 1.1 and 1.2 agree on is read as a number."""
    (document,) = read(b"a: [0x1F, 12, -3, 1.5, 1.0e3]", "f.yaml").documents
    assert to_plain(document.root) == {"a": [31, 12, -3, 1.5, 1000.0]}
