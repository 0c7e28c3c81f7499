"""From checked services to the files of the package, one service after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any

from policyctl.generate import render
from policyctl.generate.bundle import bundled_runtime
from policyctl.generate.clients.plan import Clients
from policyctl.generate.contexts import ModuleContext, PackageContext
from policyctl.generate.digest import content_digest, plain_service, policy_digest
from policyctl.generate.edges import policy_names
from policyctl.generate.format import formatted
from policyctl.generate.header import Header
from policyctl.generate.lock import LOCK_NAME, Lock, LockedService, render_service
from policyctl.generate.memo import Memo, key_of
from policyctl.generate.options import GenerateOptions
from policyctl.generate.places import PlaceError, find_target
from policyctl.generate.plan import module_context
from policyctl.generate.plan_package import package_context
from policyctl.generate.queues import queue_names
from policyctl.generate.sources import source_label
from policyctl.generate.team import check_names, not_python
from policyctl.generate.tree import Content, Tree
from policyctl.resolve.policy import Service

EVERY_SOURCE = f"every policy in {LOCK_NAME}"
Step = Callable[[int, int], None]
"""Is told after each service how many are done, and of how many."""


@dataclass(frozen=True, slots=True)
class Printed:
    """The text of a file.

    Attributes:
        text: what its template printed.
        values: what the template got.
        names: the names that it has to have, each with the part that prints it.
    """

    text: str
    values: dict[str, Any]
    names: Mapping[str, str] = field(default_factory=dict[str, str])


class Assembly:
    """Renders one service after the other, and keeps of each no more than it must."""

    def __init__(self, options: GenerateOptions, memo: Memo | None) -> None:
        self._options = options
        self._plain = options.plain()
        self._memo = memo
        self._tree = Tree()
        self._digests: dict[str, str] = {}
        self._entries: dict[str, Content] = {}
        self._outlines: dict[str, Mapping[str, Any]] = {}

    def keep(self, name: str, entry: LockedService) -> None:
        """A service whose module stays as it is on disk."""
        self._outlines[name] = outline(entry.policy)
        self._entries[name] = Content(render_service(entry))

    def add(self, service: Service, clients: Clients) -> None:
        """Render the module of a service.

        Raises:
            TemplateError: a team's template fails.
        """
        options = self._options
        entry = locked_service(service, clients, options, self._plain)
        self.keep(service.name, entry)

        def text() -> Printed:
            header = Header(entry.source, entry.digest)
            context = module_context(service, header, options, clients)
            text = render.render_module(context, options.templates)
            return Printed(text, render.values_of(context), printed_by(context))

        key = key_of("module", entry.policy, entry.source, self._plain)
        self._add(f"{service.name}.py", key, text, "module.py.jinja")

    def finish(self, kept: Lock) -> Tree:
        """The whole tree, with the files that tell of all services.

        Raises:
            TemplateError: a team's template fails.
        """
        self._package_files()
        lock = replace(kept, services={}, files={**kept.files, **self._digests})
        entries = self._entries
        self._tree.add_parts(
            LOCK_NAME,
            lock.render_with((name, entries[name].read()) for name in sorted(entries)),
        )
        return self._tree

    def _package_files(self) -> None:
        package, registry = package_contexts(self._outlines, self._options)
        folder = self._options.templates
        files: list[tuple[str, str, PackageContext, Callable[..., str]]] = [
            ("__init__.py", "package.py.jinja", package, render.render_package),
            ("registry.py", "registry.py.jinja", registry, render.render_registry),
        ]
        for name, template, context, printed in files:

            def text(
                context: PackageContext = context,
                printed: Callable[..., str] = printed,
            ) -> Printed:
                return Printed(printed(context, folder), render.values_of(context))

            key = key_of(name, render.values_of(context), self._plain)
            self._add(name, key, text, template)
        for name, content in self._static():
            self._digests[name] = self._tree.add(name, content)

    def _static(self) -> Iterator[tuple[str, bytes]]:
        yield "py.typed", b""
        if self._options.runtime == "bundled":
            yield from bundled_runtime().items()

    def _add(
        self, name: str, key: str, text: Callable[[], Printed], template: str
    ) -> None:
        """Add a file: by its digest where it is on disk as it was printed before."""
        memo = self._memo
        digest = None if memo is None else memo.find(key)
        if digest is not None and self._on_disk(name) == digest:
            self._tree.add_known(name, digest)
        else:
            digest = self._tree.add(name, _encode(text(), self._options, template))
        if memo is not None:
            memo.note(key, digest)
        self._digests[name] = digest

    def _on_disk(self, name: str) -> str | None:
        """The digest of a file in the output folder."""
        try:
            path = find_target(self._options.output, PurePosixPath(name))
            return content_digest(path.read_bytes())
        except (OSError, PlaceError):
            return None


def locked_service(
    service: Service,
    clients: Clients,
    options: GenerateOptions,
    plain: Mapping[str, Any] | None = None,
) -> LockedService:
    """What the lock file keeps of a service: its values, and what its target is."""
    policy = plain_service(service)
    if clients.classes:
        policy = {**policy, "clients": clients.digests()}
    return LockedService(
        policy_digest(policy, options.plain() if plain is None else plain),
        source_label(service.path, options.root),
        policy,
    )


def outline(policy: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a service's plain values that other files than its own depend on."""
    operations: Mapping[str, Mapping[str, Any]] = policy.get("operations", {})
    edges = [*policy.get("calls", [])]
    for operation in operations.values():
        edges.extend(operation.get("calls", []))
    queues: Mapping[str, Mapping[str, Any]] = policy.get("queues", {})
    return {
        "operations": {name: {} for name in operations},
        "calls": [
            {"to": edge["to"], "policy": {}}
            for edge in edges
            if edge.get("policy") is not None
        ],
        "queues": {name: {"store": queue["store"]} for name, queue in queues.items()},
    }


def package_contexts(
    policies: Mapping[str, Mapping[str, Any]], options: GenerateOptions
) -> tuple[PackageContext, PackageContext]:
    """The contexts of ``__init__.py`` and ``registry.py``.

    ``policies`` are plain resolved values by service, as in the lock file, or outlines
    of them.
    """
    names = {
        name: [*policy_names(policy), *queue_names(policy)]
        for name, policy in policies.items()
    }
    header = Header(EVERY_SOURCE, policy_digest(names, options.plain()))
    return (
        package_context(policies, header, options, is_registry=False),
        package_context(policies, header, options, is_registry=True),
    )


def printed_by(context: ModuleContext) -> dict[str, str]:
    """The names that a service's module has, each with the part that prints it."""
    parts: list[tuple[str, Iterable[str]]] = [
        ("policy", (policy.name for policy in context.policies)),
        ("inbound", ("inbound",) if context.inbound else ()),
        ("queue", (queue.name for queue in context.queues)),
        ("client", (client.name for client in context.clients)),
        ("callees", ("to",) if context.callees else ()),
    ]
    return {name: f"parts/{part}.jinja" for part, names in parts for name in names}


def _encode(printed: Printed, options: GenerateOptions, template: str) -> bytes:
    folder = options.templates
    try:
        text = formatted(printed.text, options.target_python)
        if folder is not None:
            check_names(folder, template, text, printed.names)
    except (ValueError, SyntaxError, RecursionError) as error:
        if folder is None:
            raise
        raise not_python(folder, template, printed.values, error) from error
    return text.encode("utf-8")
