"""Names that are imported when they are first needed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from policyctl.runtime.errors import PolicyConfigError
from policyctl.runtime.lazy import LazyCallable, load, load_callable, loaded


def test_functions_classes_and_methods_are_found() -> None:
    """A colon parts the module from an attribute path."""
    assert load("pathlib:Path.cwd")() == Path.cwd()
    assert load("os.path:join") is sys.modules["os.path"].join
    assert load("collections:OrderedDict") is sys.modules["collections"].OrderedDict


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("no_such_module:f", "'no_such_module:f' cannot be imported: ModuleNotFound"),
        ("os.nothing:f", "'os.nothing:f' cannot be imported"),
        ("os.path:joint", "'os.path:joint' does not exist: os.path has no 'joint'"),
    ],
)
def test_what_is_missing_is_named(name: str, text: str) -> None:
    """The error says which part is missing, where it was asked for, and a near name."""
    with pytest.raises(PolicyConfigError) as caught:
        load(name, "retry.retry_if")
    assert str(caught.value).startswith(f"retry.retry_if: {text}")


def test_a_near_name_is_offered() -> None:
    """A typing error in the attribute gets a hint."""
    with pytest.raises(PolicyConfigError, match="did you mean 'join'"):
        load("os.path:joim")


def test_a_module_that_fails_to_import_keeps_its_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The application's own exception is the cause."""
    (tmp_path / "policyctl_broken_app.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(PolicyConfigError, match="ZeroDivisionError") as caught:
        load("policyctl_broken_app:f")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_looking_without_importing() -> None:
    """loaded() knows imported modules alone, and never imports."""
    assert loaded("os.path:join") is load("os.path:join")
    assert loaded("os.path:nothing") is None
    sys.modules.pop("this", None)
    assert loaded("this:s") is None
    assert "this" not in sys.modules


def test_what_is_not_callable_is_refused() -> None:
    """A setting that wants a function does not take a constant."""
    with pytest.raises(PolicyConfigError, match="'os:sep' is not callable: '/'"):
        load_callable("os:sep", "fallback.call")
    assert load_callable(len) is len


def test_a_lazy_callable_imports_on_its_first_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Making one imports nothing; calling passes arguments on."""
    name = "policyctl_lazy_app"
    (tmp_path / f"{name}.py").write_text("def add(a, *, b):\n    return a + b\n")
    monkeypatch.syspath_prepend(tmp_path)
    add = LazyCallable(f"{name}:add")
    assert name not in sys.modules
    assert add(1, b=2) == 3
    assert add.target is sys.modules.pop(name).add
    assert repr(add) == f"LazyCallable('{name}:add')"
