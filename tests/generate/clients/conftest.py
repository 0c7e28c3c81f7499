"""Clients of the libraries in ``sdk``, generated into a temporary package."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from policyctl.generate.build import Built, build
from policyctl.generate.compare import compare
from policyctl.generate.options import GenerateOptions
from policyctl.generate.write import write
from policyctl.resolve.policy import Project

LoadProject = Callable[[Mapping[str, str]], Project]
SDK = Path(__file__).parent / "sdk"

PAYMENTS = """\
version: 1
service: payment_api
target: payment_sdk:Client
operations:
  charge: {idempotent: true, attempt_timeout: 1s, retry: {max_attempts: 2, retry_on: [ConnectionError]}}
  refund: {bulkhead: {max_concurrent: 5}}
  find: {}
  list: {}
  after_list: {}
  later: {attempt_timeout: 1s}
  fails: {}
  search: {}
  page: {}
  identity: {}
  untyped: {}
  from_env: {}
  parse: {}
  newer: {}
  last: {}
  history: {}
  configured: {}
  measure: {}
  describe: {}
  price: {target: "payment_sdk.client:quote"}
  price_later: {target: "payment_sdk.client:quote_later"}
"""
STREAMS = """\
version: 1
service: stream_api
target: payment_sdk:Client
defaults: {kind: stream}
operations:
  stream: {bulkhead: {max_concurrent: 2}}
  numbers: {bulkhead: {max_concurrent: 2}}
  pages: {bulkhead: {max_concurrent: 2}}
  updates: {bulkhead: {max_concurrent: 2}}
  session: {bulkhead: {max_concurrent: 2}}
  transaction: {bulkhead: {max_concurrent: 2}}
  lock: {bulkhead: {max_concurrent: 2}}
"""
OTHERS = """\
version: 1
service: store_api
target: payment_sdk.generic:Store
operations:
  add: {}
  first: {}
  total: {}
  get: {}
  send: {target: "wire_sdk:Wire.send"}
---
version: 1
service: http_api
target: httpx:AsyncClient
operations:
  get: {idempotent: true, transport: http, attempt_timeout: 1s}
  request: {transport: http, circuit_breaker: {failure_threshold: 5}}
---
version: 1
service: cache_api
target: redis.asyncio:Redis
operations:
  get: {idempotent: true, transport: redis, attempt_timeout: 1s}
  set: {idempotent: true, transport: redis, attempt_timeout: 1s}
  hgetall: {idempotent: true, transport: redis, attempt_timeout: 1s}
  from_url: {transport: redis}
"""


@pytest.fixture(scope="session")
def texts() -> dict[str, str]:
    """Policies of the fixture library, and of others."""
    return {"payments": PAYMENTS, "others": OTHERS, "streams": STREAMS}


@pytest.fixture
def sdk(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the libraries, on the path."""
    monkeypatch.syspath_prepend(str(SDK))
    return SDK


@pytest.fixture(scope="session")
def generate(load: LoadProject) -> Callable[..., Built]:
    """A function that builds a package of a text, and writes it if it could be."""

    def make(text: str, output: Path, **options: Any) -> Built:
        project = load({"policies/a.yaml": text})
        chosen = GenerateOptions(output, output.name, root=output.parent, **options)
        built = build(project, chosen)
        if not built.diagnostics:
            write(built, compare(built, chosen), chosen)
        return built

    return make


@pytest.fixture
def package(
    sdk: Path,
    generate: Callable[..., Built],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Callable[[str], Callable[[str], ModuleType]]]:
    """A function that generates a text and gives what imports its modules."""

    def make(text: str) -> Callable[[str], ModuleType]:
        assert generate(text, tmp_path / "acme").diagnostics == ()
        monkeypatch.syspath_prepend(str(tmp_path))
        return lambda name: import_module(f"acme.{name}")

    yield make
    for name in [n for n in sys.modules if n == "acme" or n.startswith("acme.")]:
        del sys.modules[name]
