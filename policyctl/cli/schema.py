"""``policyctl schema``: the JSON Schema of policy files."""

from __future__ import annotations

from policyctl.cli._console import console


def command() -> None:
    """Print the JSON Schema of policy files, for editors and other tools.

    Write it to a file and name that in the first line of a policy:
    # yaml-language-server: $schema=policyctl.schema.json
    """
    import json

    from policyctl.model.schema import policy_schema

    text = json.dumps(policy_schema(), indent=2, ensure_ascii=False)
    console().write_utf8(text + "\n")
