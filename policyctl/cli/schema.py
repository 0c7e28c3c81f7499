"""``policyctl schema``: the JSON Schemas of policy files and of what we print."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from policyctl.cli._console import console


class Subject(StrEnum):
    """What has a schema."""

    policy = "policy"
    report = "report"
    baseline = "baseline"


def command(
    of: Annotated[
        Subject,
        typer.Option(
            help="A policy file, the report of validate --format json, or a baseline."
        ),
    ] = Subject.policy,
) -> None:
    """Print the JSON Schema of policy files, for editors and other tools.

    Write it to a file and name that in the first line of a policy:

    \b
    # yaml-language-server: $schema=policyctl.schema.json
    """
    console().write_utf8(_text(of))


def _text(of: Subject) -> str:
    """The schema as JSON text."""
    if of is Subject.policy:
        import json

        from policyctl.model.schema import policy_schema

        return json.dumps(policy_schema(), indent=2, ensure_ascii=False) + "\n"
    from importlib.resources import files

    package, name = {
        Subject.report: ("policyctl.reports", "schema.json"),
        Subject.baseline: ("policyctl.lint", "baseline.schema.json"),
    }[of]
    return files(package).joinpath(name).read_text("utf-8")
