"""The Python of the guides on testing and on HTTP runs as printed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"
BLOCKS = [
    pytest.param(text, id=f"{name}-{index}")
    for name in ("testing.md", "http.md")
    for index, text in enumerate(
        re.findall(r"```python\n(.*?)```", (DOCS / name).read_text("utf-8"), re.S)
    )
]


@pytest.mark.parametrize("text", BLOCKS)
def test_snippets_run(text: str) -> None:
    """Every block stands on its own: imports, definitions and assertions."""
    namespace: dict[str, Any] = {"__name__": "guide"}
    exec(compile(text, "guide", "exec"), namespace)
    for name in ("send_mail",):
        if name in namespace:
            namespace[name]()
