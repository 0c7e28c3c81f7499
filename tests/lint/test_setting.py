"""Thresholds: defaults, overrides, refusals."""

from __future__ import annotations

import pytest

from policyctl.lint import setting
from policyctl.lint.setting import Setting, SettingError


class Holder:
    """A class with one threshold of each kind."""

    factor = setting.number(2.0, "a factor")
    most = setting.count(3, "a count")
    share = setting.ratio(0.5, "a share")
    longest = setting.seconds(90.0, "a duration")


def test_defaults_and_overrides() -> None:
    """Instances keep their own values; the class keeps the setting."""
    one, other = Holder(), Holder()
    setattr(one, "most", 7)  # noqa: B010 - thresholds come from a configuration
    assert (one.most, other.most, other.factor) == (7, 3, 2.0)
    assert isinstance(Holder.most, Setting)
    assert Holder.most.name == "most"
    assert Holder.longest.show(Holder.longest.default) == "1m30s"


@pytest.mark.parametrize(
    ("name", "value", "parsed"),
    [
        ("factor", 3, 3.0),
        ("most", 4.0, 4),
        ("share", "5%", 0.05),
        ("share", 0.25, 0.25),
        ("longest", "1m30s", 90.0),
    ],
)
def test_accepted_values(name: str, value: object, parsed: float) -> None:
    """Values are written as in the rest of the configuration."""
    holder = Holder()
    setattr(holder, name, value)
    assert getattr(holder, name) == parsed


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("factor", -1),
        ("factor", float("nan")),
        ("factor", float("inf")),
        ("factor", "2"),
        ("most", 1.5),
        ("most", False),
        ("share", 1.5),
        ("share", "x%"),
        ("longest", 30),
        ("longest", "30"),
    ],
)
def test_refused_values(name: str, value: object) -> None:
    """Everything else is an error that names the value."""
    with pytest.raises(SettingError, match=r"\S"):
        setattr(Holder(), name, value)
