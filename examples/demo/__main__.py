"""The whole way: validate, lint, generate, type-check, import, and survive an outage.

Run it with ``make demo``. It takes under a minute and talks to 127.0.0.1 only.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx

from examples.demo.timeline import OUTAGE, Summary, Transitions, run
from examples.demo.worlds import RATE, Call, World, hand_written
from policyctl.runtime import events
from policyctl.runtime.errors import CircuitOpenError
from policyctl.runtime.policy import Policy

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / ".demo"
PACKAGE = "acme_resilience"

TEN_TIMES_FASTER = {
    "HOTEL_API_GET_HOTEL_ATTEMPT_TIMEOUT": "500ms",
    "HOTEL_API_GET_HOTEL_BUDGET": "2s",
    "HOTEL_API_GET_HOTEL_RETRY_BACKOFF_INITIAL": "100ms",
    "HOTEL_API_GET_HOTEL_CIRCUIT_BREAKER_RECOVERY_TIMEOUT": "1500ms",
}
"""Limits of the real policy, shortened so that the outage fits into half a minute."""


def title(text: str) -> None:
    """Print a step's headline."""
    print(f"\n=== {text}\n", flush=True)


def shell(*command: str, expect: int = 0) -> None:
    """Run a command in the repository, show it, and stop when it ends otherwise."""
    shown = " ".join(command).replace(sys.executable + " -m ", "")
    print(f"$ {shown}", flush=True)
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    if code != expect:
        sys.exit(f"demo: `{shown}` ended with {code}, expected {expect}")


def policyctl(*arguments: str, expect: int = 0) -> None:
    """Run the command line of this checkout."""
    print(f"$ policyctl {' '.join(arguments)}", flush=True)
    command = [sys.executable, "-m", "policyctl", *arguments]
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    if code != expect:
        sys.exit(f"demo: policyctl ended with {code}, expected {expect}")


def prepare() -> Any:
    """Validate, generate, type-check and import; return the generated hotel module."""
    title("1. Validate and lint our own policies")
    policyctl("validate", "policies")
    print(
        "Nothing is above info: each line names a fact or a setting that would tell more."
    )

    title("2. What lint says of the numbers that these policies replaced")
    legacy = "examples/legacy/hotel_api.yaml"
    policyctl("validate", legacy, "--select", "ID001", expect=1)

    title("3. Generate typed code, and prove that it is fresh")
    output = f".demo/{PACKAGE}"
    policyctl("generate", "policies", "--output", output)
    policyctl("generate", "policies", "--output", output, "--check")

    title("4. Type-check what was generated")
    shell(sys.executable, "-m", "mypy", "--strict", output)

    sys.path.insert(0, str(WORK))
    os.environ.update(TEN_TIMES_FASTER)
    return importlib.import_module(f"{PACKAGE}.hotel_api")


def guarded(policy: Policy, client: httpx.AsyncClient) -> Call:
    """The same request as the hand-written one, under the generated policy."""

    @policy
    async def get_hotel(path: str) -> str:
        answer = await client.get(path)
        answer.raise_for_status()
        return "ok"

    async def call(path: str) -> str:
        try:
            return await get_hotel(path)
        except CircuitOpenError:
            return "rejected"

    return call


async def outage(service: Any) -> tuple[Summary, Summary]:
    """Both worlds through the same outage."""
    async with World("plain") as plain, World("guarded") as policies:
        breaker = Transitions(service.get_hotel.circuit_breaker.state)

        def listen(event: events.Event) -> None:
            if event.kind == "transition":
                breaker.add(event.data["new"])
            elif event.kind == "retry":
                policies.outcomes["retry"] += 1

        stop = events.EVENTS.listen(listen)
        try:
            return await run(
                plain,
                hand_written(plain),
                policies,
                guarded(service.get_hotel, policies.client),
                breaker,
            )
        finally:
            stop()


def report(plain: Summary, policies: Summary) -> None:
    """Say what the two time lines show, in numbers."""

    def recovery(summary: Summary) -> str:
        if summary.recovery is None:
            return "not within this run"
        return f"{summary.recovery:.0f} s"

    rows = (
        (
            "requests sent to the dying server",
            plain.sent_in_outage,
            policies.sent_in_outage,
        ),
        (
            "time to recover once the server was healthy",
            recovery(plain),
            recovery(policies),
        ),
        (
            "calls lost after the server was healthy",
            plain.not_ok_after,
            policies.not_ok_after,
        ),
        ("calls that succeeded", plain.ok, policies.ok),
    )
    print(f"\n {'':<44}  {'hand-written':>19}  {'policies':>19}")
    for name, left, right in rows:
        print(f" {name:<44}  {left:>19}  {right:>19}")


def main() -> None:
    """Run all steps; exit with 1 when the outcome is not the one the README promises."""
    began = time.monotonic()
    shutil.rmtree(WORK, ignore_errors=True)
    service = prepare()
    down, hang, up = (second for second, _ in OUTAGE)
    title(
        "5. The same outage with hand-written retries and with the generated policies"
    )
    print(
        f"{RATE} calls/s; the server can serve {2 * RATE}/s. It answers 503 from second"
    )
    print(f"{down}, hangs from second {hang}, and is healthy again from second {up}.")
    print("Overrides for this run:", *(f"{k}={v}" for k, v in TEN_TIMES_FASTER.items()))
    print()
    plain, policies = asyncio.run(outage(service))
    report(plain, policies)
    print(f"\ndemo: done in {time.monotonic() - began:.0f} s")
    if policies.recovery is None or policies.sent_in_outage >= plain.sent_in_outage:
        sys.exit("demo: the guarded world did not do better; that is a defect")


if __name__ == "__main__":
    main()
