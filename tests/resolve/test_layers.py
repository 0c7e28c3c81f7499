"""Resolution order: later wins, and every value knows where it came from."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policyctl.resolve.policy import Operation, Origin
from policyctl.resolve.project import InputFile, Inputs, Loaded, load_project

Load = Callable[..., Loaded]

BASE = """
preset: base
defaults:
  transport: http
  retry: {max_attempts: 2, never_retry_on: [KeyError]}
  attempt_timeout: 1s
"""
STRICT = """
preset: strict
extends: [base]
defaults:
  attempt_timeout: {total: 500ms, connect: 100ms}
"""
SERVICE = """
service: s
extends: [strict]
defaults:
  budget: 9s
operations:
  plain: {}
  own:
    extends: [base]
    retry: {max_attempts: 4}
environments:
  staging:
    defaults:
      attempt_timeout: 7s
      budget: 20s
    operations:
      own:
        attempt_timeout: 8s
        retry: off
"""


def resolve(load: Load, name: str, environment: str | None = None) -> Operation:
    loaded = load(BASE, STRICT, SERVICE, environment=environment)
    assert loaded.diagnostics == ()
    found = loaded.project.find_operation(f"s.{name}")
    assert found is not None
    return found


def places(operation: Operation, *paths: str) -> list[tuple[str, str]]:
    """(label, place) of the origins at ``paths``."""
    origins = [operation.origin(path) for path in paths]
    return [(origin.label, str(origin.span)) for origin in origins]


def test_a_preset_lies_on_what_it_extends(load: Load) -> None:
    """strict replaces base's attempt timeout and keeps the rest of base."""
    plain = resolve(load, "plain")
    assert plain.attempt_timeout is not None
    assert plain.retry is not None
    assert (plain.attempt_timeout.total, plain.attempt_timeout.connect) == (0.5, 0.1)
    assert (plain.retry.max_attempts, plain.retry.never_retry_on) == (2, ("KeyError",))


def test_presets_of_an_operation_come_after_the_defaults(load: Load) -> None:
    """base, named by the operation, wins over strict; the operation wins over both."""
    own = resolve(load, "own")
    assert own.attempt_timeout is not None
    assert own.retry is not None
    assert own.budget is not None
    assert (own.attempt_timeout.total, own.attempt_timeout.connect) == (1.0, 0.1)
    assert (own.retry.max_attempts, own.budget.total) == (4, 9.0)


def test_an_environment_lies_on_everything(load: Load) -> None:
    """Its defaults come before its operations, and both after the document's own."""
    own, plain = resolve(load, "own", "staging"), resolve(load, "plain", "staging")
    assert own.attempt_timeout is not None
    assert plain.attempt_timeout is not None
    assert plain.budget is not None
    assert own.attempt_timeout.total == 8.0
    assert own.retry is None
    assert (plain.attempt_timeout.total, plain.attempt_timeout.connect) == (7.0, 0.1)
    assert plain.budget.total == 20.0


def test_origins_point_at_the_value_that_won(load: Load) -> None:
    """Each leaf has the file, line and column of its own value, not of its block."""
    own = resolve(load, "own")
    assert places(
        own,
        "retry.max_attempts",
        "retry.never_retry_on",
        "attempt_timeout.total",
        "attempt_timeout.connect",
        "budget.total",
        "budget.minimum",
    ) == [
        ("2.yaml:10:27", "2.yaml:10:27"),
        ("preset base", "0.yaml:5:44"),
        ("preset base", "0.yaml:6:20"),
        ("preset strict", "1.yaml:5:44"),
        ("2.yaml:5:11", "2.yaml:5:11"),
        ("built-in default", "None"),
    ]


def test_origins_of_an_environment_name_it(load: Load) -> None:
    """What an overlay set is labelled with the environment and placed in it."""
    own = resolve(load, "own", "staging")
    assert places(own, "attempt_timeout.total", "budget.total", "retry") == [
        ("environment staging", "2.yaml:18:26"),
        ("environment staging", "2.yaml:15:15"),
        ("environment staging", "2.yaml:19:16"),
    ]


def test_a_block_comes_from_the_last_layer_that_mentions_it(load: Load) -> None:
    """What is absent in a block is answered by the block's key in the nearest layer."""
    own = resolve(load, "own")
    assert own.origin("retry").label == "2.yaml:10:5"
    assert own.origin("retry.retry_if").label == "2.yaml:10:5"
    assert own.origin("hedge").label == "2.yaml:8:3"


def test_origins_are_a_mapping_of_everything(load: Load) -> None:
    """Iteration lists each path once; unknown paths are missing."""
    origins: Mapping[str, Origin] = resolve(load, "plain").origins
    paths = list(origins)
    assert len(paths) == len(set(paths)) == len(origins)
    assert {"retry", "retry.backoff", "retry.backoff.initial"} <= set(paths)
    assert origins.get("retry.backof") is None
    assert origins["retry.backoff.initial"].kind == "default"
    assert {origins[path].kind for path in paths} == {"document", "preset", "default"}


def test_short_forms_merge_like_their_long_forms(load: Load) -> None:
    """A short attempt timeout changes the total alone."""
    loaded = load("""
        service: s
        defaults: {attempt_timeout: {total: 5s, connect: 1s}}
        operations:
          op: {attempt_timeout: 2s}
    """)
    found = loaded.project.find_operation("s.op")
    assert found is not None
    assert found.attempt_timeout is not None
    assert (found.attempt_timeout.total, found.attempt_timeout.connect) == (2.0, 1.0)


def test_service_settings_come_from_presets_too(load: Load) -> None:
    """Class, telemetry and redis are merged key by key; owners are not inherited."""
    loaded = load(
        """
        preset: base
        owner: platform-team
        description: A preset.
        class: batch
        telemetry: {metrics: prometheus, heartbeat: 30s}
        redis: {url_env: BASE_URL}
        """,
        """
        service: s
        extends: [base]
        telemetry: {heartbeat: off}
        operations: {op: {}}
        environments: {production: {redis: {url_env: PRODUCTION_URL}}}
        """,
        environment="production",
    )
    service = loaded.project.services["s"]
    assert (service.service_class, service.owner) == ("batch", None)
    assert service.description is None
    assert service.telemetry.metrics == "prometheus"
    assert service.telemetry.heartbeat is None
    assert service.redis_url_env == "PRODUCTION_URL"
    assert service.origins["class"].label == "preset base"
    assert service.origins["redis.url_env"].label == "environment production"
    assert service.extends == ("base",)


def test_defaults_that_are_off_drop_those_of_presets(load: Load) -> None:
    """defaults: off keeps what a preset says about the service alone."""
    loaded = load(
        "preset: base\nclass: batch\ndefaults: {attempt_timeout: 1s}",
        "service: s\nextends: [base]\ndefaults: off\noperations: {op: {budget: 1s}}",
    )
    found = loaded.project.find_operation("s.op")
    assert loaded.diagnostics == ()
    assert found is not None
    assert found.attempt_timeout is None
    assert loaded.project.services["s"].service_class == "batch"


def test_the_later_of_two_presets_wins_whole(load: Load) -> None:
    """extends: [a, b] lays b on a, with all that b extends."""
    loaded = load(
        "preset: low\ndefaults: {attempt_timeout: 1s, budget: 2s}",
        "preset: a\nextends: [low]\ndefaults: {attempt_timeout: 3s}",
        "preset: b\nextends: [low]\ndefaults: {budget: 4s}",
        "service: s\nextends: [a, b]\noperations: {op: {}}",
    )
    found = loaded.project.find_operation("s.op")
    assert found is not None
    assert found.attempt_timeout is not None
    assert found.budget is not None
    assert (found.attempt_timeout.total, found.budget.total) == (1.0, 4.0)


NUMBERS = st.one_of(st.none(), st.integers(1, 9))


@settings(max_examples=60, deadline=None)
@given(st.tuples(*[NUMBERS] * 6))
def test_the_last_layer_that_speaks_decides(numbers: tuple[int | None, ...]) -> None:
    """Whatever layers set a number, the last of them in the documented order wins."""
    preset, defaults, second, own, overlay, last = numbers
    text = f"""version: 1
service: s
extends: [first]
defaults: {{transport: http, {_retry(defaults)}}}
operations:
  op: {{extends: [second], {_retry(own)}}}
environments:
  e:
    defaults: {{x-a: 1, {_retry(overlay)}}}
    operations: {{op: {{x-a: 1, {_retry(last)}}}}}
"""
    files = [
        f"version: 1\npreset: first\ndefaults: {{x-a: 1, {_retry(preset)}}}\n",
        f"version: 1\npreset: second\ndefaults: {{x-a: 1, {_retry(second)}}}\n",
        text,
    ]
    inputs = tuple(InputFile(f"{i}", file.encode()) for i, file in enumerate(files))
    loaded = load_project(Inputs(inputs, environment="e"))
    assert loaded.diagnostics == ()
    found = loaded.project.find_operation("s.op")
    assert found is not None
    stated = [number for number in numbers if number is not None]
    if stated:
        assert found.retry is not None
        assert found.retry.max_attempts == stated[-1]
    else:
        assert found.retry is None


def _retry(number: int | None) -> str:
    return "x-b: 1" if number is None else f"retry: {{max_attempts: {number}}}"


@pytest.mark.parametrize("kind", ["operations", "queues"])
def test_an_overlay_of_something_unknown_is_an_error(load: Load, kind: str) -> None:
    """An environment changes what is there; it adds nothing, and a slip is shown."""
    loaded = load(f"""
        service: s
        operations: {{charge: {{}}}}
        queues: {{charge_queue: {{store: external, max_size: 5}}}}
        environments:
          staging:
            {kind}: {{charg{'e_queu' if kind == 'queues' else ''}: {{}}}}
    """)
    [found] = loaded.diagnostics
    assert (found.code, found.name) == ("VA108", "unknown-overlay")
    assert str(found.span) == "0.yaml:7:" + ("18" if kind == "operations" else "14")
    assert found.help in ("did you mean charge?", "did you mean charge_queue?")
    assert str(found.related[0].span).startswith("0.yaml:")


def test_an_overlay_cannot_drop_all_defaults(load: Load) -> None:
    """defaults: off in an environment would do nothing, so it is refused."""
    loaded = load("""
        service: s
        operations: {charge: {}}
        environments: {staging: {defaults: off}}
    """)
    [found] = loaded.diagnostics
    assert (found.code, str(found.span)) == ("VA132", "0.yaml:4:36")


@pytest.mark.parametrize(
    ("name", "severity", "help_text"),
    [
        ("stagin", "error", "did you mean staging?"),
        ("canary", "warning", "environments are production, staging"),
    ],
)
def test_an_unknown_environment_is_found(
    load: Load, name: str, severity: str, help_text: str
) -> None:
    """A misspelt environment is an error, one that nobody overlays a warning."""
    loaded = load(
        """
        service: s
        operations: {op: {}}
        environments: {staging: {critical: true}, production: {critical: true}}
        """,
        environment=name,
    )
    [found] = loaded.diagnostics
    assert (found.code, found.severity.label) == ("VA109", severity)
    assert found.help == help_text


def test_without_overlays_every_environment_is_the_same(load: Load) -> None:
    """Where nobody has an overlay, no name is wrong."""
    loaded = load("service: s\noperations: {op: {}}", environment="production")
    assert loaded.diagnostics == ()
    assert loaded.project.environment == "production"
