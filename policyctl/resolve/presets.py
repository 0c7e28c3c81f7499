"""Presets: find them by name, follow their ``extends``, and lay them on each other.

``extends: [a, b]`` lays a, then b, each on top of what it extends itself. A user's
preset hides the shipped one of the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from policyctl import assets
from policyctl.checks.references import nearest
from policyctl.diagnostics import Diagnostic, Related, Span
from policyctl.resolve.collect import Broken, Collected, Declared
from policyctl.resolve.findings import finding
from policyctl.resolve.inputs import InputFile
from policyctl.resolve.merge import merge
from policyctl.resolve.tree import EMPTY, OFF, Block, Layer, wrap
from policyctl.source.nodes import Document

_OWN = frozenset({"version", "preset", "extends", "description", "owner", "defaults"})


# Bounds that no honest set of presets comes near; without them, presets that each
# extend two others would double in number with every level.
MOST_PRESETS = 500
DEEPEST = 40


@dataclass(frozen=True, slots=True)
class Chain:
    """The presets that a list of names stands for, bottom first.

    ``complete`` is False when one is missing, has errors or extends itself;
    ``findings`` then say which.
    """

    presets: tuple[Declared, ...] = ()
    findings: tuple[Diagnostic, ...] = ()
    complete: bool = True


class Presets:
    """All presets of a run; the shipped ones are read when they are first named."""

    def __init__(self, collected: Collected, packaged: bool):
        self.documents: list[Document] = []
        self._broken: dict[str, Broken] = dict(collected.broken_presets)
        self._known: dict[str, Declared] = {}
        self._shipped = assets.presets() if packaged else {}
        self._chains: dict[str, Chain] = {}
        self._trees: dict[tuple[str, str], Block] = {}
        self._doubles: list[Declared] = []
        for preset in collected.presets:
            if self._known.setdefault(preset.name, preset) is not preset:
                self._doubles.append(preset)

    def find(self, name: str) -> Declared | None:
        """The preset called ``name``; None when it is unknown or has errors."""
        known = name in self._known or name in self._broken
        if not known and name in self._shipped:
            self._read_shipped(name)
        return self._known.get(name)

    def _read_shipped(self, name: str) -> None:
        data = self._shipped[name].read_bytes()
        collected = Collected()
        collected.add(InputFile(f"policyctl/presets/{name}.yaml", data))
        self.documents += collected.documents
        self._broken.update(collected.broken_presets)
        for preset in collected.presets:
            self._known.setdefault(preset.name, preset)

    def chain(
        self,
        names: Sequence[str],
        where: Callable[[int], Span],
        path: str,
        trail: tuple[str, ...] = (),
    ) -> Chain:
        """Follow a list of names.

        ``where(i)`` is the place of the i-th name and ``path`` the policy path of the
        list, for findings. ``trail`` are the presets whose ``extends`` led here.
        """
        presets: list[Declared] = []
        findings: list[Diagnostic] = []
        complete = True
        for index, name in enumerate(names):
            if name in trail:
                cycle = _cycle(name, trail, where(index), path)
                return Chain((), (*findings, cycle), False)
            if len(trail) > DEEPEST:
                return Chain((), (_too_long(where(index), path),), False)
            preset = self.find(name)
            if preset is None:
                findings += self._missing(name, where(index), f"{path}.{index}")
                complete = False
                continue
            part = self._chain_of(preset, trail)
            presets += part.presets
            findings += part.findings
            complete &= part.complete
            if len(presets) > MOST_PRESETS:
                return Chain((), (_too_long(where(index), path),), False)
        unique = tuple(dict.fromkeys(findings))
        return Chain(tuple(presets) if complete else (), unique, complete)

    def _chain_of(self, preset: Declared, trail: tuple[str, ...]) -> Chain:
        """The presets below ``preset``, and itself."""
        if preset.name not in self._chains:
            document = preset.document
            below = self.chain(
                preset.data.get("extends", ()),
                lambda index: document.locate(("extends", index)),
                f"{preset.name}.extends",
                (*trail, preset.name),
            )
            chain = (*below.presets, preset)
            self._chains[preset.name] = Chain(chain, below.findings, below.complete)
        return self._chains[preset.name]

    def _missing(self, name: str, span: Span, path: str) -> Sequence[Diagnostic]:
        broken = self._broken.get(name)
        if broken is not None:
            return broken.findings
        names = sorted({*self._known, *self._shipped})
        near = nearest(name, names)
        listed = f"presets are {', '.join(names)}" if names else "there are no presets"
        return [
            finding(
                "VA103",
                f"there is no preset {name!r}",
                span,
                help=f"did you mean {near}?" if near else listed,
                path=path,
            )
        ]

    def check(self) -> list[Diagnostic]:
        """Findings about the presets of reported files, used or not."""
        found = [self._double(preset) for preset in self._doubles if preset.reported]
        for preset in list(self._known.values()):
            if preset.reported:
                found += self._chain_of(preset, ()).findings
        return found

    def _double(self, preset: Declared) -> Diagnostic:
        first = self._known[preset.name].document.locate(("preset",))
        return finding(
            "VA105",
            f"preset {preset.name!r} is declared twice",
            preset.document.locate(("preset",)),
            help="rename one of them, or merge them into one",
            related=[Related(first, "first declared here")],
            path=preset.name,
        )

    def lay_operation(self, base: Block, preset: Declared) -> Block:
        """Lay what ``preset`` says about operations on ``base``."""
        defaults = preset.data.get("defaults", {})
        if defaults == OFF:
            return EMPTY
        layer = Layer("preset", preset.document, ("defaults",), preset.name)
        return merge(base, self._tree(preset, "defaults", defaults, layer))

    def lay_service(self, base: Block, preset: Declared) -> Block:
        """Lay what ``preset`` says about the service itself on ``base``."""
        part = {key: value for key, value in preset.data.items() if key not in _OWN}
        layer = Layer("preset", preset.document, (), preset.name)
        return merge(base, self._tree(preset, "", part, layer))

    def _tree(
        self, preset: Declared, key: str, part: Mapping[str, Any], layer: Layer
    ) -> Block:
        """``part`` as a tree, made once for each preset."""
        cached = self._trees.get((preset.name, key))
        if cached is None:
            cached = wrap(part, layer) if part else EMPTY
            self._trees[preset.name, key] = cached
        return cached


def _too_long(span: Span, path: str) -> Diagnostic:
    return finding(
        "VA134",
        f"extends leads to over {MOST_PRESETS} presets, or over {DEEPEST} levels deep",
        span,
        help="let presets extend few others, and name the rest where they are needed",
        path=path,
    )


def _cycle(name: str, trail: tuple[str, ...], span: Span, path: str) -> Diagnostic:
    circle = (*trail[trail.index(name) :], name)
    return finding(
        "VA104",
        f"presets extend each other in a circle: {' -> '.join(circle)}",
        span,
        help=f"remove {name} from this list",
        path=path,
    )
