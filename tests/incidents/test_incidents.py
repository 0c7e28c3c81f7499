"""What lint says of policies that public incident reports describe, and of sound ones.

Each file says which report it follows. The codes are all of its findings at warning or
error, and the numbers in the messages are worked out here by hand.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml

HERE = Path(__file__).parent

CODES = {
    "square_2017": "GR005 QU005 RT001 RT003 RT006 TB002",
    "google_cloud_2025": "GR003 GR005 QU005 RT001 RT004 RT006 RT011",
    "dynamodb_2015": "GR005 QU005 RT001 RT004 RT006 TB005",
    "ec2_2025": "QU006 RT001 TB004",
    "slack_2021": "BH001 TB006",
    "slack_2022": "CB009 FB003",
    "discord_2020": "RT001 RT004 RT006 RT011",
    "facebook_2010": "FB003",
    "cascading_2016": "GR001 GR002 GR005 RT001 RT006",
    "twilio_2013": "ID001 RT001",
    "metastable_2021": "GR005 QU005 RT006",
    "visibility_2019": "ID004 QU006",
    "probes_2020": "CB006",
}

MESSAGES = [
    # 5000/s x 500; 20000/s / 500 attempts; 500 x 100 ms without a wait between them.
    ("square_2017", "5000/s x 500 attempts = 2500000/s >= capacity 20000/s"),
    ("square_2017", "recovers only below 40/s"),
    ("square_2017", "one call lasts up to 50s (500 attempts and the waits)"),
    # 4000 / 500 per second; 4 x 1 s and three waits of 0.5 s.
    ("google_cloud_2025", "4000 clients come back together after 5s, but accepting"),
    ("google_cloud_2025", "at 500/s takes 8s"),
    ("google_cloud_2025", "quota_db.read_policies can last 5.5s, but callers wait 2s"),
    ("dynamodb_2015", "attempt_timeout 300ms < p99 450ms: more than 1% of healthy"),
    ("dynamodb_2015", "4000/s x 10 attempts = 40000/s >= capacity 8000/s"),
    # 100 / 0.8 s; 5 x 10 s and waits of 1, 2, 4 and 5 s, which the budget cuts at 60 s.
    ("ec2_2025", "100 consumers at 800ms an item serve 125/s, and 400/s arrive"),
    ("ec2_2025", "worst case 1m2s > 1m: only 4 of 5 attempts can complete, 5 can"),
    ("ec2_2025", "lease 20s < 1m, the worst case of droplet_manager.renew_lease"),
    # 15000/s x 2 queries / 300 processes = 100/s each, for 3 s.
    ("slack_2021", "100/s x 3s = 300 calls bind 100% of the 40 workers of webapp"),
    ("slack_2021", "attempt_timeout 3s is 50 times the p99 of 60ms"),
    # 200000/s x 3 %; 1 / 0.03; 1 / 32.
    ("slack_2022", "200000/s with 97% hits are 6000/s at vitess; with an empty cache"),
    ("slack_2022", "33.33 times as much, against a capacity of 20000/s"),
    ("slack_2022", "one dead shard of 32 fails 3.125% of all calls, which reaches 3%"),
    # 2000000 / 20000 per second.
    ("discord_2020", "2000000 clients come back together after 1s, but accepting"),
    ("discord_2020", "at 20000/s takes 1m40s"),
    # 400000/s x 0.1 %; 1 / 0.001.
    ("facebook_2010", "400000/s with 99.9% hits are 400/s at config_db"),
    ("facebook_2010", "1000 times as much, against a capacity of 50000/s"),
    # 4 x 4 x 4 attempts, and 100/s of pages.
    ("cascading_2016", "4 x frontend.page 4 x backend.get 4 = 64 attempts at"),
    ("cascading_2016", "6400/s reach the capacity 1000/s of store_db"),
    ("twilio_2013", "is tried up to 4 times after timeout, connection_lost, 500 and"),
    # 280/s x 2; 300/s / 2.
    ("metastable_2021", "280/s x 2 attempts = 560/s >= capacity 300/s of db"),
    ("metastable_2021", "280/s planned, but overloaded db recovers only below 150/s"),
    ("visibility_2019", "lease 30s < 15m, the worst case of thumbs.render"),
    # 42 x 0.25 s / ((2 s + 0.25 s) x 2 workers); one of them is 0.25 / 4.5.
    ("probes_2020", "bind 233.3% of the 2 workers of shop, those of kit.r0 5.556%"),
]


def found(folder: str, name: str) -> list[tuple[str, str]]:
    """Code and message of all findings at warning or error."""
    text = (HERE / folder / f"{name}.yaml").read_text(encoding="utf-8")
    diagnostics = lint_yaml(text)
    return [(d.code, d.message) for d in diagnostics if d.severity >= Severity.WARNING]


@pytest.mark.parametrize("name", sorted(CODES))
def test_dangers_are_named_and_nothing_else(name: str) -> None:
    """The codes at warning or error are those that the report is about."""
    assert sorted({code for code, _ in found("outages", name)}) == CODES[name].split()


@pytest.mark.parametrize(("name", "words"), MESSAGES)
def test_numbers_are_right(name: str, words: str) -> None:
    """A message prints the numbers that its comment works out."""
    assert [m for _, m in found("outages", name) if words in m] != []


@pytest.mark.parametrize(
    "name", sorted(path.stem for path in (HERE / "healthy").glob("*.yaml"))
)
def test_sound_policies_raise_no_alarm(name: str) -> None:
    """Nothing at warning or error is said of settings that hold."""
    assert found("healthy", name) == []


def test_every_file_is_judged() -> None:
    """No policy lies here untested, and each names its report."""
    files = sorted((HERE / "outages").glob("*.yaml"))
    assert [path.stem for path in files] == sorted(CODES)
    assert {name for name, _ in MESSAGES} == set(CODES)
    assert all("# After: " in path.read_text(encoding="utf-8") for path in files)
