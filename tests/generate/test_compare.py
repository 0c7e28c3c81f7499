"""Each way in which a folder can differ has its own word, message and diff."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath

import pytest

from policyctl.generate import build as build_module
from policyctl.generate.build import Built, build
from policyctl.generate.compare import Comparison, compare
from policyctl.generate.lock import LOCK_NAME
from policyctl.generate.options import GenerateOptions
from policyctl.generate.write import write
from policyctl.resolve.policy import Project

MODULES = ("__init__.py", "quotes_api.py", "registry.py", "tax_api.py")

LoadProject = Callable[[Mapping[str, str]], Project]
MakeOptions = Callable[..., GenerateOptions]


@pytest.fixture
def texts(quotes: str, taxes: str) -> dict[str, str]:
    """Two policy files."""
    return {"policies/quotes.yaml": quotes, "policies/taxes.yaml": taxes}


@pytest.fixture
def folder(load: LoadProject, texts: dict[str, str], options: MakeOptions) -> Path:
    """The folder of a fresh package of both."""
    built = build(load(texts), options())
    write(built, compare(built, options()), options())
    return options().output


def kinds(comparison: Comparison) -> dict[str, str]:
    """The kind of change by file name."""
    return {str(change.path): change.kind for change in comparison.changes}


def again(
    load: LoadProject, texts: dict[str, str], options: GenerateOptions
) -> Comparison:
    """Compare with what the texts give now."""
    return compare(build(load(texts), options), options)


def test_everything_is_missing_at_first(
    load: LoadProject, texts: dict[str, str], options: MakeOptions
) -> None:
    """Without a folder, every file is missing, and nothing is created."""
    comparison = again(load, texts, options())
    assert set(kinds(comparison).values()) == {"missing"}
    assert len(comparison.changes) == 6
    assert comparison.changes[0].message == "__init__.py is missing"
    assert not options().output.exists()


def test_a_fresh_package_has_no_changes(
    folder: Path, load: LoadProject, texts: dict[str, str], options: MakeOptions
) -> None:
    """Right after writing, nothing differs."""
    assert again(load, texts, options()) == Comparison(())


def test_a_comment_in_the_policy_changes_nothing(
    folder: Path, load: LoadProject, texts: dict[str, str], options: MakeOptions
) -> None:
    """Comments, quotes and layout of the YAML are no reason to regenerate."""
    name = "policies/taxes.yaml"
    texts[name] = "# new\n" + texts[name].replace("2s", '"2000ms"  # the same')
    assert again(load, texts, options()).fresh


def test_a_changed_policy(
    folder: Path, load: LoadProject, texts: dict[str, str], options: MakeOptions
) -> None:
    """A changed number makes its module and the lock file out of date."""
    texts["policies/taxes.yaml"] = texts["policies/taxes.yaml"].replace("2s", "3s")
    comparison = again(load, texts, options())
    assert kinds(comparison) == {LOCK_NAME: "changed", "tax_api.py": "changed"}
    change = comparison.changes[1]
    assert change.message == ("tax_api.py is out of date: its policy changed")
    diff = change.diff("generated").splitlines()
    assert diff[:2] == ["--- generated/tax_api.py", "+++ generated/tax_api.py"]
    assert "-    attempt timeout: 2s" in diff
    assert "+    attempt timeout: 3s" in diff


def test_changed_options(
    folder: Path, load: LoadProject, texts: dict[str, str], options: MakeOptions
) -> None:
    """A package of another environment or name says which option changed."""
    comparison = again(load, texts, options(environment="staging"))
    messages = {change.message for change in comparison.changes}
    assert messages == {
        f"{name} is out of date: environment was not set, now staging"
        for name in (*MODULES, LOCK_NAME)
    }
    comparison = again(load, texts, options(package="acme"))
    assert [change.message for change in comparison.changes] == [
        f"{name} is out of date: package was generated, now acme"
        for name in ("__init__.py", LOCK_NAME, "registry.py")
    ]


def test_line_ends_of_windows_are_no_difference(
    folder: Path, load: LoadProject, texts: dict[str, str], options: MakeOptions
) -> None:
    """A checkout that converts line ends is fresh, and is not written to."""
    for path in folder.iterdir():
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    built = build(load(texts), options())
    comparison = compare(built, options())
    assert comparison == Comparison(())
    write(built, comparison, options())
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before


def test_a_file_that_lost_its_header(
    folder: Path, load: LoadProject, texts: dict[str, str], options: MakeOptions
) -> None:
    """Somebody may have taken it over: it is not replaced, and the way out is told."""
    path = folder / "tax_api.py"
    path.write_text(path.read_text().partition("\n")[2])
    (conflict,) = again(load, texts, options()).conflicts
    assert conflict.message == (
        "tax_api.py was generated once but has lost its header, so it may be somebody's"
    )
    assert conflict.help == (
        "delete it to have it generated again, or rename the service"
    )


def test_a_missing_file(
    folder: Path, load: LoadProject, texts: dict[str, str], options: MakeOptions
) -> None:
    """A module that was deleted is missing, and nothing else differs."""
    (folder / "tax_api.py").unlink()
    assert kinds(again(load, texts, options())) == {"tax_api.py": "missing"}


def test_a_moved_policy_file(
    folder: Path, load: LoadProject, texts: dict[str, str], options: MakeOptions
) -> None:
    """A policy that moved to another file is named by its new place."""
    texts["policies/tax.yaml"] = texts.pop("policies/taxes.yaml")
    comparison = again(load, texts, options())
    assert comparison.changes[1].message == (
        "tax_api.py is out of date: its policy is now read from policies/tax.yaml"
    )


def test_a_hand_edited_file(
    folder: Path, load: LoadProject, texts: dict[str, str], options: MakeOptions
) -> None:
    """An edit by hand is told from a changed policy, also without a lock file."""
    path = folder / "tax_api.py"
    path.write_text(path.read_text().replace("total=2.0", "total=20.0"))
    comparison = again(load, texts, options())
    assert kinds(comparison) == {"tax_api.py": "hand_edited"}
    assert comparison.changes[0].message == (
        "tax_api.py was edited by hand: the edit would be lost"
    )
    (folder / LOCK_NAME).unlink()
    assert kinds(again(load, texts, options()))["tax_api.py"] == "hand_edited"


def test_a_hand_edited_lock_file(
    folder: Path, load: LoadProject, texts: dict[str, str], options: MakeOptions
) -> None:
    """Values that do not fit their digest, and conflict markers, are edits by hand."""
    path = folder / LOCK_NAME
    original = path.read_text()
    path.write_text(original.replace('"total": 2.0', '"total": 9.0'))
    comparison = again(load, texts, options())
    assert kinds(comparison) == {LOCK_NAME: "hand_edited"}
    path.write_text(f"<<<<<<< ours\n{original}")
    assert kinds(again(load, texts, options())) == {LOCK_NAME: "hand_edited"}


def test_an_orphan(
    folder: Path, load: LoadProject, texts: dict[str, str], options: MakeOptions
) -> None:
    """The module of a policy that is gone is an orphan; a partial run has none."""
    del texts["policies/taxes.yaml"]
    comparison = again(load, texts, options())
    assert kinds(comparison)["tax_api.py"] == "orphaned"
    orphan = comparison.changes[-1]
    assert orphan.message == (
        "tax_api.py is an orphan: no policy generates it any more"
    )
    assert orphan.diff().splitlines()[:2] == ["--- tax_api.py", "+++ /dev/null"]
    assert "orphaned" not in kinds(again(load, texts, options(partial=True))).values()


def test_another_version_of_the_same_output(
    folder: Path,
    load: LoadProject,
    texts: dict[str, str],
    options: MakeOptions,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A tool version alone is a note, and writing leaves the file alone."""
    monkeypatch.setattr(build_module, "GENERATOR", "policyctl 99.0.0")
    built = build(load(texts), options())
    comparison = compare(built, options())
    assert kinds(comparison) == {LOCK_NAME: "version_only"}
    assert comparison.changes[0].message == (
        "policies.lock.json was written by policyctl 0.1.0, with the same content"
    )
    assert comparison.fresh
    before = (folder / LOCK_NAME).read_bytes()
    write(built, comparison, options())
    assert (folder / LOCK_NAME).read_bytes() == before


def test_an_older_format(
    folder: Path, load: LoadProject, texts: dict[str, str], options: MakeOptions
) -> None:
    """A folder of another output format says so, file by file."""
    for name in ("tax_api.py", LOCK_NAME):
        path = folder / name
        old = path.read_text().replace("# format: 1", "# format: 0")
        path.write_text(old.replace('"format": 1', '"format": 0'))
    lock = json.loads((folder / LOCK_NAME).read_text())
    del lock["files"]["tax_api.py"]
    (folder / LOCK_NAME).write_text(json.dumps(lock, indent=2, sort_keys=True) + "\n")
    comparison = again(load, texts, options())
    assert [change.message for change in comparison.changes] == [
        "policies.lock.json has output format 0, this version writes 1: regenerate",
        "tax_api.py has output format 0, this version writes 1: regenerate",
    ]


def test_a_lock_file_of_somebody_else(
    load: LoadProject, texts: dict[str, str], options: MakeOptions
) -> None:
    """A file with the lock file's name that is not ours is a conflict."""
    options().output.mkdir()
    (options().output / LOCK_NAME).write_text("{}")
    comparison = again(load, texts, options())
    assert [d.code for d in comparison.conflicts] == ["GN006"]
    assert "was not generated by policyctl" in comparison.conflicts[0].message


def test_an_empty_py_typed_of_somebody_else_is_as_good(
    load: LoadProject, texts: dict[str, str], options: MakeOptions
) -> None:
    """Equal files are nobody's problem."""
    options().output.mkdir()
    (options().output / "py.typed").touch()
    comparison = again(load, texts, options())
    assert comparison.conflicts == ()
    assert "py.typed" not in kinds(comparison)


def test_a_diff_of_a_file_without_a_last_newline() -> None:
    """The diff says that there is none, so that it can be applied."""
    from policyctl.generate.compare import FileChange

    change = FileChange(PurePosixPath("a.py"), "changed", "", b"x = 1", b"x = 2\n")
    assert change.diff("out") == (
        "--- out/a.py\n+++ out/a.py\n@@ -1 +1 @@\n-x = 1\n"
        "\\ No newline at end of file\n+x = 2\n"
    )


def test_errors_build_nothing(
    load: LoadProject, quotes: str, options: MakeOptions
) -> None:
    """A service that cannot be generated leaves the tree empty."""
    text = f"{quotes}telemetry: {{traces: opentelemetry}}\n"
    built = build(load({"policies/a.yaml": text}), options())
    assert built.tree == {}
    assert [d.code for d in built.diagnostics] == ["GN003"]
    assert built == Built({}, built.diagnostics)
