"""What ``__init__.py`` and ``registry.py`` say: contexts that the templates only print."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from policyctl.generate import literals
from policyctl.generate.contexts import PackageContext
from policyctl.generate.docstrings import paragraph, quoted
from policyctl.generate.edges import policy_names
from policyctl.generate.header import Header
from policyctl.generate.layout import Expr, Group, call, lay_out, sequence
from policyctl.generate.options import RUNTIMES, GenerateOptions
from policyctl.generate.queues import queue_names

INDENT = "    "


def exports(names: Iterable[str]) -> str:
    """The assignment of ``__all__``, sorted."""
    listed = [literals.string(name) for name in sorted(names)]
    if not listed:
        return "__all__: list[str] = []"
    return lay_out("__all__ = ", sequence(listed, "[]"))


def package_context(
    services: Mapping[str, Mapping[str, Any]],
    header: Header,
    options: GenerateOptions,
    *,
    is_registry: bool,
) -> PackageContext:
    """The context of ``__init__.py`` or ``registry.py``.

    ``services`` are the plain resolved values by service, as in the lock file.
    """
    modules = sorted(services)
    extra = "policies" if is_registry else "registry"
    make = _registry_docstring if is_registry else _package_docstring
    return PackageContext(
        header=header.lines(),
        docstring=quoted([*make(services, options)]),
        runtime=RUNTIMES[options.runtime],
        exports=exports([*modules, extra]),
        modules=tuple(modules if is_registry else sorted([*modules, extra])),
        operations=_policies(services),
    )


def _policies(services: Mapping[str, Mapping[str, Any]]) -> str:
    table = Group(
        "",
        "{}",
        tuple(
            (f"{literals.string(name)}: ", _strings(policy_names(services[name])))
            for name in sorted(services)
        ),
    )
    arguments: list[tuple[str, Expr]] = [("module", "__name__"), ("operations", table)]
    queues = {name: queue_names(services[name]) for name in sorted(services)}
    if any(queues.values()):
        named = [(name, found) for name, found in queues.items() if found]
        items = tuple((f"{literals.string(n)}: ", _strings(q)) for n, q in named)
        arguments.append(("queues", Group("", "{}", items)))
    registry = call("_package_registry.PackageRegistry", arguments)
    return lay_out("policies: _typing.Final = ", registry)


def _strings(values: Iterable[str]) -> Group:
    return sequence([literals.string(value) for value in values])


def _package_docstring(
    services: Mapping[str, Mapping[str, Any]], options: GenerateOptions
) -> Iterator[str]:
    yield "Resilience policies, one module for each service."
    yield ""
    yield "A module is loaded when it is first used:"
    yield ""
    example = min(services, default="registry")
    yield from paragraph(f"from {options.package} import {example}", INDENT)


def _registry_docstring(
    services: Mapping[str, Mapping[str, Any]], options: GenerateOptions
) -> Iterator[str]:
    found = ((s, name) for s in sorted(services) for name in policy_names(services[s]))
    service, name = next(found, ("payment_api", "charge"))
    yield "Every policy of this package: by attribute, by name and by pattern."
    yield ""
    yield "A module is loaded when one of its policies is first asked for:"
    yield ""
    yield from paragraph(f"from {options.package} import registry", INDENT)
    yield ""
    yield from paragraph(f"registry.{service}.{name}", INDENT)
    yield from paragraph(f'registry.policies["{service}.{name}"]', INDENT)
    yield from paragraph(f'registry.policies.circuit_breakers("{service}.*")', INDENT)
