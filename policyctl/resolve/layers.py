"""Lay the layers of one service document on each other, later wins.

For an operation: presets, ``defaults``, the operation's own presets, the operation,
then the environment overlay, its ``defaults`` before its ``operations``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from policyctl.checks.references import nearest
from policyctl.diagnostics import Diagnostic, Related
from policyctl.resolve.collect import Declared
from policyctl.resolve.findings import finding
from policyctl.resolve.merge import merge
from policyctl.resolve.presets import Presets
from policyctl.resolve.tree import EMPTY, OFF, Block, Layer, wrap
from policyctl.source.nodes import Document, NodePath

# Keys of a service document that are not settings of the service itself.
_NOT_SETTINGS = frozenset(
    {
        "version",
        "service",
        "extends",
        "defaults",
        "operations",
        "environments",
        "ignore",
    }
)


@dataclass(slots=True)
class Merged:
    """A service with all its layers merged and no defaults filled in.

    ``complete`` is False when a preset is missing or has errors: then the service
    cannot be judged further.
    """

    declared: Declared
    settings: Block = EMPTY
    operations: dict[str, Block] = field(default_factory=dict[str, Block])
    extends: tuple[str, ...] = ()
    complete: bool = True
    findings: list[Diagnostic] = field(default_factory=list[Diagnostic])

    @property
    def name(self) -> str:
        """The service's name."""
        return self.declared.name

    @property
    def document(self) -> Document:
        """The document that declares it."""
        return self.declared.document


class Layers:
    """Merges services; presets are merged once for each list of names."""

    def __init__(self, presets: Presets):
        self._presets = presets
        self._bases: dict[tuple[str, ...], Block] = {}

    def merge(self, declared: Declared, environment: str | None) -> Merged:
        """Merge one service document, with its overlay for ``environment`` if any."""
        merged = Merged(declared, extends=tuple(declared.data.get("extends", ())))
        overlay = _Overlay.of(declared, environment)
        chain = self._chain(merged, merged.extends, ("extends",))
        own = Layer("document", declared.document)
        settings = EMPTY
        for preset in chain:
            settings = self._presets.lay_service(settings, preset)
        settings = merge(settings, wrap(_settings(declared.data), own))
        merged.settings = overlay.lay(settings, _settings(overlay.data))
        base = self._base(chain)
        defaults = declared.data.get("defaults", {})
        layer = Layer("document", declared.document, ("defaults",))
        base = EMPTY if defaults == OFF else merge(base, wrap(defaults, layer))
        for name, settings in declared.data.get("operations", {}).items():
            merged.operations[name] = self._operation(
                merged, base, name, settings, overlay
            )
        return merged

    def _operation(
        self,
        merged: Merged,
        base: Block,
        name: str,
        settings: Mapping[str, Any],
        overlay: _Overlay,
    ) -> Block:
        at = ("operations", name)
        for preset in self._chain(
            merged, settings.get("extends", ()), (*at, "extends")
        ):
            base = self._presets.lay_operation(base, preset)
        own = {key: value for key, value in settings.items() if key != "extends"}
        tree = merge(base, wrap(own, Layer("document", merged.document, at)))
        tree = overlay.lay(tree, overlay.data.get("defaults", {}), "defaults")
        part = overlay.data.get("operations", {}).get(name, {})
        return overlay.lay(tree, part, *at)

    def _base(self, chain: Sequence[Declared]) -> Block:
        """The operation settings of a chain of presets, shared between services."""
        key = tuple(preset.name for preset in chain)
        base = self._bases.get(key)
        if base is None:
            base = EMPTY
            for preset in chain:
                base = self._presets.lay_operation(base, preset)
            self._bases[key] = base
        return base

    def _chain(
        self, merged: Merged, names: Sequence[str], at: NodePath
    ) -> tuple[Declared, ...]:
        """The presets of one ``extends`` list; a missing one marks the service."""
        if not names:
            return ()
        document = merged.document
        path = ".".join((merged.name, *map(str, at)))
        chain = self._presets.chain(
            names, lambda index: document.locate((*at, index)), path
        )
        merged.findings += chain.findings
        merged.complete &= chain.complete
        return chain.presets


@dataclass(frozen=True, slots=True)
class _Overlay:
    """The overlay of one document for the environment of this run, maybe empty."""

    document: Document
    environment: str
    data: Mapping[str, Any]

    @classmethod
    def of(cls, declared: Declared, environment: str | None) -> _Overlay:
        name = environment or ""
        data = declared.data.get("environments", {}).get(name, {})
        return cls(declared.document, name, data)

    def lay(self, base: Block, part: Mapping[str, Any] | str, *at: str) -> Block:
        """Lay the part of the overlay at ``at`` on ``base``."""
        if not part or isinstance(part, str):
            return base
        prefix = ("environments", self.environment, *at)
        layer = Layer("environment", self.document, prefix, self.environment)
        return merge(base, wrap(part, layer))


def _settings(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in _NOT_SETTINGS}


def check_overlays(declared: Declared) -> list[Diagnostic]:
    """Find operations and queues that only an environment names."""
    found: list[Diagnostic] = []
    document = declared.document
    for environment, overlay in declared.data.get("environments", {}).items():
        if overlay.get("defaults") == OFF:
            found.append(_no_defaults(document, declared.name, environment))
        for kind in ("operations", "queues"):
            own = declared.data.get(kind, {})
            for name in overlay.get(kind, {}):
                if name not in own:
                    at = ("environments", environment, kind, name)
                    found.append(_unknown_overlay(document, declared.name, at, own))
    return found


def _no_defaults(document: Document, service: str, environment: str) -> Diagnostic:
    at = ("environments", environment, "defaults")
    return finding(
        "VA132",
        f"environment {environment} switches off defaults as a whole",
        document.locate(at),
        help="switch off the blocks that it should not have, for example retry: off",
        path=".".join((service, *at)),
    )


def _unknown_overlay(
    document: Document,
    service: str,
    at: tuple[str, str, str, str],
    own: Mapping[str, Any],
) -> Diagnostic:
    _, environment, kind, name = at
    near = nearest(name, own)
    word = kind.removesuffix("s")
    return finding(
        "VA108",
        f"environment {environment} changes {word} {name!r}, which {service} does not have",
        document.locate_key(at),
        help=f"did you mean {near}?" if near else f"declare it under {kind} first",
        related=(
            [Related(document.locate_key((kind,)), f"{kind} of {service}")]
            if own
            else []
        ),
        path=".".join((service, *at)),
    )
