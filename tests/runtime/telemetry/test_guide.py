"""docs/telemetry.md says what is so."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from policyctl.runtime.registry import registry
from policyctl.runtime.telemetry import lines, meter, names, prometheus
from policyctl.runtime.telemetry.switch import SWITCH

GUIDE = (Path(__file__).parents[3] / "docs" / "telemetry.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)


@pytest.fixture
def own_world() -> Iterator[None]:
    """What the guide's code leaves behind goes away."""
    logger = logging.getLogger("policyctl")
    handlers, level = logger.handlers[:], logger.level
    yield
    logger.handlers[:] = handlers
    logger.setLevel(level)
    prometheus.unregister()
    if "guide_api.read" in registry:
        registry.forget("guide_api.read")
    SWITCH.services.pop("guide_api", None)
    SWITCH.meters.pop(("guide_api", "read"), None)


@pytest.mark.usefixtures("own_world")
@pytest.mark.parametrize("text", BLOCKS)
def test_snippets_run(text: str) -> None:
    """Every block stands on its own."""
    namespace: dict[str, Any] = {"__name__": "guide"}
    exec(compile(text, "guide", "exec"), namespace)


def test_every_metric_has_its_row() -> None:
    """The table lists exactly the metrics, with their kinds and labels."""
    rows = re.findall(
        r"^\| `(policyctl_\w+)` \| (\w+) \| ([^|]*) \|", GUIDE, re.MULTILINE
    )
    assert sorted(rows) == sorted(
        (m.name, m.kind, ", ".join(f"`{label}`" for label in m.labels))
        for m in names.METRICS
    )


def test_every_value_of_a_label_is_named() -> None:
    """Outcomes, reasons and states are the words of the code."""
    rows = dict(re.findall(r"^\| (`?\w.*?) \| (.*) \|$", GUIDE, re.MULTILINE))
    words = {key: re.findall(r"`(\w+)`", value) for key, value in rows.items()}
    assert [w for w in words["`outcome`"] if w in meter.OUTCOMES] == list(
        meter.OUTCOMES
    )
    assert words["`reason` of retries"] == list(meter.RETRY_REASONS)
    rejections = [*meter.REJECTIONS.values(), meter.OTHER]
    assert words["`reason` of rejections"] == rejections
    assert words["`state`, `old`, `new`"] == list(names.BREAKER_STATES)


def test_every_kind_of_line_has_its_row() -> None:
    """The table of the log names each event that is logged, with its bound."""
    table = GUIDE[GUIDE.index("| event | level |") : GUIDE.index("The bound holds")]
    found: dict[str, str] = {}
    for row in table.splitlines()[2:]:
        if row.startswith("|"):
            events, _, most = row.strip("| ").split("|")
            found.update(dict.fromkeys(re.findall(r"`(\w+)`", events), most.strip()))
    assert found == {
        kind: str(lines.MOST.get(kind, "all")) for kind in [*lines._LINES, "heartbeat"]
    }


def test_json_in_the_guide_is_json() -> None:
    """The example of a line is one."""
    (text,) = re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL)
    assert json.loads(text)["policyctl"]["event"] == "transition"
