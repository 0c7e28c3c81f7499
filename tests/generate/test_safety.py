"""Whatever a policy holds, generated code runs nothing but our own names."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policyctl.generate import literals
from policyctl.generate.digest import plain_service
from policyctl.generate.expressions import plain
from policyctl.generate.format import formatted
from policyctl.generate.header import Header
from policyctl.generate.layout import one_line
from policyctl.generate.options import GenerateOptions
from policyctl.generate.plan import module_context
from policyctl.generate.plan_package import package_context
from policyctl.generate.render import render_module, render_package, render_registry

OPTIONS = GenerateOptions(Path("generated"), package="acme.resilience")
OURS = {"_typing", "_policy", "_settings"}
CALLED = {
    "_policy.Policy",
    "_settings.AttemptTimeout",
    "_settings.Backoff",
    "_settings.Budget",
    "_settings.Bulkhead",
    "_settings.CircuitBreaker",
    "_settings.FallbackCall",
    "_settings.FallbackValue",
    "_settings.Recovery",
    "_settings.Retry",
    "_settings.RetryAfter",
    "_settings.SlowCall",
    "_settings.Window",
}
ALLOWED = (
    ast.Module,
    ast.Expr,
    ast.Import,
    ast.ImportFrom,
    ast.alias,
    ast.Assign,
    ast.AnnAssign,
    ast.ClassDef,
    ast.Name,
    ast.Attribute,
    ast.Call,
    ast.keyword,
    ast.Constant,
    ast.Tuple,
    ast.List,
    ast.Dict,
    ast.UnaryOp,
    ast.USub,
    ast.Load,
    ast.Store,
)
IMPORTS = [
    "import typing as _typing",
    "from policyctl.runtime import policy as _policy",
    "from policyctl.runtime import settings as _settings",
]
SLOW = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


@SLOW
@given(data=st.data())
def test_a_module_runs_only_our_own_names(
    data: st.DataObject, random_services: st.SearchStrategy[Any]
) -> None:
    """Hostile texts compile to assignments of our constructors to the given names."""
    service = data.draw(random_services)
    header = Header(service.path, "sha256:0")
    text = formatted(render_module(module_context(service, header, OPTIONS)), "3.11")
    tree = ast.parse(text.encode("utf-8"))
    compile(text.encode("utf-8"), "generated.py", "exec")
    assert [node for node in ast.walk(tree) if not isinstance(node, ALLOWED)] == []
    imports = [n for n in ast.walk(tree) if isinstance(n, (ast.Import, ast.ImportFrom))]
    assert {ast.unparse(node) for node in imports} <= set(IMPORTS)
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    assert {n.id for n in names if isinstance(n.ctx, ast.Load)} <= OURS
    stored = {n.id for n in names if isinstance(n.ctx, ast.Store)}
    assert stored <= {"__all__", "get_quote", "list", "compute"}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert {ast.unparse(call.func) for call in calls} <= CALLED


@SLOW
@given(data=st.data())
def test_values_come_out_as_they_went_in(
    data: st.DataObject, random_values: st.SearchStrategy[Any]
) -> None:
    """A literal evaluates to the very value, whatever is in it."""
    value = data.draw(random_values)
    printed = one_line(plain(value, 0))
    found = ast.literal_eval(printed)
    assert found == value
    assert repr(found) == repr(value)


@SLOW
@given(data=st.data())
def test_a_literal_shows_everything_that_it_holds(
    data: st.DataObject, random_texts: st.SearchStrategy[str]
) -> None:
    """A printed text is one line of visible characters that UTF-8 can hold."""
    text = data.draw(random_texts)
    printed = literals.string(text)
    assert ast.literal_eval(printed) == text
    assert printed.isprintable()
    assert printed.encode("utf-8").decode("utf-8") == printed
    assert len(printed.splitlines()) == 1


@SLOW
@given(data=st.data())
def test_package_files_hold_names_alone(
    data: st.DataObject,
    random_services: st.SearchStrategy[Any],
    random_texts: st.SearchStrategy[str],
) -> None:
    """Nothing of a policy but names gets into ``__init__`` and ``registry``."""
    services = {"quotes_api": plain_service(data.draw(random_services))}
    options = GenerateOptions(Path("x"), package=data.draw(random_texts))
    header = Header("every policy", "sha256:0")
    for is_registry, render in ((False, render_package), (True, render_registry)):
        context = package_context(services, header, options, is_registry=is_registry)
        tree = ast.parse(formatted(render(context), "3.11").encode("utf-8"))
        constants = {
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        docstring = tree.body.pop(0)
        assert isinstance(docstring, ast.Expr)
        names = {"quotes_api", "get_quote", "list", "to.tax_api.compute"}
        ours = {"registry", "policies", ".", "module ", " has no attribute "}
        assert isinstance(docstring.value, ast.Constant)
        assert constants <= names | ours | {docstring.value.value}
