"""generate renders what changed alone, and never believes a file that was touched."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from policyctl.cli.main import run
from policyctl.generate import memo, render
from policyctl.generate.compare import compare
from policyctl.generate.contexts import ModuleContext
from policyctl.generate.digest import content_digest

POLICY = """\
version: 1
service: {name}
operations:
  get: {{transport: http, idempotent: true, attempt_timeout: {seconds}s}}
  put: {{transport: http}}
"""
ALPHA = Path("generated/alpha.py")


def put(name: str, seconds: int) -> Path:
    """Write a service's policy."""
    path = Path("policies", f"{name}.yaml")
    path.parent.mkdir(exist_ok=True)
    path.write_text(POLICY.format(name=name, seconds=seconds), "utf-8")
    return path


@pytest.fixture
def rendered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The services whose modules are rendered, in a project that was generated."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("POLICYCTL_NO_CACHE", raising=False)
    put("alpha", 1)
    put("beta", 1)
    assert run(["generate"]) == 0
    found: list[str] = []
    real = render.render_module

    def counted(context: ModuleContext, folder: Path | None = None) -> str:
        found.append(context.docstring[0].split()[-1].rstrip("."))
        return real(context, folder)

    monkeypatch.setattr(render, "render_module", counted)
    return found


def test_only_what_changed_is_rendered(rendered: list[str]) -> None:
    """A changed policy renders one module, and nothing changed renders none."""
    assert run(["generate"]) == 0
    assert rendered == []
    put("beta", 2)
    assert run(["generate"]) == 0
    assert rendered == ["beta"]
    assert "total=2.0" in Path("generated/beta.py").read_text("utf-8")
    assert run(["generate", "--check", "--no-cache"]) == 0


def test_a_check_renders_everything(rendered: list[str]) -> None:
    """What stands in a cache is no ground for a check to pass."""
    assert run(["generate", "--check", "--no-cache"]) == 0
    assert rendered == ["alpha", "beta"]


def test_an_edit_is_undone_though_the_lock_file_vouches_for_it(
    rendered: list[str],
) -> None:
    """An edited module is rendered, even if its digest was forged in the lock file."""
    good = ALPHA.read_bytes()
    bad = good.replace(b"total=1.0", b"total=9.0")
    ALPHA.write_bytes(bad)
    lock = Path("generated/policies.lock.json")
    text = lock.read_text("utf-8")
    lock.write_text(text.replace(content_digest(good), content_digest(bad)), "utf-8")
    assert run(["generate"]) == 0
    assert rendered == ["alpha"]
    assert ALPHA.read_bytes() == good
    assert json.loads(lock.read_text("utf-8"))["files"]["alpha.py"] == content_digest(
        good
    )


def test_another_generator_renders_everything(
    rendered: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another installation printed is not known to be what this one prints."""
    from policyctl.cli import _memo

    assert memo.installation() == memo.installation()
    monkeypatch.setattr(_memo, "installation", lambda: "other")
    assert run(["generate"]) == 0
    assert rendered == ["alpha", "beta"]


@pytest.mark.parametrize("content", [b"", b"\xff", b"end", b"x\ny z\n", b"a b c\nend"])
def test_a_damaged_memo_is_none(rendered: list[str], content: bytes) -> None:
    """Whatever is wrong with the file, everything is rendered and it is written anew."""
    path = Path(".policyctl-cache/modules")
    good = path.read_bytes()
    path.write_bytes(content)
    assert run(["generate"]) == 0
    assert rendered == ["alpha", "beta"]
    assert path.read_bytes() == good


def test_the_order_of_operations_counts(
    rendered: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The same values in another order are another module, and the check says so."""
    path = put("alpha", 1)
    lines = path.read_text("utf-8").splitlines()
    path.write_text("\n".join([*lines[:3], lines[4], lines[3]]) + "\n", "utf-8")
    assert run(["generate", "--check", "--no-cache"]) == 1
    assert "the order of its policy, or the generator, changed" in (
        capsys.readouterr().out
    )
    rendered.clear()
    assert run(["generate"]) == 0
    assert rendered == ["alpha"]


def test_single_files_keep_what_is_known_of_the_others(rendered: list[str]) -> None:
    """After a partial run, a whole one renders nothing."""
    put("beta", 3)
    assert run(["generate", "policies/beta.yaml"]) == 0
    assert run(["generate"]) == 0
    assert rendered == ["beta"]


def test_a_file_that_changes_in_between_is_rendered_after_all(
    rendered: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An edit between building and comparing leads to a run that builds everything."""
    real = compare
    calls: list[bool] = []

    def edited(*arguments: object) -> object:
        if not calls:
            ALPHA.write_bytes(ALPHA.read_bytes() + b"\n")
        calls.append(True)
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("policyctl.cli._generation.compare", edited)
    good = ALPHA.read_bytes()
    assert run(["generate"]) == 0
    assert len(calls) == 2
    assert ALPHA.read_bytes() == good


def test_values_make_stale_what_facts_and_comments_do_not(
    rendered: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Only what the generated code depends on makes a service stale."""
    path = put("alpha", 1)
    path.write_text("# why\n" + path.read_text("utf-8"), "utf-8")
    assert run(["generate", "--check", "--no-cache"]) == 0
    path.write_text(path.read_text("utf-8") + "facts: {instances: 4}\n", "utf-8")
    assert run(["generate", "--check", "--no-cache"]) == 0
    path.write_text(path.read_text("utf-8") + "owner: others\n", "utf-8")
    capsys.readouterr()
    assert run(["generate", "--check", "--no-cache"]) == 1
    assert "alpha.py is out of date: its policy changed" in capsys.readouterr().out
