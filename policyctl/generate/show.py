"""What the templates get for one service, as data: for those who write their own."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from policyctl.generate.build import locked_service, package_contexts, read_clients
from policyctl.generate.header import Header
from policyctl.generate.options import GenerateOptions
from policyctl.generate.plan import module_context
from policyctl.resolve.policy import Project


def contexts(
    project: Project, service: str, options: GenerateOptions
) -> dict[str, dict[str, Any]]:
    """The context of each template, by its name, ready for JSON.

    That of the module is of ``service``; parts get what includes them has, and the
    variable of its loop.

    Raises:
        KeyError: there is no such service.
        UnprintableError: a value of the policy has no literal.
    """
    services = project.services
    chosen = services[service]
    clients = read_clients(services.values(), options)
    locked = {
        name: locked_service(found, clients[name], options)
        for name, found in sorted(services.items())
    }
    entry = locked[service]
    header = Header(entry.source, entry.digest)
    module = module_context(chosen, header, options, clients[service])
    package, registry = package_contexts(
        {name: found.policy for name, found in locked.items()}, options
    )
    return {
        "module.py.jinja": asdict(module),
        "package.py.jinja": asdict(package),
        "registry.py.jinja": asdict(registry),
    }
