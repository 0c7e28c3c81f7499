"""The cache of runs: it never changes what is printed, and notices every change."""

from __future__ import annotations

import builtins
import errno
import importlib
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from policyctl.cli import _app, _cache
from policyctl.cli.main import run
from policyctl.model import lookups

# A run is not kept while what it looked at changes, as a folder beside others may.
pytestmark = pytest.mark.timing
FOLDER = ".policyctl-cache"


@pytest.fixture
def project(write: Callable[[str, str], Path], texts: Any) -> Path:
    """A folder with a configuration, a preset and a policy that uses it."""
    write("policyctl.toml", 'policies = ["policies"]\n')
    write(
        "policies/presets/calm.yaml",
        "version: 1\npreset: calm\ndefaults:\n  attempt_timeout: 1s\n",
    )
    clean = str(texts.warning).replace("    attempt_timeout: 1s\n", "")
    path = write(
        "policies/quotes.yaml", clean.replace("owner:", "extends: [calm]\nowner:")
    )
    return path.parents[1]


@pytest.fixture
def works(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The command lines that were worked on rather than answered from the cache."""
    seen: list[list[str]] = []
    original = _app.invoke

    def counted(arguments: list[str]) -> int:
        seen.append(arguments)
        return original(arguments)

    monkeypatch.setattr(_app, "invoke", counted)
    return seen


def entries(root: Path) -> list[Path]:
    """The stored runs."""
    return sorted((root / FOLDER).glob("*.run"))


Runs = Callable[..., tuple[int, str, str]]


@pytest.fixture
def go(run_cli: Callable[..., Any]) -> Runs:
    """A function that runs the command line and returns code, output and errors."""

    def call(*arguments: str) -> tuple[int, str, str]:
        done = run_cli(*arguments)
        return (
            int(done.code),
            str(done.out),
            str(done.err),
        )

    return call


@pytest.mark.parametrize(
    "arguments",
    [
        ("validate",),
        ("validate", "--format", "json"),
        ("validate", "policies/quotes.yaml", "--fail-on", "warning"),
        ("validate", "--statistics"),
        ("generate", "--check"),
        ("generate", "--diff"),
    ],
)
def test_a_second_run_says_the_same_without_working(
    project: Path, go: Runs, works: list[list[str]], arguments: tuple[str, ...]
) -> None:
    """Output, errors and exit code are those of the first run, and nothing is done."""
    first = go(*arguments)
    assert len(entries(project)) == 1
    assert go(*arguments) == first
    assert len(works) == 1


def touch_policy(root: Path) -> None:
    """Change one number and nothing else, keeping size and modification time."""
    path = root / "policies" / "quotes.yaml"
    before = path.stat()
    path.write_text(
        path.read_text("utf-8").replace("max_attempts: 4", "max_attempts: 5")
    )
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def touch_preset(root: Path) -> None:
    """Change the preset."""
    path = root / "policies" / "presets" / "calm.yaml"
    path.write_text(path.read_text("utf-8").replace("1s", "2s"))


def touch_config(root: Path) -> None:
    """Change the configuration."""
    (root / "policyctl.toml").write_text(
        'policies = ["policies"]\nignore = ["RT001"]\n'
    )


def add_nearer_config(root: Path) -> None:
    """A pyproject.toml does not hide policyctl.toml, but might have."""
    (root / "pyproject.toml").write_text("[tool.policyctl]\n")


def add_policy(root: Path) -> None:
    """Add a file to a folder that was searched."""
    text = (root / "policies" / "quotes.yaml").read_text("utf-8")
    (root / "policies" / "more.yaml").write_text(text.replace("quotes_api", "more_api"))


def remove_policy(root: Path) -> None:
    """Remove the only policy."""
    (root / "policies" / "quotes.yaml").unlink()


def rename_policy(root: Path) -> None:
    """Give the policy another name, which findings show."""
    folder = root / "policies"
    (folder / "quotes.yaml").rename(folder / "other.yaml")


@pytest.mark.parametrize(
    "change",
    [
        touch_policy,
        touch_preset,
        touch_config,
        add_nearer_config,
        add_policy,
        remove_policy,
        rename_policy,
    ],
)
def test_every_change_is_noticed(
    project: Path, go: Runs, works: list[list[str]], change: Callable[[Path], None]
) -> None:
    """After a change the command works again, and says what a run without cache says."""
    go("validate")
    change(project)
    again = go("validate")
    assert len(works) == 2
    assert again == go("validate", "--no-cache")


EXAMPLE = Path(__file__).parents[2] / "examples" / "house_rules"


def change_overlay(root: Path) -> None:
    """Change a number of the environment that is chosen."""
    path = root / "policies" / "quote_api.yaml"
    path.write_text(path.read_text("utf-8").replace("budget: 3s", "budget: 4s"))


def change_house_rule(root: Path) -> None:
    """Change what a house rule says."""
    (path,) = (root / "rules").glob("ac001*.py")
    path.write_text(path.read_text("utf-8") + "\nCHANGED = True\n")


def add_house_rule_helper(root: Path) -> None:
    """Add a file to the folder of house rules."""
    (root / "rules" / "_more.py").write_text("NUMBER = 1\n")


def change_module_of_house_rule(root: Path) -> None:
    """Change a module that stands elsewhere and that a house rule imports."""
    (root / "lib" / "acme_limits.py").write_text("LIMIT = 3\n")


def change_baseline(root: Path) -> None:
    """Change the baseline that the command line names."""
    path = root / "known.json"
    path.write_text(path.read_text("utf-8") + "\n")


@pytest.mark.parametrize(
    "change",
    [
        change_overlay,
        change_house_rule,
        add_house_rule_helper,
        change_module_of_house_rule,
        change_baseline,
    ],
)
def test_what_few_runs_depend_on_is_noticed_as_well(
    tmp_path: Path,
    go: Runs,
    works: list[list[str]],
    change: Callable[[Path], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Overlays, house rules with all that they import, and baselines."""
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    policy = tmp_path / "policies" / "quote_api.yaml"
    overlay = "environments: {test: {defaults: {budget: 3s}}}\n"
    policy.write_text(policy.read_text("utf-8") + overlay)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "acme_limits.py").write_text("LIMIT = 2\n")
    monkeypatch.syspath_prepend(tmp_path / "lib")
    (rule,) = (tmp_path / "rules").glob("ac001*.py")
    first, last = rule.read_text("utf-8").split("from __future__ import annotations\n")
    new = "from __future__ import annotations\nimport acme_limits\n"
    rule.write_text(first + new + last)
    assert (
        go("baseline", "update", "--baseline", "known.json", "--allow-growth")[0] == 0
    )
    works.clear()
    arguments = ("validate", "--environment", "test", "--baseline", "known.json")
    try:
        first_run = go(*arguments)
        assert go(*arguments) == first_run
        assert len(works) == 1
        change(tmp_path)
        assert go(*arguments) == go(*arguments, "--no-cache")
        assert len(works) == 3
    finally:
        sys.modules.pop("acme_limits", None)


def test_another_version_starts_anew(
    project: Path, go: Runs, works: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another version has printed is not this version's answer."""
    go("validate")
    monkeypatch.setattr(_cache, "__version__", "999.0")
    go("validate")
    assert len(works) == 2
    monkeypatch.undo()
    assert len(entries(project)) == 2


@pytest.mark.parametrize("hours", [-48, -1, 1, 48])
def test_a_clock_that_is_set_does_not_hide_a_change(
    project: Path,
    go: Runs,
    works: list[list[str]],
    monkeypatch: pytest.MonkeyPatch,
    hours: int,
) -> None:
    """Whatever the clock says before, between and after, an edit is seen."""
    go("validate")
    real = time.time_ns
    shift = hours * 3_600_000_000_000
    monkeypatch.setattr(time, "time_ns", lambda: real() + shift)
    first = go("validate")
    touch_policy(project)
    second = go("validate")
    assert second == go("validate", "--no-cache")
    assert second != first
    monkeypatch.setattr(time, "time_ns", real)
    assert go("validate") == second
    touch_preset(project)
    assert go("validate") == go("validate", "--no-cache")


@pytest.mark.parametrize(
    "error", [errno.EROFS, errno.EACCES, errno.ENOSPC, errno.EDQUOT]
)
def test_a_folder_that_takes_nothing_is_only_read(
    project: Path,
    go: Runs,
    works: list[list[str]],
    monkeypatch: pytest.MonkeyPatch,
    error: int,
) -> None:
    """On a read-only or full disk old entries answer, and new ones are not missed."""
    first = go("validate")
    before = {path.name: path.read_bytes() for path in (project / FOLDER).iterdir()}
    opened = builtins.open

    def refuse(path: Any, mode: str = "r", *rest: Any, **more: Any) -> Any:
        if FOLDER in str(path) and set(mode) & set("wax+"):
            raise OSError(error, os.strerror(error), str(path))
        return opened(path, mode, *rest, **more)

    monkeypatch.setattr(builtins, "open", refuse)
    monkeypatch.setattr(_cache, "_GRAIN", -(10**18))  # entries want to be refreshed
    assert go("validate") == first
    assert len(works) == 1
    assert go("validate", "--select", "RT001")[2] == ""
    assert go("generate", "--check")[2].startswith("error") is False
    monkeypatch.undo()
    after = {path.name: path.read_bytes() for path in (project / FOLDER).iterdir()}
    assert after == before


def test_a_folder_in_the_place_of_an_entry(
    project: Path, go: Runs, works: list[list[str]]
) -> None:
    """An entry that can be neither read nor written leaves the run as it is."""
    first = go("validate")
    (entry,) = entries(project)
    entry.unlink()
    entry.mkdir()
    assert go("validate") == first
    assert go("validate") == first
    assert len(works) == 3
    assert [path.name for path in entries(project)] == [entry.name]


def test_processes_at_the_same_time_agree(project: Path) -> None:
    """Several that start with an empty folder print the same and leave whole entries."""
    command = [sys.executable, "-m", "policyctl", "validate"]
    running = [
        subprocess.Popen(
            command,
            cwd=project,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    outputs = {
        (*process.communicate(timeout=120), process.returncode) for process in running
    }
    assert len(outputs) == 1
    assert len(entries(project)) == 1
    again = subprocess.run(
        command, cwd=project, capture_output=True, text=True, check=False, timeout=120
    )
    assert {(again.stdout, again.stderr, again.returncode)} == outputs
    names = {path.name for path in (project / FOLDER).iterdir()}
    assert names == {".gitignore", *(path.name for path in entries(project))}


def test_an_untouched_copy_of_a_file_does_not_count_as_a_change(
    project: Path, go: Runs, works: list[list[str]]
) -> None:
    """Where the status differs and the content does not, the entry stays in use."""
    first = go("validate")
    path = project / "policies" / "quotes.yaml"
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data)
    assert go("validate") == first
    assert len(works) == 1


def test_statuses_are_trusted_once_they_are_old_enough(
    project: Path, go: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An entry made of young files is refreshed, and then read without any digest."""
    go("validate")
    monkeypatch.setattr(_cache, "_GRAIN", -(10**18))
    go("validate")
    monkeypatch.setattr(_cache, "_digest", lambda *_: pytest.fail("read a file"))
    assert go("validate")[0] == 0


@pytest.mark.parametrize("damage", [b"", b"\0", b"00000000\0policyctl run 1", None])
def test_damaged_entries_are_passed_over(
    project: Path, go: Runs, works: list[list[str]], damage: bytes | None
) -> None:
    """Whatever stands in an entry, the run works and mends it."""
    first = go("validate")
    (entry,) = entries(project)
    data = bytearray(entry.read_bytes())
    data[len(data) // 2] ^= 1
    entry.write_bytes(bytes(data) if damage is None else damage)
    assert go("validate") == first
    assert len(works) == 2
    assert go("validate") == first
    assert len(works) == 2


def test_the_folder_hides_from_git_and_from_policyctl(project: Path, go: Runs) -> None:
    """The folder ignores itself, and is not searched for policies."""
    go("validate", ".")
    assert (project / FOLDER / ".gitignore").read_text("utf-8").splitlines()[-1] == "*"
    shutil.copy(project / "policies" / "quotes.yaml", project / FOLDER / "copy.yaml")
    assert "2 files, 1 service" in go("validate", ".", "--no-cache")[1]


@pytest.mark.parametrize(
    "arguments",
    [
        ("validate", "--no-cache"),
        ("validate", "--fix"),
        ("validate", "--diff"),
        ("generate",),
    ],
)
def test_some_runs_leave_no_entry(
    project: Path, go: Runs, arguments: tuple[str, ...]
) -> None:
    """Runs that write, or that are told not to, are not kept."""
    go(*arguments)
    assert entries(project) == []


def test_failures_are_not_kept(project: Path, go: Runs) -> None:
    """A run that could not do its job is worked on again."""
    (project / "policyctl.toml").write_text("nonsense = 1\n")
    assert go("validate")[0] == 2
    assert entries(project) == []


def test_the_variable_switches_it_off(
    project: Path, go: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """POLICYCTL_NO_CACHE keeps the folder from being made."""
    monkeypatch.setenv("POLICYCTL_NO_CACHE", "1")
    go("validate")
    assert not (project / FOLDER).exists()


def test_a_suppression_with_a_last_day_holds_for_the_day(
    project: Path, go: Runs, works: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where expiry matters the entry is of one day, elsewhere it is of any."""
    path = project / "policies" / "quotes.yaml"
    go("validate")
    monkeypatch.setattr("policyctl.cli._cache.time.strftime", lambda _: "2031-01-01")
    go("validate")
    assert len(works) == 1
    path.write_text(
        path.read_text("utf-8") + "# policyctl: ignore[RT001] until=2030-01-01\n"
    )
    go("validate")
    monkeypatch.setattr("policyctl.cli._cache.time.strftime", lambda _: "2031-01-02")
    go("validate")
    assert len(works) == 3


def test_generated_files_count(project: Path, go: Runs, works: list[list[str]]) -> None:
    """generate --check sees an edit of its output, and a file that is gone."""
    assert go("generate")[0] == 0
    assert go("generate", "--check")[0] == 0
    module = project / "generated" / "quotes_api.py"
    module.write_text(module.read_text("utf-8") + "# edited\n")
    assert go("generate", "--check")[0] == 1
    module.unlink()
    assert go("generate", "--check")[0] == 1
    assert len(works) == 4


def test_runs_at_the_same_time_agree(project: Path, go: Runs) -> None:
    """Parallel writers leave one whole entry and nothing else."""
    first = go("validate")
    (entry,) = entries(project)
    data = entry.read_bytes()
    fields = data.partition(b"\0")[2].decode().split("\0")
    threads = [
        threading.Thread(target=_cache._write, args=(str(entry), fields), daemon=True)
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert entry.read_bytes() == data
    assert sorted(p.name for p in (project / FOLDER).iterdir()) == [
        ".gitignore",
        entry.name,
    ]
    assert go("validate") == first


def test_old_entries_go(
    project: Path, go: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder keeps a bounded number of entries."""
    monkeypatch.setattr(_cache, "MOST_ENTRIES", 2)
    for rule in ("RT001", "RT002", "RT003", "RT004"):
        go("validate", "--select", rule)
    assert len(entries(project)) == 2


def test_an_unwritable_place_does_not_matter(
    project: Path, monkeypatch: pytest.MonkeyPatch, go: Runs
) -> None:
    """Where the folder cannot be made the run is as good as any."""
    (project / FOLDER).write_text("in the way")
    assert go("validate")[0] == 0


def test_color_is_part_of_the_run(
    project: Path, go: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A coloured run does not answer one without colour."""
    plain = go("validate")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in go("validate")[1]
    monkeypatch.delenv("FORCE_COLOR")
    assert go("validate") == plain


def test_python_sources_that_were_looked_up_count(
    project: Path, go: Runs, works: list[list[str]]
) -> None:
    """A class that a policy names and that appears or goes changes the answer."""
    path = project / "policies" / "quotes.yaml"
    text = path.read_text("utf-8")
    path.write_text(text + "target: shop_client:Client\n")
    codes: list[int] = []
    client = "class Client:\n    def get_quote(self): ...\n"
    for source in (None, client, client.replace("Client", "Other")):
        if source is not None:
            (project / "shop_client.py").write_text(source)
        lookups._lookup.cache_clear()
        importlib.invalidate_caches()
        codes.append(go("validate")[0])
    assert codes == [0, 0, 1]
    assert len(works) == 3


def test_links_in_a_tree_are_not_followed(tmp_path: Path) -> None:
    """A link that leads back up does not make the walk endless."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "up").symlink_to(tmp_path / "a")
    found = _cache.Dependencies()
    found.tree(tmp_path / "a")
    names = [os.path.relpath(path, tmp_path) for path in found.known()]
    assert sorted(names) == ["a", "a/b", "a/b/up"]


def test_too_many_files_are_not_kept(
    project: Path, go: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that depends on more than an entry can hold is worked on each time."""
    monkeypatch.setattr(_cache, "MOST_PATHS", 3)
    assert go("validate") == go("validate")
    assert entries(project) == []


def test_run_is_used(run_cli: Callable[..., Any]) -> None:
    """The entry point of the command is the one that asks the cache."""
    assert run(["validate", "--help"]) == 0
