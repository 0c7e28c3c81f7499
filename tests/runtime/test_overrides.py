"""Limits changed by environment variables at start-up."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from policyctl.checks.limits import LIMITS, override_name, parse_limit, show
from policyctl.runtime import settings
from policyctl.runtime.errors import PolicyConfigError
from policyctl.runtime.overrides import apply_overrides, read_environment
from policyctl.units import UnitError

BLOCKS: dict[str, Any] = {
    "attempt_timeout": settings.AttemptTimeout(
        total=5.0, connect=1.0, first_item=2.0, idle=3.0
    ),
    "budget": settings.Budget(total=15.0),
    "retry": settings.Retry(
        retry_after=settings.RetryAfter(), budget=settings.RetryBudget()
    ),
    "circuit_breaker": settings.CircuitBreaker(
        failure_threshold=8,
        failure_ratio=0.5,
        slow_call=settings.SlowCall(after=2.0, ratio=0.8),
        recovery_timeout=settings.Recovery(max=60.0),
    ),
    "bulkhead": settings.Bulkhead(max_concurrent=10),
    "rate_limit": settings.RateLimit(rate=100.0),
    "hedge": settings.Hedge(delay=0.2),
    "idempotency": settings.Idempotency(key=("a",), in_progress=30.0),
    "transport": "http",
}


@pytest.fixture(autouse=True)
def _own_environment() -> Iterator[None]:
    """Each test sees only the variables that it sets."""
    yield
    read_environment(None)


def override(
    variables: dict[str, str], blocks: dict[str, Any] = BLOCKS, owner: str = "charge"
) -> tuple[dict[str, Any], dict[str, str]]:
    """What the variables make of the blocks of payment_api.charge."""
    read_environment(variables)
    return apply_overrides("payment_api", owner, blocks)


def test_nothing_changes_without_variables() -> None:
    """Variables of other operations and programs do not count."""
    blocks, applied = override(
        {
            "PATH": "/bin",
            "PAYMENT_API_REFUND_BUDGET": "1s",
            "PAYMENT_API_CHARGE_URL": "x",
        }
    )
    assert (blocks, applied) == (BLOCKS, {})


def test_one_number_is_changed() -> None:
    """The value has the grammar of the YAML; the rest of the block stays."""
    blocks, applied = override(
        {
            "PAYMENT_API_CHARGE_BULKHEAD_MAX_CONCURRENT": "20",
            "PAYMENT_API_CHARGE_X": "1",
        }
    )
    assert blocks["bulkhead"] == BLOCKS["bulkhead"].replace(max_concurrent=20)
    assert {k: v for k, v in blocks.items() if k != "bulkhead"} == {
        k: v for k, v in BLOCKS.items() if k != "bulkhead"
    }
    assert applied == {"PAYMENT_API_CHARGE_BULKHEAD_MAX_CONCURRENT": "20"}


@pytest.mark.parametrize(
    "path",
    [
        path
        for path, limit in LIMITS.items()
        if limit.override
        and path.partition(".")[0] in BLOCKS
        and path not in ("budget.default", "budget.max")
        and path != "circuit_breaker.window.calls"
    ],
)
def test_every_limit_of_an_operation_can_be_overridden(path: str) -> None:
    """Each documented variable reaches its setting, halved from what was there."""
    target: Any = BLOCKS
    for key in path.split("."):
        target = target[key] if isinstance(target, dict) else getattr(target, key)
    halved: float = max(1, int(target) // 2)
    value = halved if LIMITS[path].kind == "count" else target / 2
    text = show(LIMITS[path].kind, value)
    name = override_name("payment_api", "charge", path)
    blocks, applied = override({name: text})
    found: Any = blocks
    for key in path.split("."):
        found = found[key] if isinstance(found, dict) else getattr(found, key)
    assert found == pytest.approx(value)
    assert applied == {name: text}


def test_a_window_changes_its_kind() -> None:
    """The variable takes calls or a duration, as the YAML does."""
    name = "PAYMENT_API_CHARGE_CIRCUIT_BREAKER_WINDOW"
    blocks, _ = override({name: "50 calls"})
    assert blocks["circuit_breaker"].window == settings.Window(calls=50)
    blocks, _ = override({name: "5m"})
    assert blocks["circuit_breaker"].window == settings.Window(seconds=300.0)


def test_attempts_cannot_be_made_unlimited() -> None:
    """Only a control loop may retry without limit, and that is known to its policy."""
    variable = {"PAYMENT_API_CHARGE_RETRY_MAX_ATTEMPTS": "unlimited"}
    with pytest.raises(PolicyConfigError, match="change but not take away"):
        override(variable)
    with pytest.raises(PolicyConfigError, match="a block that is off"):
        override(variable, {})
    unlimited = {"retry": settings.Retry(max_attempts=None)}
    assert override(variable, unlimited)[0] == unlimited
    limited, _ = override({"PAYMENT_API_CHARGE_RETRY_MAX_ATTEMPTS": "7"}, unlimited)
    assert limited["retry"].max_attempts == 7


@pytest.mark.parametrize("path", [path for path, x in LIMITS.items() if x.override])
def test_no_remedy_speaks_of_what_an_override_cannot_say(path: str) -> None:
    """Zero, off and nonsense are refused with a help that itself is accepted."""
    hints: list[str] = []
    for text in ("0", "0s", "0/s", "0%", "0B", "off", "x", "5.0"):
        try:
            parse_limit(path, text)
        except UnitError as error:
            hints.append(error.hint)
    assert hints
    assert not [h for h in hints if "or off" in h or "unlimited" in h]


def test_two_numbers_that_fit_together_are_applied_together() -> None:
    """Raising initial over the old max is fine if max is raised as well."""
    blocks, _ = override(
        {
            "PAYMENT_API_CHARGE_RETRY_BACKOFF_INITIAL": "8s",
            "PAYMENT_API_CHARGE_RETRY_BACKOFF_MAX": "20s",
        }
    )
    assert blocks["retry"].backoff == settings.Backoff(initial=8.0, max=20.0)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("ATTEMPT_TIMEOUT", "off", "`off` is not a value of an override"),
        ("RETRY_MAX_ATTEMPTS", "off", "`off` is not a value of an override"),
        ("BULKHEAD_MAX_CONCURRENT", "many", "is not a whole number"),
        ("BULKHEAD_MAX_CONCURRENT", "0", "is not possible here"),
        ("BULKHEAD_MAX_CONCURRENT", "-1", "is not a whole number"),
        ("ATTEMPT_TIMEOUT", "30", "30"),
        ("ATTEMPT_TIMEOUT", "", "``"),
        ("ATTEMPT_TIMEOUT", "inf", "inf"),
        ("BUDGET_MINIMUM", "20s", "leaves nothing of the total of 15.0 s"),
        ("RETRY_BACKOFF_INITIAL", "8s", "8.0 s is over the max of 5.0 s"),
    ],
)
def test_a_bad_value_is_one_clear_error(name: str, text: str, message: str) -> None:
    """The error names operation, variable, value and what is wrong with it."""
    variable = f"PAYMENT_API_CHARGE_{name}"
    with pytest.raises(PolicyConfigError) as caught:
        override({variable: text})
    shown = str(caught.value)
    assert shown.startswith("payment_api.charge: ")
    assert f"{variable}={text}" in shown
    assert message in shown


@pytest.mark.parametrize(
    ("name", "blocks"),
    [
        ("BULKHEAD_MAX_CONCURRENT", {}),
        ("BULKHEAD_MAX_CONCURRENT", {"bulkhead": None}),
        ("RETRY_BUDGET_RATIO", {"retry": settings.Retry()}),
    ],
)
def test_a_limit_of_a_block_that_is_off_is_an_error(
    name: str, blocks: dict[str, Any]
) -> None:
    """A variable without effect would be a silent default."""
    text = "50%" if name.endswith("RATIO") else "20"
    with pytest.raises(PolicyConfigError, match="a block that is off"):
        override({f"PAYMENT_API_CHARGE_{name}": text}, blocks)


def test_a_near_miss_is_warned_about() -> None:
    """A variable that is almost right is probably meant; others are not ours."""
    with pytest.warns(UserWarning, match="did you mean PAYMENT_API_CHARGE_BUDGET"):
        override({"PAYMENT_API_CHARGE_BUDGTE": "5s"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        override({"PAYMENT_API_CHARGE_ENDPOINT": "5s"})
        override({"PAYMENT_API_CHARGE_OUT": "5s"})


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("PAYMENT_API_CHARGE_TIMEOUT", "ATTEMPT_TIMEOUT"),
        ("PAYMENT_API_CHARGE_MAX_ATTEMPTS", "RETRY_MAX_ATTEMPTS"),
        ("PAYMENT_API_CHARGE_MAX_CONCURRENT", "BULKHEAD_MAX_CONCURRENT"),
        ("payment_api_charge_attempt_timeout", "ATTEMPT_TIMEOUT"),
        ("Payment_Api_Charge_Timeout", "ATTEMPT_TIMEOUT"),
    ],
)
def test_a_name_without_its_block_or_in_small_letters_is_a_near_miss(
    name: str, meant: str
) -> None:
    """It overrides nothing, and is told which name would."""
    with pytest.warns(UserWarning, match=f"did you mean PAYMENT_API_CHARGE_{meant}"):
        blocks, applied = override({name: "5s"})
    assert (blocks, applied) == (BLOCKS, {})


def test_inbound_has_its_own_limits() -> None:
    """PAYMENT_API_INBOUND_BUDGET_MAX belongs to inbound, not to an operation."""
    blocks = {"budget": settings.InboundBudget(default=10.0, max=30.0)}
    changed, _ = override({"PAYMENT_API_INBOUND_BUDGET_MAX": "20s"}, blocks, "inbound")
    assert changed["budget"] == settings.InboundBudget(default=10.0, max=20.0)


def test_nameless_policies_have_no_variables() -> None:
    """Without a service there is no name to override by."""
    read_environment({"__BULKHEAD_MAX_CONCURRENT": "20", "_BUDGET": "5s"})
    assert apply_overrides("", "", BLOCKS) == (BLOCKS, {})


def test_the_table_of_limits_is_not_loaded_for_nothing() -> None:
    """A process without variables of ours does not pay for parsing them."""
    code = (
        "import sys; from policyctl.runtime.overrides import apply_overrides; "
        "apply_overrides('payment_api', 'charge', {}); "
        "print('policyctl.checks.limits' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout.split() == ["False"], run.stderr
