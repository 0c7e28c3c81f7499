"""YA-11: one duration grammar everywhere, and the unit is never guessed.

https://github.com/CodeIntelligenceTesting/cifuzz/pull/229
"""

from __future__ import annotations

import pytest

from policyctl.checks.limits import parse_limit
from policyctl.model.patterns import Patterns
from policyctl.model.validate import parse_document
from policyctl.source.reader import read
from policyctl.units import UnitError, parse_duration

_GOOD = {"1m": 60.0, "1m30s": 90.0, "1h30m": 5400.0, "1.5s": 1.5, "300s": 300.0}
_BAD = [
    "300",
    "5",
    "1.5",
    "1M",
    "-1s",
    "1e3s",
    "5 s",
    "٥s",
    "５s",
    "1:30",
    "s",
    "1.5.2s",
]


def in_yaml(text: str) -> float | None:
    """The seconds that a policy file with this plain scalar gives."""
    document = (
        f"version: 1\nservice: pay\noperations: {{a: {{attempt_timeout: {text}}}}}\n"
    )
    (parsed,) = map(parse_document, read(document.encode(), "f.yaml").documents)
    if parsed.model is None:
        (finding,) = parsed.diagnostics
        assert finding.name == "invalid-duration"
        return None
    operations = parsed.model.model_dump(exclude_unset=True)["operations"]
    total: float = operations["a"]["attempt_timeout"]["total"]
    return total


@pytest.mark.parametrize(("text", "seconds"), _GOOD.items())
def test_a_duration_is_the_same_everywhere(text: str, seconds: float) -> None:
    """A policy file, an override, the Python functions and the model agree."""
    assert in_yaml(text) == seconds
    assert parse_limit("attempt_timeout.total", text) == seconds
    assert parse_duration(text) == seconds
    model = Patterns.model_validate({"attempt_timeout": text})
    assert model.model_dump(exclude_unset=True) == {
        "attempt_timeout": {"total": seconds}
    }


@pytest.mark.parametrize("text", _BAD)
def test_what_is_no_duration_is_none_anywhere(text: str) -> None:
    """No way in takes a bare number, a sign, an exponent, spaces or other digits."""
    assert in_yaml(text) is None
    with pytest.raises(UnitError):
        parse_limit("attempt_timeout.total", text)
    with pytest.raises(UnitError):
        parse_duration(text)


def test_spaces_around_are_refused_in_quotes() -> None:
    """YAML strips plain scalars; a quoted one keeps its spaces and is refused."""
    assert in_yaml(" 5s ") == 5.0
    assert in_yaml("' 5s '") is None


@pytest.mark.parametrize("text", ["300", "1.5"])
def test_the_hint_repeats_the_number_with_units(text: str) -> None:
    """Whoever forgot the unit is shown the two most likely ones."""
    document = f"version: 1\nservice: pay\noperations: {{a: {{budget: {text}}}}}\n"
    (parsed,) = map(parse_document, read(document.encode(), "f.yaml").documents)
    assert [d.help for d in parsed.diagnostics] == [f"write {text}s or {text}ms"]
