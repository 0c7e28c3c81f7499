"""``telemetry``: where counts, traces and events go."""

from __future__ import annotations

from typing import Annotated

from policyctl.model.fields import Block, Off, Settings, setting
from policyctl.model.kinds import VARIABLE
from policyctl.model.scalars import Choice, Number


class Telemetry(Settings):
    """The sinks of a service."""

    metrics: Annotated[str | None, Choice(("prometheus", "opentelemetry"))] = setting(
        "Where metrics go.", "prometheus", "opentelemetry"
    )
    traces: Annotated[str | None, Choice(("opentelemetry",))] = setting(
        "Where traces go.", "opentelemetry"
    )
    logs: Annotated[str | None, Choice(("json", "text"))] = setting(
        "The form of log lines.", "json", "text"
    )
    heartbeat: Annotated[float | Off | None, Number("telemetry.heartbeat")] = setting(
        "How often the current state is reported.", "30s"
    )


TELEMETRY = Block(Telemetry)


class Redis(Settings):
    """Where anything with ``store: redis`` lives."""

    url_env: Annotated[str | None, VARIABLE] = setting(
        "The environment variable that holds the address.", "POLICY_REDIS_URL"
    )


REDIS = Block(Redis)
