"""The one place that knows what the runtime does not serve yet.

Settings of an operation are asked of the runtime: ``CAPABILITIES`` names the patterns
and optional settings that it serves, and ``refuse_unserved`` is its own last word. What
belongs to a service is listed here; each line goes when its pattern lands.
"""

from __future__ import annotations

from collections.abc import Iterator

from policyctl.diagnostics import Diagnostic, Severity, Span
from policyctl.generate.edges import own_edges
from policyctl.generate.expressions import BLOCKS
from policyctl.generate.telemetry import unserved_telemetry
from policyctl.resolve.policy import Fallback, Inbound, Operation, Service
from policyctl.runtime import capabilities
from policyctl.runtime.errors import PolicyConfigError
from policyctl.runtime.served import refuse_unserved

_HELP = (
    "keep the file in a folder that is validated but not generated, such as "
    "policies/next, or remove the setting"
)
# Settings that need a capability of their own when they are given at all.
_OPTIONAL = {
    "attempt_timeout": ("connect", "first_item", "idle", "argument"),
    "budget": ("header",),
    "retry": (
        "retry_on_status",
        "never_retry_on_status",
        "retry_if",
        "retry_if_result",
        "retry_after",
        "budget",
    ),
    "circuit_breaker": ("failure_ratio", "slow_call", "record_if_result"),
}
# Settings that choose between words; a capability for each word but the usual ones.
_WORDS = ("kind", "sync", "mode", "scope", "store")
_USUAL = frozenset({"operation", "memory", "enforce", "unary"})


def unsupported(service: Service) -> Iterator[Diagnostic]:
    """A finding for each setting of a service that cannot be generated yet."""
    if service.inbound is not None:
        for parts in _unserved_inbound(service.inbound):
            yield _of_service(
                service, ("inbound", *parts), f"inbound.{'.'.join(parts)}"
            )
    for sink, what in unserved_telemetry(service):
        yield _of_service(service, ("telemetry", sink), what)
    edges = [policy for _, policy in own_edges(service).values()]
    for operation in (*service.operations.values(), *edges):
        for path in _unserved(operation):
            yield _of_operation(operation, path, path)


def _unserved(operation: Operation) -> Iterator[str]:
    """Paths of settings that the runtime does not serve, without what is inside them."""
    found = {
        path
        for path, name in _needs(operation)
        if name not in capabilities.CAPABILITIES
    }
    found |= _refused(operation, found)
    for path in sorted(found):
        if path.partition(".")[0] not in found - {path}:
            yield path


def _needs(operation: Operation) -> Iterator[tuple[str, str]]:
    """Paths of settings, each with the capability that it needs."""
    for name in BLOCKS:
        block: object = getattr(operation, name)
        if block is None:
            continue
        if isinstance(block, Fallback):
            yield name, f"{name}.{block.kind}"
            continue
        yield name, name
        for field in _OPTIONAL.get(name, ()):
            if getattr(block, field, None) not in (None, ()):
                yield f"{name}.{field}", f"{name}.{field}"
        for field in _WORDS:
            word = getattr(block, field, None)
            if word is not None and word not in _USUAL:
                word = str(word).partition(":")[0]
                yield f"{name}.{field}", f"{name}.{field}.{word}"


def _unserved_inbound(inbound: Inbound) -> Iterator[tuple[str, ...]]:
    """Paths inside ``inbound`` of what is not served; it is itself."""
    needs: list[tuple[str, ...]] = []
    if inbound.rate_limit is not None:
        needs.append(("rate_limit",))
        if inbound.rate_limit.store != "memory":
            needs.append(("rate_limit", "store", inbound.rate_limit.store))
    if inbound.bulkhead is not None and inbound.bulkhead.mode != "enforce":
        needs.append(("bulkhead", "mode", inbound.bulkhead.mode))
    if inbound.bulkhead is not None and inbound.bulkhead.scope != "operation":
        needs.append(("bulkhead", "scope", inbound.bulkhead.scope.partition(":")[0]))
    for path in needs:
        if ".".join(("inbound", *path)) not in capabilities.CAPABILITIES:
            yield path[:2]


def _refused(operation: Operation, known: set[str]) -> set[str]:
    """What else the runtime refuses, found by leaving out one block after another."""
    blocks: dict[str, object] = {name: getattr(operation, name) for name in BLOCKS}
    blocks["kind"] = operation.kind
    found: set[str] = set()
    for path in known:
        blocks[path.partition(".")[0]] = None
    for _ in range(len(blocks)):
        try:
            refuse_unserved(operation.service, operation.name, blocks)
        except PolicyConfigError as error:
            found.add(error.path)
            name = error.path.partition(".")[0]
            blocks[name] = "unary" if name == "kind" else None
    return found


def _of_service(service: Service, path: tuple[str, ...], what: str) -> Diagnostic:
    place = service.document.locate_key(path)
    return _not_served(what, place, ".".join((service.name, *path)))


def _of_operation(operation: Operation, path: str, what: str) -> Diagnostic:
    place = operation.origin(path).span or operation.span
    return _not_served(what, place, f"{operation.path}.{path}")


def _not_served(what: str, place: Span, path: str) -> Diagnostic:
    return Diagnostic(
        "GN003",
        "not-generated-yet",
        Severity.ERROR,
        f"{what} cannot be generated by this version",
        place,
        help=_HELP,
        policy_path=path,
    )
