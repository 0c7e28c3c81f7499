"""What the README shows is what a reader gets."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(language: str, number: int = 0) -> str:
    """The README's fenced block of that language, counted from 0."""
    found: list[str] = re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)
    return found[number]


def policyctl(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in ``folder``."""
    return subprocess.run(
        [sys.executable, "-m", "policyctl", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NO_COLOR": "1"},
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with the README's policy in it."""
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "payment_api.yaml").write_text(block("yaml"), "utf-8")
    return tmp_path


def test_the_diagnostic_is_what_validate_prints(project: Path) -> None:
    """The finding in the README is the only one above info, letter by letter."""
    done = policyctl(project, "validate")
    assert block("text") in done.stdout
    assert done.stdout.count("warning[") == 1
    assert "error[" not in done.stdout
    assert done.returncode == 0


def test_the_call_works(project: Path) -> None:
    """The generated module guards a function as the README shows."""
    policyctl(project, "generate", "--output", "acme/resilience")
    code = block("python").replace("-> Receipt: ...", "-> Receipt: return order")
    program = (
        "from __future__ import annotations\nimport asyncio\n"
        f"{code}\nprint(asyncio.run(charge(7)), payment_api.charge.circuit_breaker.state)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("7 closed\n", "")


def test_links_lead_somewhere() -> None:
    """Every relative link of the README and the guides names a file that exists."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    missing = [
        f"{page.name}: {target}"
        for page in pages
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
        if not (page.parent / target).exists()
    ]
    assert missing == []


def test_every_guide_is_listed_once() -> None:
    """The README's tables name each page under docs/, and none twice."""
    listed = re.findall(r"\]\(docs/([a-z-]+\.md)\)", README.split("## Guides")[1])
    pages = [page.name for page in (ROOT / "docs").glob("*.md")]
    assert sorted(listed) == sorted(pages)


def test_every_example_is_named() -> None:
    """A folder of examples that no page leads to helps nobody."""
    named = set(re.findall(r"examples/([a-z_]+)", README)) | {"demo"}
    folders = {path.name for path in (ROOT / "examples").iterdir() if path.is_dir()}
    assert folders - {"__pycache__"} == named
