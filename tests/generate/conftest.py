"""Projects from YAML texts, and random resolved services, for tests of the generator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from policyctl.diagnostics import Span
from policyctl.generate.options import GenerateOptions
from policyctl.resolve import policy as p
from policyctl.resolve.project import InputFile, Inputs, load_project
from policyctl.source.nodes import Document, MappingNode, Source

LoadProject = Callable[[Mapping[str, str]], p.Project]
MakeOptions = Callable[..., GenerateOptions]

QUOTES = """\
version: 1
service: quotes_api
operations:
  get_quote:
    idempotent: true
    transport: http
    attempt_timeout: 1s
    retry: {max_attempts: 3}
"""
TAXES = """\
version: 1
service: tax_api
operations:
  compute:
    idempotent: true
    transport: grpc
    attempt_timeout: 2s
"""


@pytest.fixture(scope="session")
def quotes() -> str:
    """A service with one operation."""
    return QUOTES


@pytest.fixture(scope="session")
def taxes() -> str:
    """Another service with one operation."""
    return TAXES


@pytest.fixture(scope="session")
def load() -> LoadProject:
    """A function that resolves texts by file name, which must hold no errors."""

    def resolve(texts: Mapping[str, str]) -> p.Project:
        files = tuple(
            InputFile(name, text.encode("utf-8")) for name, text in texts.items()
        )
        loaded = load_project(Inputs(files))
        assert [d.message for d in loaded.diagnostics] == []
        return loaded.project

    return resolve


@pytest.fixture
def options(tmp_path: Path) -> MakeOptions:
    """A function that makes options for ``generated`` in the temporary folder."""

    def make(**changes: Any) -> GenerateOptions:
        values: dict[str, Any] = {"output": tmp_path / "generated", "root": Path.cwd()}
        return GenerateOptions(**(values | changes))

    return make


# -- random resolved services --------------------------------------------------------

HOSTILE = (
    '"""',
    '"',
    "'",
    "\\",
    "\\\\",
    '\\"""',
    "\n",
    "\r\n",
    "\t",
    "\0",
    "{{ 1 }}",
    "{% raw %}",
    "{# #}",
    "#",
    "# fmt: off",
    "# type: ignore",
    "\u202e",
    "\u2028",
    "\u200b",
    "\ufeff",
    "\ud800",
    "\u0301",
    "\u00e9",
    "\u4e2d\u6587",
    "\U0001f600",
    "\x1b[31m",
    "\x85",
    "\x0c",
    '"""\nimport os\n',
    "'''",
    "\\N{DASH}",
    "%s",
    "{x!r}",
    " ",
    "  ",
    "word",
    "a-long-word-without-any-space-that-will-not-fit-in-a-line-of-this-width-at-all-no",
)
_texts = st.lists(
    st.sampled_from(HOSTILE) | st.text(max_size=6) | st.characters(), max_size=12
).map("".join)
_durations = st.sampled_from([0.001, 0.1, 0.25, 1.0, 2.5, 30.0, 1e-05, 123456.789])
_names = st.sampled_from(["not_sent", "timeout", "ValueError", "a.b:C"]) | _texts
_name_lists = st.lists(_names, max_size=4).map(tuple)
_statuses = st.lists(
    st.sampled_from(["429", "502-504", "UNAVAILABLE", "08*"]), max_size=7
).map(tuple)
_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | _texts,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(_texts, inner, max_size=3)
    ),
    max_leaves=12,
)


def _maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


_jitters = st.builds(
    p.Jitter, st.sampled_from(["none", "full", "equal", "decorrelated", "ratio"])
)
_retries = st.builds(
    p.Retry,
    _maybe(st.integers(1, 10**6)),
    st.builds(p.Backoff, _durations, _durations, _maybe(_durations), _jitters),
    _name_lists,
    _name_lists,
    _statuses,
    _statuses,
    _maybe(_texts),
    _maybe(_texts),
    _maybe(st.builds(p.RetryAfter, _maybe(_durations))),
    st.none(),
)
_breakers = st.builds(
    p.CircuitBreaker,
    st.just(5),
    _maybe(st.just(0.5)),
    _maybe(st.builds(p.SlowCall, _durations, st.just(0.8))),
    st.builds(p.Window, seconds=_durations),
    st.integers(1, 100),
    st.builds(p.Recovery, _durations, st.just(2.0), _maybe(_durations), st.just(0.2)),
    st.integers(1, 100),
    _durations,
    st.integers(1, 100),
    _name_lists,
    _name_lists,
    _statuses,
    _statuses,
    _maybe(_texts),
    st.just("operation"),
    st.just(1000),
    st.just("memory"),
    st.sampled_from(["enforce", "observe", "forced_open", "disabled"]),
)
_fallbacks = st.builds(
    p.Fallback, st.just("value"), _values, st.none(), st.none(), _name_lists
) | st.builds(p.Fallback, st.just("call"), st.none(), _texts, st.none(), _name_lists)


def _document(path: str = "policies/a.yaml") -> Document:
    source = Source(path, "service: a\n", line_starts=[0])
    return Document(source, MappingNode(0, 1))


def _operation(service: str, name: str, **blocks: Any) -> p.Operation:
    path = f"{service}.operations.{name}"
    return p.Operation(service, name, Span("a.yaml"), path, _document(), **blocks)


def _operations(service: str, name: str) -> st.SearchStrategy[p.Operation]:
    timeouts = st.builds(
        p.AttemptTimeout,
        _durations,
        sync=st.sampled_from(["thread", "cooperative"]),
        argument=_maybe(_texts),
    )
    budgets = st.builds(
        p.Budget, _maybe(_durations), st.booleans(), _durations, _durations, st.none()
    )
    return st.builds(
        lambda **blocks: _operation(service, name, **blocks),
        idempotent=_maybe(st.booleans()),
        transport=_maybe(st.sampled_from(["http", "grpc", "sql", "redis", "local"])),
        description=_maybe(_texts),
        attempt_timeout=_maybe(timeouts),
        budget=_maybe(budgets),
        retry=_maybe(_retries),
        circuit_breaker=_maybe(_breakers),
        bulkhead=_maybe(
            st.builds(p.Bulkhead, st.integers(1, 99), st.integers(0, 99), _durations)
        ),
        fallback=_maybe(_fallbacks),
    )


def _service(
    operations: tuple[p.Operation, ...],
    override: p.Operation | None,
    owner: str | None,
    description: str | None,
    path: str,
) -> p.Service:
    edge = p.Call(
        "tax_api.compute",
        "tax_api",
        "compute",
        1.0,
        "sequential",
        override,
        "a.calls[tax_api.compute]",
        Span("a.yaml"),
    )
    return p.Service(
        name="quotes_api",
        document=_document(path),
        span=Span(path),
        owner=owner,
        description=description,
        service_class="online",
        critical=False,
        target=None,
        redis_url_env=None,
        facts=p.ServiceFacts(),
        operations={operation.name: operation for operation in operations},
        calls=(edge,),
        inbound=None,
        queues={},
        telemetry=p.Telemetry(),
        ignores=(),
    )


@pytest.fixture(scope="session")
def random_services() -> st.SearchStrategy[p.Service]:
    """Services whose every text may hold anything."""
    services = st.builds(
        _service,
        st.tuples(
            _operations("quotes_api", "get_quote"), _operations("quotes_api", "list")
        ),
        _maybe(_operations("tax_api", "compute")),
        _maybe(_texts),
        _maybe(_texts),
        _texts.map(lambda text: f"policies/{text.replace(chr(0), '')}.yaml"),
    )
    return st.deferred(lambda: services)  # which is shown in few words


def _queues(name: str) -> st.SearchStrategy[p.Queue]:
    waits = st.builds(
        p.Redelivery, _durations, st.just(2.0), _maybe(_durations), _jitters
    )
    uploads = st.builds(
        p.Upload, st.just("quotes_api.list"), st.integers(1, 99), _durations, _durations
    )
    consumers = st.builds(p.Consume, st.just("quotes_api.list"), st.integers(1, 99))
    return st.builds(
        p.Queue,
        service=st.just("quotes_api"),
        name=st.just(name),
        span=st.just(Span("a.yaml")),
        path=st.just(f"quotes_api.queues.{name}"),
        store=st.sampled_from(["sqlite", "redis"]),
        file=_texts,
        key=_texts,
        url_env=_texts,
        payload=_maybe(st.sampled_from(["a.b:C", "a.b:C.D", f"{'long_name.' * 9}x:Y"])),
        codec=st.just("json") | _texts,
        max_size=st.integers(1, 10**9),
        max_bytes=_maybe(st.integers(1, 10**12)),
        max_age=_maybe(_durations),
        warn_at=st.just(0.8),
        overflow=st.sampled_from(["reject", "dead_letter", "drop_oldest"]),
        lease=_durations,
        max_deliveries=_maybe(st.integers(1, 99)),
        redelivery=waits,
        dead_letter_max_size=_maybe(st.integers(1, 10**6)),
        order_by=_maybe(_texts),
        consume=_maybe(consumers),
        upload=_maybe(uploads),
    )


_inbounds = st.builds(
    p.Inbound,
    bulkhead=_maybe(
        st.builds(p.Bulkhead, st.integers(1, 99), st.integers(0, 99), _durations)
    ),
    budget=_maybe(
        st.builds(
            p.InboundBudget,
            _maybe(_durations),
            _maybe(_durations),
            _maybe(st.builds(p.BudgetHeader, _texts, st.sampled_from(["s", "ms"]))),
        )
    ),
)
_telemetries = st.builds(
    p.Telemetry,
    metrics=_maybe(st.just("prometheus") | _texts),
    logs=_maybe(st.sampled_from(["json", "text"])),
    heartbeat=_maybe(_durations),
)


@pytest.fixture(scope="session")
def random_full_services(
    random_services: st.SearchStrategy[p.Service],
) -> st.SearchStrategy[p.Service]:
    """The same with queues, protection as a server and telemetry."""
    services = st.builds(
        replace,
        random_services,
        queues=st.fixed_dictionaries(
            {}, optional={name: _queues(name) for name in ("jobs", "q" * 40)}
        ),
        inbound=_maybe(_inbounds),
        telemetry=_telemetries,
    )
    return st.deferred(lambda: services)


@pytest.fixture(scope="session")
def random_texts() -> st.SearchStrategy[str]:
    """Texts with everything that could break out of a literal."""
    return st.deferred(lambda: _texts)


@pytest.fixture(scope="session")
def random_values() -> st.SearchStrategy[Any]:
    """Plain data with such texts in it."""
    return st.deferred(lambda: _values)
