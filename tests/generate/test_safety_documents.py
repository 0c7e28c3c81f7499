"""Whole documents with hostile text wherever YAML takes text: still only our own names."""

from __future__ import annotations

import ast
import copy
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from policyctl.diagnostics import has_errors
from policyctl.generate.build import build
from policyctl.generate.format import run_black
from policyctl.generate.options import GenerateOptions
from policyctl.resolve.project import InputFile, Inputs, load_project

SDK = Path(__file__).parent / "clients" / "sdk"
OPTIONS = GenerateOptions(Path("nowhere"), "acme", root=Path.cwd())
DOCUMENT: dict[str, Any] = {
    "version": 1,
    "service": "quotes_api",
    "owner": "quotes-team",
    "description": "Quotes.",
    "x-note": {"anything": ["goes"]},
    "telemetry": {"metrics": "prometheus", "logs": "json", "heartbeat": "30s"},
    "inbound": {
        "bulkhead": {"max_concurrent": 5},
        "budget": {"default": "10s", "header": {"name": "X-Left", "unit": "s"}},
    },
    "calls": [
        {"to": "store_api.get", "override": {"attempt_timeout": {"total": "1s"}}}
    ],
    "operations": {
        "get": {
            "description": "Gets one.",
            "idempotent": True,
            "transport": "http",
            "attempt_timeout": {"total": "2s", "argument": "timeout"},
            "budget": "20s",
            "retry": {
                "max_attempts": 3,
                "retry_on": ["timeout", "app.errors:Busy"],
                "retry_on_status": ["429", "502-504"],
                "retry_if": "app.rules:transient",
            },
            "circuit_breaker": {"failure_threshold": 5, "recovery_timeout": "30s"},
            "fallback": {"value": {"key": ["text"]}, "fallback_on": ["timeout"]},
        },
        "put": {
            "transport": "http",
            "idempotent": True,
            "attempt_timeout": "1s",
            "idempotency": {
                "key": ["order.id"],
                "forward": {"header": "Idempotency-Key"},
                "ttl": "24h",
            },
            "fallback": {"call": "app.fallbacks:cached"},
        },
    },
    "queues": {
        "jobs": {
            "store": "sqlite",
            "path": "var/jobs.db",
            "max_size": 7,
            "order_by": "agent_id",
            "consume": {"operation": "quotes_api.get"},
        },
        "typed": {
            "store": "sqlite",
            "path": "var/typed.db",
            "max_size": 9,
            "payload": "policyctl.diagnostics:Span",
        },
    },
}
STORE = """
---
version: 1
service: store_api
target: payment_sdk.generic:Store
operations: {add: {transport: local}, get: {transport: local}}
"""
PAIR = re.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..")
FREE = (
    ("owner",),
    ("description",),
    ("x-note", "anything", 0),
    ("operations", "get", "description"),
    ("operations", "get", "fallback", "value", "key", 0),
)
"""Places that take any text."""


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all texts in plain data."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from places(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from places(item, (*path, index))
    elif isinstance(value, str):
        yield path


STRICT = [path for path in places(DOCUMENT) if path not in FREE]


def changed(path: tuple[str | int, ...], data: Any, text: str) -> None:
    """Put a text at a place."""
    for part in path[:-1]:
        data = data[part]
    data[path[-1]] = text


def generated(data: Mapping[str, Any], store: str = STORE) -> dict[str, str] | None:
    """The modules of a document; None where it is refused."""
    text = PAIR.sub(_wide, json.dumps(data)) + store
    file = InputFile("policies/a.yaml", text.encode("utf-8"))
    loaded = load_project(Inputs((file,)))
    if has_errors(loaded.diagnostics):
        return None
    built = build(loaded.project, OPTIONS)
    if built.diagnostics:
        return None
    files = {str(path): content.decode("utf-8") for path, content in built.tree.items()}
    return {name: text for name, text in files.items() if name.endswith(".py")}


def executed(text: str) -> set[str]:
    """Everything that a module does, without its literals and docstrings."""
    tree = ast.parse(text)
    compile(text, "generated.py", "exec")
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Name, ast.Import, ast.ImportFrom, ast.Attribute)):
            found.add(ast.unparse(node))
        elif isinstance(node, ast.Call):
            found.add(f"{ast.unparse(node.func)}()")
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(f"{type(node).__name__} {node.name}")
        elif isinstance(node, ast.keyword):
            found.add(f"{node.arg}=")
        else:
            found.add(type(node).__name__)
    return found


@pytest.fixture(scope="module")
def usual() -> Iterator[dict[str, set[str]]]:
    """What the modules of the ordinary document do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(SDK))
        modules = generated(DOCUMENT)
        assert modules is not None
        assert "class Store" in modules["store_api.py"]
        for name in ("_telemetry.enable(", "_inbound.Inbound(", "_queues.Queue["):
            assert name in modules["quotes_api.py"]
        yield {name: executed(text) for name, text in modules.items()}


# What other forms of a setting print: a text that happens to be one of them may do so.
FORMS = {"List", "Dict", "Tuple", "UnaryOp", "USub", "Constant", "Expr"}
FORMS |= {"retry_on=", "_settings.RetryAfter", "_settings.RetryAfter()"}
IMPORT = re.compile(r"import [A-Za-z_][\w.]* as _typed_module")
TYPE = re.compile(r"_typed_module(\.[A-Za-z_]\w*)+")


def check(modules: Mapping[str, str], usual: Mapping[str, set[str]]) -> None:
    """Nothing is done that the ordinary document's modules do not do."""
    assert modules.keys() == usual.keys()
    for name, text in modules.items():
        more = executed(text) - usual[name] - FORMS
        rest = {t for t in more if not (IMPORT.fullmatch(t) or TYPE.fullmatch(t))}
        assert rest == set()


SLOW = settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@SLOW
@given(data=st.data())
def test_free_text_stays_text(
    data: st.DataObject,
    random_texts: st.SearchStrategy[str],
    usual: Mapping[str, set[str]],
) -> None:
    """Owners, descriptions, values and keys of our users hold anything, and do nothing."""
    document = copy.deepcopy(DOCUMENT)
    texts = random_texts.filter(lambda text: text.isascii() or not _has_surrogate(text))
    for path in FREE:
        changed(path, document, data.draw(texts))
    value = document["operations"]["get"]["fallback"]["value"]
    value[data.draw(texts)] = {data.draw(texts): [data.draw(texts)]}
    document[f"x-{data.draw(texts)}"] = data.draw(texts)
    modules = generated(document)
    event("refused" if modules is None else "generated")
    if modules is not None:
        check(modules, usual)
        for name in ("quotes_api.py", "registry.py"):
            assert run_black(modules[name], "3.11") == modules[name]


HOSTILE = (
    '"',
    "'",
    "\\",
    '"""',
    "\n",
    "{{ 1 }}",
    ' + __import__("os").system("x")',
    "(os.abort())",
    "\u202e",
    "\0",
    "#",
)


@pytest.mark.parametrize("path", STRICT, ids=lambda path: ".".join(map(str, path)))
def test_text_with_a_meaning_is_refused_or_a_literal(
    path: tuple[str | int, ...], usual: Mapping[str, set[str]]
) -> None:
    """References, arguments, headers, paths: nothing put before or after breaks out."""
    kept: Any = DOCUMENT
    for part in path:
        kept = kept[part]
    for text in HOSTILE:
        for hostile in (f"{kept}{text}", text):
            document = copy.deepcopy(DOCUMENT)
            changed(path, document, hostile)
            modules = generated(document, STORE.replace("target:", "x-target:"))
            if modules is not None:
                check(modules, usual)


def _wide(pair: re.Match[str]) -> str:
    """What JSON escapes as a pair of surrogates, as YAML escapes it."""
    char: str = json.loads('"' + pair[0] + '"')
    return f"\\U{ord(char):08x}"


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in text)
