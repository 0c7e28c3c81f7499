"""CL-03: symbols in the output crashed when it was redirected under another encoding.

https://github.com/moorcheh-ai/memanto/pull/1903,
https://github.com/pallets/click/pull/3778
"""

from __future__ import annotations

import json

import pytest

from policyctl import reports
from policyctl.diagnostics import Diagnostic, Related, Severity
from policyctl.reports.encode import encodable
from policyctl.reports.report import Report
from policyctl.source.reader import read

TEXT = "支払い: &a {電話: 1, 電話: 2}\nlong: '" + "…→×" * 60 + "'\n"


@pytest.fixture
def wide() -> Report:
    """A report full of characters that few encodings have."""
    result = read(TEXT.encode(), "支払い/料金.yaml")
    assert result.source is not None
    span = result.source.span(TEXT.index("→"), TEXT.index("→") + 1)
    extra = Diagnostic(
        "TB001",
        "x",
        Severity.INFO,
        "over … by ×2 → 支払い \ud800",
        span,
        (Related(span, "ここ"),),
        "write …",
    )
    return Report.of([*result.diagnostics, extra], {"支払い/料金.yaml": result.source})


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "cp437", "utf-8"])
@pytest.mark.parametrize("name", reports.format_names())
def test_every_format_can_be_written(wide: Report, name: str, encoding: str) -> None:
    """What the output cannot show is replaced, and nothing is lost silently."""
    text = reports.render(name, wide)
    written = encodable(text, encoding).encode(encoding)
    assert b"duplicate-key" in written


@pytest.mark.parametrize("name", ["json", "sarif"])
def test_machine_formats_are_the_same_bytes_everywhere(wide: Report, name: str) -> None:
    """They print ASCII, which is UTF-8 without a mark under every locale."""
    text = reports.render(name, wide)
    assert text.encode("ascii") == text.encode("utf-8")
    assert encodable(text, "cp1252") == text
    assert "支払い" in json.dumps(json.loads(text), ensure_ascii=False)


def test_colour_only_when_asked(wide: Report) -> None:
    """No escape sequence comes out by itself."""
    for name in reports.format_names():
        assert "\033" not in reports.render(name, wide)
