"""The configuration: discovery, values, and errors at their lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from policyctl import config
from policyctl.config import Config, ConfigError
from policyctl.config_values import setting_names
from policyctl.diagnostics import Severity


def write(folder: Path, name: str, text: str) -> Path:
    """Write a file below ``folder`` and return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(text.encode())
    return folder


def findings(folder: Path) -> list[tuple[str, int, int, str]]:
    """The code, line, column and message of each finding of a broken configuration."""
    with pytest.raises(ConfigError) as caught:
        config.load(folder)
    return [
        (d.code, d.span.line, d.span.column, d.message)
        for d in caught.value.diagnostics
    ]


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    """No file anywhere gives the documented defaults, counted from the start folder."""
    assert config.load(tmp_path) == Config(root=tmp_path)
    loaded = config.load(tmp_path)
    assert loaded.policies == ("policies",)
    assert (loaded.output, loaded.package) == ("generated", "generated")
    assert loaded.environment is None
    assert loaded.fail_on is Severity.ERROR
    assert loaded.origin("output") == "default"


def test_every_key_is_read_with_its_origin(tmp_path: Path) -> None:
    """Each key sets its field and remembers its line."""
    text = """\
policies = ["a", "b/c.yaml"]
output = "src/acme/resilience"
package = "acme.resilience"
environment = "staging"
target-python = "3.12"
select = ["RT"]
ignore = ["RT001"]
fail-on = "warning"
unsuppressible = ["TB001"]
exclude = ["drafts"]
generate-exclude = ["policies/next"]
runtime = "library"

[severity]
RT002 = "info"

[thresholds.RT001]
max_attempts = 4
"""
    loaded = config.load(write(tmp_path, "policyctl.toml", text))
    assert loaded == Config(
        root=tmp_path,
        path="policyctl.toml",
        policies=("a", "b/c.yaml"),
        output="src/acme/resilience",
        package="acme.resilience",
        environment="staging",
        target_python="3.12",
        select=("RT",),
        ignore=("RT001",),
        severity={"RT002": Severity.INFO},
        fail_on=Severity.WARNING,
        thresholds={"RT001": {"max_attempts": 4}},
        unsuppressible=("TB001",),
        exclude=("drafts",),
        generate_exclude=("policies/next",),
        origins=loaded.origins,
    )
    assert loaded.origin("output") == "policyctl.toml:2"
    assert loaded.origin("severity") == "policyctl.toml:14"


def test_the_nearest_file_wins_and_nothing_is_merged(tmp_path: Path) -> None:
    """A file in a nearer folder hides one further up, whole."""
    write(tmp_path, "policyctl.toml", 'output = "far"\nenvironment = "prod"\n')
    near = write(tmp_path / "sub", "policyctl.toml", 'output = "near"\n')
    deep = near / "deeper"
    deep.mkdir()
    loaded = config.load(deep)
    assert (loaded.root, loaded.output, loaded.environment) == (near, "near", None)
    assert loaded.path == "../policyctl.toml"


def test_pyproject_counts_only_with_our_table(tmp_path: Path) -> None:
    """A pyproject.toml without [tool.policyctl] is passed over on the way up."""
    write(tmp_path, "pyproject.toml", '[tool.policyctl]\noutput = "made"\n')
    near = write(
        tmp_path / "sub", "pyproject.toml", '[project]\nname = "policyctl-x"\n'
    )
    loaded = config.load(near)
    assert (loaded.root, loaded.output) == (tmp_path, "made")
    assert loaded.origin("output") == "../pyproject.toml:2"


def test_own_file_wins_over_pyproject_of_the_same_folder(tmp_path: Path) -> None:
    """Beside each other, policyctl.toml is the one that is read."""
    write(tmp_path, "pyproject.toml", '[tool.policyctl]\noutput = "one"\n')
    write(tmp_path, "policyctl.toml", 'output = "two"\n')
    assert config.load(tmp_path).output == "two"


def test_a_broken_pyproject_of_other_tools_is_not_our_concern(tmp_path: Path) -> None:
    """A pyproject.toml that never names policyctl is not even parsed."""
    assert config.load(write(tmp_path, "pyproject.toml", "[[[")) == Config(tmp_path)


def test_the_package_is_named_after_the_output_folder(tmp_path: Path) -> None:
    """Without a package key the last part of the output folder is the name."""
    write(tmp_path, "policyctl.toml", 'output = "src/guards"\n')
    assert config.load(tmp_path).package == "guards"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('outptu = "x"', [("CF103", 1, 1, "outptu is not a setting of policyctl")]),
        (
            'a = 1\n\n"b c" = 2',
            [
                ("CF103", 1, 1, "a is not a setting of policyctl"),
                ("CF103", 3, 1, "b c is not a setting of policyctl"),
            ],
        ),
        (
            'policies = "policies"',
            [("CF104", 1, 1, "policies is a text, not a list of texts")],
        ),
        ("policies = []", [("CF104", 1, 1, "policies is empty")]),
        ("policies = [1]", [("CF104", 1, 1, "policies[0] = 1 is not a text")]),
        (
            'fail-on = "fatal"',
            [("CF104", 1, 1, 'fail-on = "fatal" is not one of error, warning, info')],
        ),
        (
            'severity = {RT001 = "info", RT002 = "loud"}',
            [("CF104", 1, 29, 'RT002 = "loud" is not one of error, warning, info')],
        ),
        (
            '[severity]\nRT001 = "info"\n[thresholds]\nRT001 = 3',
            [("CF104", 4, 1, "thresholds.RT001 = 3 is not a table of thresholds")],
        ),
        (
            "[thresholds.RT001]\n\nattempts = [1]",
            [("CF104", 3, 1, "attempts = [1] is not a number or a text")],
        ),
        (
            'package = "my-pkg"',
            [("CF104", 1, 1, 'package = "my-pkg" is not the name of a Python package')],
        ),
        (
            'package = "a.class"',
            [
                (
                    "CF104",
                    1,
                    1,
                    'package = "a.class" is not the name of a Python package',
                )
            ],
        ),
        (
            'output = "out-put"',
            [
                (
                    "CF104",
                    1,
                    1,
                    'the output folder "out-put" does not name a Python package',
                )
            ],
        ),
        ("output = true", [("CF104", 1, 1, "output = true is not a text")]),
        ("templates = 1", [("CF104", 1, 1, "templates = 1 is not a text")]),
        (
            "target-python = 3.12",
            [("CF104", 1, 1, "target-python = 3.12 is not one of 3.11, 3.12, 3.13")],
        ),
        (
            'runtime = "bundle"',
            [("CF104", 1, 1, 'runtime = "bundle" is not "library" or "bundled"')],
        ),
        ("severity = 3", [("CF104", 1, 1, "severity = 3 is not a table")]),
        (
            "policies = [\n  'x',\n",
            [("CF102", 2, 7, "not valid TOML: invalid value")],
        ),
        (
            'output = "a"\noutput = "b"',
            [("CF102", 2, 13, "not valid TOML: cannot overwrite a value")],
        ),
    ],
)
def test_what_is_wrong_is_said_at_its_place(
    tmp_path: Path, text: str, expected: list[tuple[str, int, int, str]]
) -> None:
    """Unknown keys, wrong values and bad TOML each give their line, all at once."""
    assert findings(write(tmp_path, "policyctl.toml", text)) == expected


def test_unknown_keys_get_the_nearest_one(tmp_path: Path) -> None:
    """A misspelt key, also one with an underscore, is answered with the right one."""
    write(tmp_path, "policyctl.toml", 'fail_on = "error"\nzzz = 1\n')
    with pytest.raises(ConfigError) as caught:
        config.load(tmp_path)
    first, second = caught.value.diagnostics
    assert first.help == "did you mean fail-on?"
    assert second.help == "the settings are " + ", ".join(setting_names())


def test_errors_in_pyproject_point_into_the_table(tmp_path: Path) -> None:
    """In pyproject.toml the same key of another tool's table is not pointed at."""
    text = "[tool.other]\noutput = 1\n[tool.policyctl]\noutput = 1\n"
    expected = [("CF104", 4, 1, "output = 1 is not a text")]
    assert findings(write(tmp_path, "pyproject.toml", text)) == expected


def test_a_tool_table_of_another_type_is_an_error(tmp_path: Path) -> None:
    """[tool] policyctl = 3 is refused rather than ignored."""
    expected = [("CF104", 2, 1, "tool.policyctl = 3 is not a table")]
    text = "[tool]\npolicyctl = 3\n"
    assert findings(write(tmp_path, "pyproject.toml", text)) == expected


def test_bytes_that_are_not_utf8_are_placed(tmp_path: Path) -> None:
    """Invalid UTF-8 is reported at its line, not as a traceback."""
    (tmp_path / "policyctl.toml").write_bytes(b'output = "a"\n# \xff\n')
    assert findings(tmp_path) == [("CF101", 2, 1, "byte 0xff is not valid utf-8")]


def test_a_huge_file_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    """A configuration is bounded at one mebibyte."""
    (tmp_path / "policyctl.toml").write_bytes(b"#" * (1024 * 1024 + 1))
    expected = "1048577 bytes are more than the 1048576 of a configuration"
    assert findings(tmp_path) == [("CF101", 1, 1, expected)]


def test_deep_nesting_is_one_error(tmp_path: Path) -> None:
    """A hundred thousand brackets end in a message, not in a stack overflow."""
    text = "policies = " + "[" * 100_000
    expected = [("CF102", 1, 1, "not valid TOML: nested too deeply")]
    assert findings(write(tmp_path, "policyctl.toml", text)) == expected


def test_a_byte_order_mark_and_windows_lines_are_fine(tmp_path: Path) -> None:
    """BOM and CRLF change neither values nor lines."""
    text = '\ufeffpolicies = ["p"]\r\n\r\noutput = "o"\r\n'
    loaded = config.load(write(tmp_path, "policyctl.toml", text))
    assert (loaded.policies, loaded.output) == (("p",), "o")
    assert loaded.origin("output") == "policyctl.toml:3"


@pytest.mark.parametrize(
    "text",
    [
        'output = ""',
        "output = 5",
        'output = "a\\u0000b"',
        "policies = [1]",
        "policies = 3",
        'fail-on = "loud"',
        "fail-on = 1",
        'runtime = "other"',
        "severity = 3",
        'severity = {RT001 = "loud"}',
        "thresholds = {RT001 = {max_attempts = []}}",
        'package = "a b"',
        'target-python = "2.7"',
    ],
)
def test_every_wrong_value_has_a_remedy(tmp_path: Path, text: str) -> None:
    """The help line says what to write instead."""
    (tmp_path / "policyctl.toml").write_text(f"{text}\n", "utf-8")
    with pytest.raises(ConfigError) as caught:
        config.load(tmp_path)
    assert all(finding.help for finding in caught.value.diagnostics)


def test_an_empty_text_is_called_empty(tmp_path: Path) -> None:
    """It is a text, so it is not said to be none."""
    (tmp_path / "policyctl.toml").write_text('output = " "\n', "utf-8")
    assert findings(tmp_path) == [("CF104", 1, 1, "output is empty")]
