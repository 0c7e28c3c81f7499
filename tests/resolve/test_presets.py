"""Finding presets, and what is wrong with their names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from policyctl import assets
from policyctl.resolve.project import InputFile, Inputs, Loaded, load_project

Load = Callable[..., Loaded]


def test_an_unknown_preset_suggests_the_nearest(load: Load) -> None:
    """The finding points at the name in the list; a shipped preset is suggested."""
    loaded = load("service: s\nextends: [http-clint]\noperations: {op: {}}")
    [found] = loaded.diagnostics
    assert (found.code, found.name) == ("VA103", "unknown-preset")
    assert found.message == "there is no preset 'http-clint'"
    assert str(found.span) == "0.yaml:3:11"
    assert found.help == "did you mean http-client?"
    assert found.policy_path == "s.extends.0"
    assert "s" not in loaded.project.services


def test_an_unknown_preset_without_any_like_it_lists_all(load: Load) -> None:
    """Without a near name the known ones are listed."""
    loaded = load(
        "preset: mine",
        "service: s\noperations: {op: {extends: [xyz]}}",
        packaged=False,
    )
    [found] = loaded.diagnostics
    assert found.help == "presets are mine"
    assert found.policy_path == "s.operations.op.extends.0"


def test_a_cycle_names_its_path(load: Load) -> None:
    """a -> b -> c -> a is one error, at the name that closes the circle."""
    loaded = load(
        "preset: a\nextends: [b]",
        "preset: b\nextends: [c]",
        "preset: c\nextends: [a]",
        "service: s\nextends: [a]\noperations: {op: {hedge: {delay: 1s}}}",
    )
    [found] = loaded.diagnostics
    assert (found.code, found.name) == ("VA104", "extends-cycle")
    assert found.message == "presets extend each other in a circle: a -> b -> c -> a"
    assert str(found.span) == "2.yaml:3:11"


def test_a_preset_that_extends_itself(load: Load) -> None:
    """The shortest circle is found too."""
    loaded = load("preset: a\nextends: [a]")
    assert [found.message for found in loaded.diagnostics] == [
        "presets extend each other in a circle: a -> a"
    ]


def test_two_presets_of_one_name_show_both_places(load: Load) -> None:
    """The second declaration is the error, the first its other place."""
    loaded = load("preset: a", "preset: a")
    [found] = loaded.diagnostics
    assert found.code == "VA105"
    assert (str(found.span), str(found.related[0].span)) == ("1.yaml:2:9", "0.yaml:2:9")


def test_a_broken_preset_is_reported_once_and_breaks_nothing_else(load: Load) -> None:
    """Services that extend it are left out in silence: they cannot be judged."""
    loaded = load(
        "preset: a\ndefaults: {retry: {max_attempts: 0}}",
        "service: s\nextends: [a]\noperations: {op: {hedge: {}}}",
        "service: t\noperations: {op: {attempt_timeout: 1s}}",
    )
    assert {found.span.path for found in loaded.diagnostics} == {"0.yaml"}
    assert list(loaded.project.services) == ["t"]


def test_a_broken_preset_that_is_context_is_shown_to_who_extends_it(load: Load) -> None:
    """Its errors are the reason that the service cannot be resolved."""
    files = (
        "preset: a\ndefaults: {retry: {max_attempts: 0}}",
        "service: s\nextends: [a]\noperations: {op: {}}",
    )
    loaded = load(*files, context=(0,))
    assert [found.span.path for found in loaded.diagnostics] == ["0.yaml"]
    assert load(*files, context=(0, 1)).diagnostics == ()


def test_a_users_preset_hides_the_shipped_one(load: Load) -> None:
    """http-client of the policy folder wins over the packaged one."""
    loaded = load(
        "preset: http-client\ndefaults: {attempt_timeout: 9s}",
        "service: s\nextends: [http-client]\noperations: {op: {}}",
    )
    found = loaded.project.find_operation("s.op")
    assert found is not None
    assert found.attempt_timeout is not None
    assert (found.attempt_timeout.total, found.retry) == (9.0, None)


def test_shipped_presets_are_found_and_belong_to_the_documents(load: Load) -> None:
    """Reports find the text of a shipped preset among the project's documents."""
    loaded = load("service: s\nextends: [critical-http]\noperations: {op: {}}")
    found = loaded.project.find_operation("s.op")
    assert found is not None
    origin = found.origin("attempt_timeout.total")
    assert origin.label == "preset critical-http"
    assert origin.span is not None
    assert origin.span.path == "policyctl/presets/critical-http.yaml"
    paths = [document.source.path for document in loaded.project.documents]
    assert paths == [
        "0.yaml",
        "policyctl/presets/critical-http.yaml",
        "policyctl/presets/http-client.yaml",
    ]


def test_preset_folders_are_read_unless_their_files_are_given(tmp_path: Path) -> None:
    """A file that is an input already is not declared a second time."""
    folder = tmp_path / "presets"
    folder.mkdir()
    preset = folder / "mine.yaml"
    preset.write_text("version: 1\npreset: mine\ndefaults: {budget: 3s}\n")
    (folder / "other.yml").write_text("version: 1\npreset: other\n")
    text = b"version: 1\nservice: s\nextends: [mine, other]\noperations: {op: {}}\n"
    service = InputFile("s.yaml", text)
    alone = load_project(Inputs((service,), (folder,)))
    given = InputFile(preset.as_posix(), preset.read_bytes())
    both = load_project(Inputs((service, given), (folder,)))
    for loaded in (alone, both):
        assert loaded.diagnostics == ()
        found = loaded.project.find_operation("s.op")
        assert found is not None
        assert found.budget is not None
        assert found.budget.total == 3.0


def test_an_unreadable_preset_file_is_one_finding(tmp_path: Path) -> None:
    """A dangling link in the folder is skipped, a broken file is not fatal."""
    (tmp_path / "gone.yaml").symlink_to(tmp_path / "nowhere")
    (tmp_path / "bad.yaml").write_bytes(b"preset: [")
    service = InputFile("s.yaml", b"version: 1\nservice: s\noperations: {op: {}}\n")
    loaded = load_project(Inputs((service,), (tmp_path,)))
    assert list(loaded.project.services) == ["s"]


def test_assets_are_found_beside_the_package_or_inside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkout has the folders beside the package, a wheel inside it."""
    assert set(assets.presets()) >= {
        *("http-client", "critical-http", "internal-rpc", "database"),
        *("batch-job", "agent-uplink", "llm-client"),
    }
    package = tmp_path / "policyctl"
    inside = package / "policies" / "presets"
    inside.mkdir(parents=True)
    monkeypatch.setattr(assets, "files", lambda name: package)
    assert assets.folder("policies/presets") == inside
    (tmp_path / "templates").mkdir()
    with pytest.raises(FileNotFoundError, match="the templates folder is missing"):
        assets.templates()
    (tmp_path / "pyproject.toml").touch()
    assert assets.templates() == tmp_path / "templates"


def test_presets_that_double_at_every_level_end_soon(load: Load) -> None:
    """Two presets a level, each extending both below, would be 2^30 in the end."""
    texts = ["preset: a-0", "preset: b-0"]
    for level in range(1, 31):
        below = f"[a-{level - 1}, b-{level - 1}]"
        texts += [f"preset: {name}-{level}\nextends: {below}" for name in "ab"]
    loaded = load(*texts, "service: s\nextends: [a-30]\noperations: {op: {}}")
    assert {found.code for found in loaded.diagnostics} == {"VA134"}
    assert len(loaded.diagnostics) < 10
    assert loaded.project.services == {}


def test_a_chain_of_a_thousand_presets_does_not_overflow(load: Load) -> None:
    """Depth is bounded: one error instead of a crash."""
    texts = ["preset: p-0"]
    texts += [f"preset: p-{n}\nextends: [p-{n - 1}]" for n in range(1, 1000)]
    loaded = load(*reversed(texts))
    assert {found.code for found in loaded.diagnostics} == {"VA134"}


def test_a_chain_of_thirty_presets_is_fine(load: Load) -> None:
    """The bound is far above what anybody writes."""
    texts = ["preset: p-0\ndefaults: {budget: 7s}"]
    texts += [f"preset: p-{n}\nextends: [p-{n - 1}]" for n in range(1, 31)]
    loaded = load(*texts, "service: s\nextends: [p-30]\noperations: {op: {}}")
    assert loaded.diagnostics == ()
    found = loaded.project.find_operation("s.op")
    assert found is not None
    assert found.budget is not None
    assert found.budget.total == 7.0
