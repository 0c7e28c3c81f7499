"""Fixes: the right characters change, at the right place, and nothing else does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from policyctl.diagnostics import Fix, Severity
from policyctl.lint import mend
from policyctl.lint.context import Context
from policyctl.lint.place import Place, of_service
from policyctl.lint.testing import load_yaml, operation_yaml
from policyctl.resolve.policy import Project
from policyctl.resolve.project import InputFile, Inputs, load_project
from policyctl.source.edits import apply_edits


def place_of(project: Project, path: str) -> Place:
    """The place with a policy path."""
    context = Context(project)
    places = [site.place for site in context.sites]
    places += [site.place for site in context.queues]
    places += [of_service(service) for service in project.services.values()]
    return next(place for place in places if place.path == path)


def applied(place: Place, fix: Fix | None) -> str | None:
    """The document's text with a fix in it."""
    return None if fix is None else apply_edits(place.document.source, fix.edits)


def set_in(
    text: str, at: str, value: str, path: str = "payment_api.operations.charge"
) -> str | None:
    """The text after one setting is set; None where there is no fix."""
    place = place_of(load_yaml(text), path)
    return applied(place, mend.set_value(place, at, value, safe=True))


@pytest.mark.parametrize(
    ("settings", "at", "value", "mended"),
    [
        ("retry: {max_attempts: 6}", "retry.max_attempts", "3", "retry: {max_attempts: 3}"),
        ("retry:\n  max_attempts: 6  # six\n  backoff: {max: 1s}", "retry.max_attempts", "3",
         "retry:\n  max_attempts: 3  # six\n  backoff: {max: 1s}"),
        ("budget: 5s # total", "budget.total", "7s", "budget: 7s # total"),
        ("budget: '5s'", "budget.total", "7s", "budget: '7s'"),
        ('budget: "5s"', "budget.total", "7s", 'budget: "7s"'),
        ("budget: 5s", "budget.inherit", "false", "budget: {total: 5s, inherit: false}"),
        ("budget: {total: 5s}", "budget.total", "7s", "budget: {total: 7s}"),
        ("budget:\n  total: 5s", "budget.inherit", "false", "budget:\n  total: 5s\n  inherit: false"),
        ("attempt_timeout: 5s", "attempt_timeout.sync", "thread", "attempt_timeout: {total: 5s, sync: thread}"),
        ("idempotent: true", "budget.total", "5s", "idempotent: true\nbudget: 5s"),
        ("idempotent: true", "retry.backoff.jitter", "full",
         "idempotent: true\nretry: {backoff: {jitter: full}}"),
        ("retry: {}", "retry.max_attempts", "3", "retry: {max_attempts: 3}"),
        ("retry: {backoff: {jitter: none}}", "retry.backoff.jitter", "full",
         "retry: {backoff: {jitter: full}}"),
        ("circuit_breaker: {window: 10s}", "circuit_breaker.window.seconds", "20s",
         "circuit_breaker: {window: 20s}"),
        ("circuit_breaker: {window: 10 calls}", "circuit_breaker.window.calls", "20",
         "circuit_breaker: {window: 20 calls}"),
        ("circuit_breaker: {}", "circuit_breaker.window.calls", "20",
         "circuit_breaker: {window: 20 calls}"),
        ("circuit_breaker: {recovery_timeout: 5s}", "circuit_breaker.recovery_timeout.jitter", "20%",
         "circuit_breaker: {recovery_timeout: {initial: 5s, jitter: 20%}}"),
        ("description: Zahlung über Straßen 🚀\nretry: {max_attempts: 6}", "retry.max_attempts", "3",
         "description: Zahlung über Straßen 🚀\nretry: {max_attempts: 3}"),
        ("retry: {max_attempts: 2}\ndescription: |\n  a\n  b", "budget.total", "5s",
         "retry: {max_attempts: 2}\ndescription: |\n  a\n  b\nbudget: 5s"),
    ],
)  # fmt: skip
def test_one_value_is_set_where_it_stands(
    settings: str, at: str, value: str, mended: str
) -> None:
    """Short and long forms, block and flow style, quotes and comments stay as they are."""
    base = "transport: http\n"
    assert set_in(operation_yaml(base + settings), at, value) == operation_yaml(
        base + mended
    )


def test_line_breaks_of_the_file_are_kept() -> None:
    """A key is added with the line breaks that the file has."""
    text = operation_yaml("transport: http\nretry: {max_attempts: 2}").replace(
        "\n", "\r\n"
    )
    assert (
        set_in(text, "budget.total", "5s") == text.rstrip() + "\r\n    budget: 5s\r\n"
    )


def test_a_file_without_a_last_line_break_stays_readable() -> None:
    """The added key begins a line of its own."""
    text = operation_yaml("transport: http").rstrip("\n")
    assert set_in(text, "budget.total", "5s") == text + "\n    budget: 5s"


@pytest.mark.parametrize(
    "service",
    [
        "defaults: {retry: {max_attempts: 6}}",
        "defaults:\n  retry:\n    max_attempts: 6",
    ],
)
def test_an_inherited_value_is_set_at_the_operation(service: str) -> None:
    """What defaults give is left alone, since other operations use it too."""
    text = operation_yaml("transport: http", service)
    assert (
        set_in(text, "retry.max_attempts", "3")
        == text + "    retry: {max_attempts: 3}\n"
    )


def test_a_preset_is_never_edited() -> None:
    """The key is added at the operation that extends the preset."""
    preset = "version: 1\npreset: eager\ndefaults:\n  retry: {max_attempts: 9}\n"
    text = operation_yaml(
        "transport: http\nretry: {backoff: {max: 1s}}", "extends: [eager]"
    )
    loaded = load_project(
        Inputs(
            (
                InputFile("p.yaml", preset.encode()),
                InputFile("policy.yaml", text.encode()),
            )
        )
    )
    place = place_of(loaded.project, "payment_api.operations.charge")
    fix = mend.set_value(place, "retry.max_attempts", "3", safe=False)
    assert applied(place, fix) == text.replace(
        "{backoff: {max: 1s}}", "{backoff: {max: 1s}, max_attempts: 3}"
    )


def test_an_alias_is_overridden_and_its_anchor_left_alone() -> None:
    """A block that is an alias becomes a merge of it with the one key."""
    text = operation_yaml(
        "transport: http\nretry: *r", "x-common: &r {max_attempts: 6}"
    )
    assert set_in(text, "retry.max_attempts", "3") == text.replace(
        "retry: *r", "retry: {<<: *r, max_attempts: 3}"
    )


def test_a_scalar_alias_is_replaced() -> None:
    """A value that is an alias is written out."""
    text = operation_yaml("transport: http\nbudget: *t", "x-t: &t 5s")
    assert set_in(text, "budget.total", "7s") == text.replace("*t", "7s")


@pytest.mark.parametrize(
    "settings",
    [
        "transport: http\nretry: &r {max_attempts: 6}\nx-copy: *r",
        "transport: http\nretry: {max_attempts: &n 6}\nx-copy: *n",
        "transport: http\nretry: off",
    ],
)
def test_what_others_use_is_not_edited(settings: str) -> None:
    """Anchored nodes with aliases, and blocks that are off, get no fix."""
    text = operation_yaml(settings)
    assert set_in(text, "retry.max_attempts", "3") is None


def test_an_operation_that_others_merge_is_not_edited() -> None:
    """A key added to the anchored operation would reach the one that merges it."""
    text = (
        "version: 1\nservice: payment_api\nowner: t\noperations:\n"
        "  charge: &base\n    transport: http\n    retry: {max_attempts: 6}\n"
        "  refund:\n    <<: *base\n    idempotent: true\n"
    )
    assert set_in(text, "retry.max_attempts", "3") is None
    refund = "payment_api.operations.refund"
    assert set_in(text, "retry.max_attempts", "3", refund) is None
    assert set_in(text, "budget.total", "3s", refund) == text + "    budget: 3s\n"


def test_an_override_is_mended_in_its_entry() -> None:
    """The caller's own settings are changed in the calls list, found by what it calls."""
    text = operation_yaml(
        "transport: http",
        """
        calls:
          - to: payment_api.charge
            override: {retry: {max_attempts: 7}}
        """,
    )
    path = "payment_api.calls[payment_api.charge].override"
    assert set_in(text, "retry.max_attempts", "3", path) == text.replace("7", "3")


def test_a_value_of_an_environment_is_mended_in_its_overlay() -> None:
    """What an overlay gives is changed there, and the base stays."""
    text = operation_yaml(
        "transport: http\nretry: {max_attempts: 2}",
        "environments: {staging: {operations: {charge: {retry: {max_attempts: 9}}}}}",
    )
    inputs = Inputs((InputFile("policy.yaml", text.encode()),), environment="staging")
    place = place_of(load_project(inputs).project, "payment_api.operations.charge")
    fix = mend.set_value(place, "retry.max_attempts", "3", safe=False)
    assert applied(place, fix) == text.replace("9", "3")


def test_a_setting_of_a_service_and_of_a_queue() -> None:
    """Places other than operations are mended in the same way."""
    text = operation_yaml(
        "transport: http",
        "queues: {jobs: {store: sqlite, path: a.db, max_size: 10, max_deliveries: 9}}",
    )
    assert set_in(
        text, "max_deliveries", "5", "payment_api.queues.jobs"
    ) == text.replace("max_deliveries: 9", "max_deliveries: 5")
    assert set_in(text, "critical", "true", "payment_api") == text + "critical: true\n"


LISTS = [
    ("[400, 429, 502]", "[429, 502]"),
    ("[429, 400, 502]", "[429, 502]"),
    ("[429, 502, 400]", "[429, 502]"),
    ("[429, 502, '400']", "[429, 502]"),
    ("\n  - 429 # slow\n  - 400\n  - 502", "\n  - 429 # slow\n  - 502"),
    ("\n- 429\n- 400", "\n- 429"),
]


@pytest.mark.parametrize(("before", "after"), LISTS)
def test_items_are_taken_out_of_a_list(before: str, after: str) -> None:
    """The other items keep their form and their comments."""
    text = operation_yaml(
        f"transport: http\nretry:\n  retry_on_status: {before}".replace(
            "\n- ", "\n  - "
        ).replace("\n  - ", "\n    - ")
    )
    wanted = operation_yaml(
        f"transport: http\nretry:\n  retry_on_status: {after}".replace(
            "\n- ", "\n  - "
        ).replace("\n  - ", "\n    - ")
    )
    place = place_of(load_yaml(text), "payment_api.operations.charge")
    present = ("400", "429", "502")
    fix = mend.take_out(place, "retry.retry_on_status", ["400"], present, safe=True)
    assert applied(place, fix) == wanted


def test_an_inherited_list_is_written_out_without_the_item() -> None:
    """Lists are replaced whole, so the operation gets its own."""
    text = operation_yaml(
        "transport: http", "defaults: {retry: {retry_on_status: [400, 429, '502-504']}}"
    )
    place = place_of(load_yaml(text), "payment_api.operations.charge")
    present = ("400", "429", "502-504")
    fix = mend.take_out(place, "retry.retry_on_status", ["400"], present, safe=True)
    wanted = text + "    retry: {retry_on_status: [429, 502-504]}\n"
    assert applied(place, fix) == wanted
    assert load_yaml(wanted)


def test_a_list_is_never_emptied() -> None:
    """Taking the last item out is left to people."""
    text = operation_yaml("transport: http\nretry: {retry_on_status: [400]}")
    place = place_of(load_yaml(text), "payment_api.operations.charge")
    at = "retry.retry_on_status"
    assert mend.take_out(place, at, ["400"], ("400",), safe=True) is None


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ("circuit_breaker: {record_on: [not_sent]}", "circuit_breaker: {record_on: [not_sent, timeout]}"),
        ("circuit_breaker:\n  record_on:\n    - not_sent", "circuit_breaker:\n  record_on:\n    - not_sent\n    - timeout"),
        ("circuit_breaker: {}", "circuit_breaker: {record_on: [not_sent, timeout]}"),
    ],
)  # fmt: skip
def test_items_are_put_into_a_list(settings: str, wanted: str) -> None:
    """An item goes to the end, in the style of the list."""
    text = operation_yaml("transport: http\n" + settings)
    place = place_of(load_yaml(text), "payment_api.operations.charge")
    at = "circuit_breaker.record_on"
    fix = mend.put_in(place, at, ["timeout"], ("not_sent",), safe=False)
    assert applied(place, fix) == operation_yaml("transport: http\n" + wanted)


def test_several_values_are_set_together() -> None:
    """Keys of a block that has to be made are written into it at once."""
    text = operation_yaml("transport: http\nbudget: 5s")
    place = place_of(load_yaml(text), "payment_api.operations.charge")
    values = [
        ("retry.max_attempts", "3"),
        ("retry.retry_on", "[timeout]"),
        ("budget.total", "6s"),
    ]
    fix = mend.set_values(place, values, safe=False, message="bound it")
    assert applied(place, fix) == operation_yaml(
        "transport: http\nbudget: 6s\nretry: {max_attempts: 3, retry_on: [timeout]}"
    )
    assert fix is not None
    assert fix.message == "bound it"


def test_a_fix_says_what_it_does_and_where() -> None:
    """The message names the setting, the value and the operation."""
    text = operation_yaml("transport: http")
    place = place_of(load_yaml(text), "payment_api.operations.charge")
    fix = mend.set_value(place, "budget.total", "5s", safe=False)
    assert fix is not None
    assert fix.message == "set budget.total: 5s in payment_api.charge"
    assert fix.safe is False


SETTINGS = [
    ("retry.max_attempts", "2", lambda op: op.retry.max_attempts == 2),
    ("retry.backoff.jitter", "equal", lambda op: op.retry.backoff.jitter.kind == "equal"),
    ("budget.total", "41s", lambda op: op.budget.total == 41),
    ("budget.minimum", "3ms", lambda op: op.budget.minimum == 0.003),
    ("attempt_timeout.total", "7ms", lambda op: op.attempt_timeout.total == 0.007),
    ("circuit_breaker.recovery_timeout.initial", "9s",
     lambda op: op.circuit_breaker.recovery_timeout.initial == 9),
    ("circuit_breaker.recovery_timeout.jitter", "7%",
     lambda op: op.circuit_breaker.recovery_timeout.jitter == 0.07),
    ("bulkhead.max_concurrent", "17", lambda op: op.bulkhead.max_concurrent == 17),
]  # fmt: skip
FILES = sorted((Path(__file__).parents[2] / "policies").rglob("*.yaml"))


@pytest.mark.parametrize(("at", "value", "holds"), SETTINGS, ids=lambda x: str(x)[:20])
def test_our_own_policies_change_by_that_setting_alone(
    at: str, value: str, holds: Callable[[Any], bool]
) -> None:
    """Over all example services, the new text resolves to the old policy with one value."""
    contents = {path.name: path.read_bytes() for path in FILES}
    project = project_of(contents)
    done = 0
    for site in Context(project).sites:
        operation = project.find_operation(site.policy.id)
        if site.edge is not None or operation is None:
            continue
        if getattr(operation, at.partition(".")[0]) is None:
            continue
        fix = mend.set_value(site.place, at, value, safe=True)
        assert fix is not None, site.place.path
        (edit,) = fix.edits
        source = site.place.document.source
        text = apply_edits(source, fix.edits)
        assert text.startswith(source.text[: edit.span.start])
        assert text.endswith(source.text[edit.span.end :])
        name = source.path
        again = project_of({**contents, name: text.encode()}, strict=False)
        changed = again.find_operation(operation.id)
        if changed is None:
            continue  # the value contradicts another one, which validation says
        assert holds(changed), text
        done += 1
    assert done >= 3


def project_of(contents: dict[str, bytes], strict: bool = True) -> Project:
    """The project of some files."""
    inputs = tuple(InputFile(name, data) for name, data in contents.items())
    loaded = load_project(Inputs(inputs))
    if strict:
        assert [d for d in loaded.diagnostics if d.severity is Severity.ERROR] == []
    return loaded.project


def test_a_call_without_an_override_has_no_fix_at_the_caller() -> None:
    """The callee's settings are used by all callers."""
    text = dedent("""\
        version: 1
        service: payment_api
        owner: t
        calls: [{to: payment_api.charge}]
        operations: {charge: {transport: http, attempt_timeout: 5s}}
        """)
    context = Context(load_yaml(text))
    (edge,) = context.graph.edges()
    place = context.place_of(edge)
    assert mend.set_value(place, "attempt_timeout.total", "1s", safe=False) is None
