"""The hooks that we ship, run by pre-commit itself in a repository of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
SHIPPED = (
    "policyctl",
    "templates",
    "policies/presets",
    "pyproject.toml",
    "README.md",
    "LICENSE",
    ".pre-commit-hooks.yaml",
)
POLICY = """\
version: 1
service: quotes_api
owner: quotes-team
operations:
  get_quote:
    transport: http
    idempotent: true
    attempt_timeout: 1s
    budget: 5s
"""


def run(
    *command: str, folder: Path, code: int | None = 0, timeout: int = 30
) -> subprocess.CompletedProcess[str]:
    """Run a command with an identity for git and its own home of pre-commit."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    identity = {
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "tester"), ("EMAIL", "tester@localhost"))
    }
    done = subprocess.run(
        command,
        cwd=folder,
        env={
            **inherited,
            **identity,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "PRE_COMMIT_HOME": str(folder.parent / "pre-commit-home"),
        },
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert code is None or done.returncode == code, done.stdout + done.stderr
    return done


def commit(folder: Path) -> str:
    """Commit everything in ``folder`` without hooks; return the revision."""
    run("git", "add", "-A", folder=folder)
    run("git", "commit", "-q", "--no-verify", "-m", "state", folder=folder)
    return run("git", "rev-parse", "HEAD", folder=folder).stdout.strip()


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A repository with what we ship, and its revision."""
    folder = tmp_path_factory.mktemp("hooks") / "policyctl"
    folder.mkdir()
    ignore = shutil.ignore_patterns("__pycache__")
    for name in SHIPPED:
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=ignore)
        else:
            shutil.copy2(source, target)
    run("git", "init", "-q", folder=folder)
    return folder, commit(folder)


@pytest.fixture(scope="module")
def project(hooks: tuple[Path, str]) -> Path:
    """A repository of a user with one policy and both hooks, their tools installed."""
    repository, revision = hooks
    folder = repository.parent / "project"
    (folder / "policies").mkdir(parents=True)
    (folder / "policies" / "quotes.yaml").write_text(POLICY, "utf-8")
    wanted = [{"id": "policyctl-validate"}, {"id": "policyctl-generate"}]
    source = {"repo": str(repository), "rev": revision, "hooks": wanted}
    config = yaml.safe_dump({"repos": [source]})
    (folder / ".pre-commit-config.yaml").write_text(config, "utf-8")
    run("git", "init", "-q", folder=folder)
    commit(folder)
    install = (sys.executable, "-m", "pre_commit", "install-hooks")
    run(*install, folder=folder, timeout=400)
    return folder


def hook(folder: Path, name: str, code: int) -> str:
    """Run one hook on what is staged; return its output."""
    command = (sys.executable, "-m", "pre_commit", "run", "--verbose", name)
    return run(*command, folder=folder, code=code).stdout


@pytest.mark.network
def test_the_hooks_guard_a_repository(project: Path) -> None:
    """Validate passes and fails with the policy; generate fails until its files are in.

    New files, which pre-commit itself does not notice, and deleted policies count too.
    """
    assert "in 1 file, 1 service" in hook(project, "policyctl-validate", 0)
    wrote = hook(project, "policyctl-generate", 1)
    assert "wrote generated/quotes_api.py" in wrote
    run("git", "add", "-A", folder=project)
    assert "up to date: 1 service" in hook(project, "policyctl-generate", 0)
    commit(project)
    policy = project / "policies" / "quotes.yaml"
    policy.write_text(POLICY.replace("1s", "1"), "utf-8")
    run("git", "add", "-A", folder=project)
    assert "--> policies/quotes.yaml:8:22" in hook(project, "policyctl-validate", 1)
    assert "error[VA" in hook(project, "policyctl-generate", 1)
    policy.rename(project / "policies" / "moved.yaml")
    policy.with_name("moved.yaml").write_text(
        POLICY.replace("quotes_api", "other_api"), "utf-8"
    )
    run("git", "add", "-A", folder=project)
    assert "removed generated/quotes_api.py" in hook(project, "policyctl-generate", 1)
