"""Static look-ups: what is found, what is missing, and what nothing is said about."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from policyctl.model.lookups import parameters_of
from policyctl.model.sources import Found, SourceFile, find_source, search_path
from policyctl.model.static import Lookup, Missing, Parameters

_SHOP = {
    "shop/__init__.py": "from .errors import Declined, Base as Root\nfrom shop.more import *\n",
    "shop/errors.py": (
        "import builtins\nfrom json import JSONDecodeError\n"
        "class Base(Exception): pass\n"
        "class Declined(Base): pass\n"
        "class Stop(BaseException): pass\n"
        "class Mixed(Stop, Base): pass\n"
        "class Plain: pass\n"
        "class Bad(JSONDecodeError): pass\n"
        "class Odd(make()): pass\n"
        "class Group(ExceptionGroup[Base]): pass\n"
        "class Qualified(builtins.ValueError): pass\n"
        "Alias = Base\n"
    ),
    "shop/more.py": "class Late(TimeoutError): pass\ndef helper(a, /, b, *args, c=1, **kw): pass\n",
    "shop/client.py": (
        "import abc\nfrom functools import cache\n"
        "class Parent:\n    def ping(self, host): pass\n"
        "class Client(Parent, abc.ABC):\n"
        "    def __init__(self, url, *, timeout=1): pass\n"
        "    async def charge(self, order, amount): pass\n"
        "    @staticmethod\n    def make(kind): pass\n"
        "    @classmethod\n    def build(cls, kind): pass\n"
        "    @cache\n    def cached(self, x): pass\n"
        "class Dynamic:\n    def __getattr__(self, name): pass\n"
        "class Meta(metaclass=Magic): pass\n"
        "class Unknown(Elsewhere): pass\n"
    ),
    "shop/lazy.py": "def __getattr__(name): raise AttributeError(name)\n",
    "shop/filled.py": "for n in 'abc': globals()[n] = 1\n",
    "moved/__init__.py": "import sys\nsys.modules[__name__ + '.moves'] = object()\n",
    "shop/broken.py": "def (:\n",
    "shop/loop.py": "from shop.loop2 import X\n",
    "shop/loop2.py": "from shop.loop import X\n",
    "boom.py": "raise SystemExit('this module was executed')\nclass Late(Exception): pass\n",
}


@pytest.fixture
def lookup(tmp_path: Path) -> Lookup:
    """Look-ups in a tree of made-up packages."""
    for name, text in _SHOP.items():
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    places = [str(tmp_path), *search_path()]
    return Lookup(places)


def kind(lookup: Lookup, module: str, name: str) -> str | None:
    """The kind of exception that a name is; ``missing`` or None where it is not found."""
    found = lookup.find(module, name)
    if found is None:
        return None
    return "missing" if isinstance(found, Missing) else lookup.exception_kind(found)


@pytest.mark.parametrize(
    ("module", "name", "expected"),
    [
        ("shop.errors", "Base", "exception"),
        ("shop.errors", "Declined", "exception"),
        ("shop", "Declined", "exception"),
        ("shop", "Root", "exception"),
        ("shop", "Late", "exception"),
        ("shop.errors", "Stop", "base"),
        ("shop.errors", "Mixed", "exception"),
        ("shop.errors", "Plain", "other"),
        ("shop.errors", "Bad", "exception"),
        ("shop.errors", "Group", "exception"),
        ("shop.errors", "Odd", None),
        ("shop.errors", "Alias", None),
        ("shop", "helper", "other"),
        ("shop.errors", "Declind", "missing"),
        ("shop", "Nothing", "missing"),
        ("shop.nothing", "X", "missing"),
        ("shop.lazy", "X", None),
        ("shop.filled", "X", None),
        ("shop.nothing.deeper", "X", "missing"),
        ("moved.moves", "X", None),
        ("shop.broken", "X", None),
        ("shop.loop", "X", None),
        ("not_installed_here", "X", None),
        ("not_installed_here.errors", "X", None),
        ("json", "JSONDecodeError", "exception"),
        ("asyncio", "CancelledError", "base"),
        ("sqlite3", "OperationalError", None),
        ("sys", "nothing", None),
        ("os.path", "join", None),
        ("httpx", "ReadTimeout", "exception"),
        ("httpx", "ReadTimeot", "missing"),
    ],
)
def test_exceptions_are_told_from_other_names(
    module: str, name: str, expected: str | None, lookup: Lookup
) -> None:
    """What can be read is judged; what is made at run time is left alone."""
    assert kind(lookup, module, name) == expected


def test_a_qualified_builtin_base_is_followed(lookup: Lookup) -> None:
    """``builtins.ValueError`` is written in C: nothing can be said, and nothing is."""
    assert kind(lookup, "shop.errors", "Qualified") is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Client.charge", "found"),
        ("Client.ping", "found"),
        ("Client.chargee", "missing"),
        ("Dynamic.anything", None),
        ("Meta.anything", None),
        ("Unknown.anything", None),
        ("Nobody.charge", "missing"),
    ],
)
def test_methods_are_found_in_bases(
    name: str, expected: str | None, lookup: Lookup
) -> None:
    """Inherited methods count; classes that make members at run time are left alone."""
    found = lookup.find("shop.client", name)
    shown = (
        None if found is None else "missing" if isinstance(found, Missing) else "found"
    )
    assert shown == expected


def test_a_missing_name_comes_with_those_that_exist(lookup: Lookup) -> None:
    """Names that wildcards bring in are there to choose from too."""
    found = lookup.find("shop", "Latte")
    assert isinstance(found, Missing)
    assert (found.name, found.module) == ("Latte", "shop")
    assert {"Declined", "Root", "Late", "helper"} <= set(found.names)


@pytest.mark.parametrize(
    ("module", "name", "expected"),
    [
        ("shop.client", "Client.charge", Parameters(("order", "amount"), False, True)),
        ("shop.client", "Client.ping", Parameters(("host",), False, False)),
        ("shop.client", "Client.make", Parameters(("kind",), False, False)),
        ("shop.client", "Client.build", Parameters(("kind",), False, False)),
        ("shop.client", "Client.cached", Parameters(("x",), True, False)),
        ("shop.client", "Client", Parameters(("url", "timeout"), False, False)),
        ("shop", "helper", Parameters(("a", "b", "c"), True, False)),
        ("shop.errors", "Alias", None),
        ("shop.client", "Nobody", None),
        ("not_installed_here", "f", None),
    ],
)
def test_parameters_are_those_that_a_caller_names(
    module: str, name: str, expected: Parameters | None, lookup: Lookup
) -> None:
    """``self`` and ``cls`` are left out; a decorator may change what is read."""
    assert lookup.parameters_of(module, name) == expected


def test_nothing_is_imported_or_executed(lookup: Lookup) -> None:
    """A module that ends the process when it runs is read like any other."""
    before = set(sys.modules)
    assert kind(lookup, "boom", "Late") == "exception"
    assert kind(lookup, "shop.errors", "Base") == "exception"
    new = {name for name in set(sys.modules) - before if not name.startswith("griffe")}
    assert not {"boom", "shop", "shop.errors"} & set(sys.modules)
    assert not any(name.split(".")[0] in ("boom", "shop") for name in new)


def test_sources_are_found_from_the_top(tmp_path: Path, lookup: Lookup) -> None:
    """Modules, packages and folders without ``__init__`` are told apart."""
    places = list(lookup.places)
    (tmp_path / "space").mkdir()
    (tmp_path / "space" / "inner.py").write_text("")
    found = find_source("shop", places)
    assert found == SourceFile("shop", tmp_path / "shop" / "__init__.py", package=True)
    inner = find_source("space.inner", places)
    assert inner == SourceFile(
        "space.inner", tmp_path / "space" / "inner.py", package=False
    )
    deep = tmp_path / "outer" / "middle" / "core"
    deep.mkdir(parents=True)
    (deep / "__init__.py").write_text("class Late(Exception): pass\n")
    assert kind(lookup, "outer.middle.core", "Late") == "exception"
    assert kind(lookup, "outer.middle.core", "Latte") == "missing"
    assert find_source("outer.middle.nothing", places) is Found.OPAQUE
    assert find_source("outer.middle.core.nothing", places) is Found.MISSING
    assert find_source("space", places) is Found.OPAQUE
    assert find_source("sys", places) is Found.OPAQUE
    assert find_source("shop.nothing", places) is Found.MISSING
    assert find_source("shop.more.nothing", places) is Found.OPAQUE
    assert find_source("not_installed_here.x", places) is Found.ABSENT


@pytest.mark.usefixtures("project")
def test_a_folder_of_a_package_s_name_is_not_taken_for_it(
    tmp_path: Path, found_in: Callable[[str], list[str]]
) -> None:
    """A folder ``redis`` with settings says nothing about the package redis."""
    (tmp_path / "not_installed").mkdir()
    (tmp_path / "not_installed" / "redis.conf").write_text("")
    settings = "retry: {retry_on: ['not_installed.exceptions:ConnectionError']}"
    assert found_in(settings) == []


def test_the_working_directory_and_its_src_come_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A project's own code is found without being installed."""
    monkeypatch.chdir(tmp_path)
    assert search_path()[:2] == (str(tmp_path), str(tmp_path / "src"))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a package under ``src``."""
    package = tmp_path / "src" / "my_shop"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "errors.py").write_text(
        "class Declined(Exception): pass\nclass Plain: pass\n"
    )
    (package / "rules.py").write_text("def transient(error): return True\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("settings", "finding"),
    [
        ("retry: {retry_on: ['my_shop.errors:Declined']}", None),
        ("retry: {retry_on: ['my_shop.errors:Declind']}", "1:20 not-found: `my_shop.errors` has no `Declind`; did you mean Declined?"),
        ("retry: {retry_on: ['my_shop.errors:Plain']}", "1:20 not-an-exception: `my_shop.errors:Plain` is not an exception; name a class that derives from Exception"),
        ("retry: {retry_on: ['my_shop.error:Declined']}", "1:20 not-found: there is no module `my_shop.error`; correct the module's name"),
        ("retry: {retry_on: ['asyncio:CancelledError']}", "1:20 not-an-exception: `asyncio:CancelledError` is never handled by a policy: it always passes through; name Exception or one of its subclasses"),
        ("retry: {retry_if: 'my_shop.rules:transient'}", None),
        ("retry: {retry_if: 'my_shop.rules:transitive'}", "1:19 not-found: `my_shop.rules` has no `transitive`; did you mean transient?"),
        ("fallback: {call: 'my_shop.rules:zzz'}", "1:18 not-found: `my_shop.rules` has no `zzz`; correct the name; the package is installed here"),
        ("target: 'my_shop.rules:zzz'", "1:9 not-found: `my_shop.rules` has no `zzz`; correct the name; the package is installed here"),
        ("fallback: {call: 'my_shop.rules.transient:x'}", None),
        ("fallback: {fallback_on: [circuit_open, 'not_installed_here:X']}", None),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("project")
def test_documents_are_held_to_the_code_that_is_there(
    settings: str, finding: str | None, found_in: Callable[[str], list[str]]
) -> None:
    """A reference into an installed package must exist; others are taken on trust."""
    assert found_in(settings) == ([] if finding is None else [finding])


@pytest.mark.usefixtures("project")
def test_a_function_is_no_class(found: Callable[[str], list[str]]) -> None:
    """The target of a service and the payload of a queue are classes."""
    text = "version: 1\nservice: pay\ntarget: my_shop.rules:transient\noperations: {}\n"
    assert found(text) == [
        (
            "3:9 not-a-class: `my_shop.rules:transient` is a function, not a class; "
            "name a class of that module"
        )
    ]


@pytest.mark.usefixtures("project")
def test_parameters_can_be_asked_for_by_reference() -> None:
    """A reference that leads nowhere, or has another form, has no parameters."""
    assert parameters_of("my_shop.rules:transient") == Parameters(
        ("error",), open=False, is_async=False
    )
    assert parameters_of("my_shop.rules:nothing") is None
    assert parameters_of("not a reference") is None
