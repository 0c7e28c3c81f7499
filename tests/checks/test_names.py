"""Names of services, operations, queues, presets and environments."""

from __future__ import annotations

from keyword import kwlist, softkwlist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyctl.checks.names import (
    RESERVED,
    check_environment,
    check_name,
    check_preset,
    check_service,
    fold,
)
from policyctl.units import UnitError


@pytest.mark.parametrize(
    "name", ["charge", "payment_api", "a", "v2", "list", "print", "get_2_items"]
)
def test_snake_case_names_are_fine(name: str) -> None:
    """Plain snake_case is accepted, names of builtins too."""
    check_name(name)


@pytest.mark.parametrize("name", [*kwlist, *softkwlist, *sorted(RESERVED)])
def test_names_that_python_or_the_package_needs_are_refused(name: str) -> None:
    """Keywords, soft keywords and names of generated modules cannot be taken."""
    with pytest.raises(UnitError):
        check_name(name)


@pytest.mark.parametrize("name", ["policies", "con", "aux", "com1", "lpt9", "class"])
def test_services_are_named_like_files(name: str) -> None:
    """Names that are no files on some system are refused for services."""
    with pytest.raises(UnitError):
        check_service(name)
    check_service(f"{name}_api")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("getThing", "write get_thing"),
        ("get-thing", "write get_thing"),
        ("GET thing", "write get_thing"),
        ("2fast", "write fast"),
        ("_private", "write private"),
        ("__init__", "write init"),
        ("trailing_", "write trailing"),
        ("two__runs", "write two_runs"),
        ("ｃharge", "write charge"),
        ("café", "write cafe"),
        ("Class", "write lower-case letters, digits and underscores"),
        ("", "write lower-case letters, digits and underscores"),
        ("-", "write lower-case letters, digits and underscores"),
        ("../x", "write x"),
        ("a/b", "write a_b"),
        ("a\\b", "write a_b"),
        ("nul\0", "write nul"),
    ],
)
def test_a_wrong_name_is_told_a_right_one(name: str, hint: str) -> None:
    """The suggestion is a name that is accepted."""
    with pytest.raises(UnitError) as caught:
        check_name(name)
    assert caught.value.hint.startswith(hint)
    if len(hint.split()) == 2:
        check_name(hint.split()[1])


@given(st.text(max_size=120))
def test_accepted_names_are_identifiers(name: str) -> None:
    """Whatever is accepted can be a module, a function and a file name."""
    try:
        check_name(name)
    except UnitError:
        return
    assert name.isidentifier()
    assert name.isascii()
    assert name == name.lower()


def test_names_have_a_greatest_length() -> None:
    """A name longer than a file system likes is refused."""
    with pytest.raises(UnitError, match="over 100 characters"):
        check_name("a" * 101)


@pytest.mark.parametrize(
    "names",
    [
        ("get_thing", "getThing", "get-thing", "GET thing", "get__thing"),
        ("id", "_id", "ID"),
        ("a", "A", "ａ"),
        ("ﬁle", "file"),
    ],
)
def test_names_that_would_be_one_fold_alike(names: tuple[str, ...]) -> None:
    """Case, separators and compatibility forms make no difference."""
    assert len({fold(name) for name in names}) == 1


def test_names_that_differ_fold_apart() -> None:
    """Digits, letters and word breaks do make one."""
    assert len({fold(name) for name in ("get", "got", "get_2", "g_et")}) == 4


def test_presets_may_have_dashes() -> None:
    """Preset names are not Python names."""
    check_preset("http-client")
    for name in ("HTTP", "a b", "", "-a", "../x", "a" * 101):
        with pytest.raises(UnitError):
            check_preset(name)


def test_environments_are_words() -> None:
    """Environment names are those of deployments."""
    for name in ("staging", "eu-west-1", "Prod", "v1.2"):
        check_environment(name)
    for name in ("", "a b", "../x", "-x", "a" * 101):
        with pytest.raises(UnitError):
            check_environment(name)
