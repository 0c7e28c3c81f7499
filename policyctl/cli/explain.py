"""``policyctl explain``: a rule, or a resolved policy with the origin of every value."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from policyctl.cli import _complete
from policyctl.cli._console import console
from policyctl.cli._formats import TextOrJson

_CODE = re.compile(r"[A-Za-z]{2}[0-9]{3}")
_RULE_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+")


def command(
    name: Annotated[
        str,
        typer.Argument(
            metavar="RULE|SERVICE[.OPERATION]",
            autocompletion=_complete.rules,
            help="A rule by code or name, a service, or one of its operations or queues.",
        ),
    ],
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATH]...",
            help="Where the service is looked for. Default: the configured policies.",
            show_default=False,
        ),
    ] = None,
    format: Annotated[TextOrJson, typer.Option(help="How to print it.")] = (
        TextOrJson.text
    ),
    environment: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Apply the overlay of this environment."),
    ] = None,
) -> int:
    """Explain a lint rule, or what is in force for a service or an operation.

    Of an operation it shows every value with where it comes from, the order of the
    patterns, how long one call can take at worst, and what lint knows of its traffic.
    """
    if _CODE.fullmatch(name) or _RULE_NAME.fullmatch(name):
        from policyctl.cli import _explain_rule

        return _explain_rule.explain(console(), name, format)
    from policyctl.cli import _explain_policy

    request = _explain_policy.Request(name, tuple(paths or ()), environment)
    return _explain_policy.explain(console(), request, format)
