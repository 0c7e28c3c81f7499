"""Templates: contexts in, text out.

Templates run in a sandbox, know no undefined names, and only print: whatever comes from
a policy has become a literal or docstring text before.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from policyctl import assets
from policyctl.generate.contexts import ModuleContext, PackageContext
from policyctl.generate.team import render_team

if TYPE_CHECKING:
    from jinja2 import BaseLoader
    from jinja2.sandbox import SandboxedEnvironment


def render_module(context: ModuleContext, folder: Path | None = None) -> str:
    """The text of a service's module; ``folder`` holds a team's own templates.

    Raises:
        TemplateError: one of those fails.
    """
    return _render("module.py.jinja", context, folder)


def render_package(context: PackageContext, folder: Path | None = None) -> str:
    """The text of ``__init__.py``, as ``render_module``."""
    return _render("package.py.jinja", context, folder)


def render_registry(context: PackageContext, folder: Path | None = None) -> str:
    """The text of ``registry.py``, as ``render_module``."""
    return _render("registry.py.jinja", context, folder)


def values_of(context: ModuleContext | PackageContext) -> dict[str, Any]:
    """What a template gets: the fields of its context by name."""
    return {name: getattr(context, name) for name in type(context).__slots__}


def _render(
    template: str, context: ModuleContext | PackageContext, folder: Path | None
) -> str:
    if folder is not None:
        return render_team(folder, template, values_of(context))
    return _environment().get_template(template).render(values_of(context))


@cache
def _environment() -> SandboxedEnvironment:
    from jinja2 import FileSystemLoader

    return make_environment(
        FileSystemLoader(assets.templates() / "python", encoding="utf-8")
    )


def make_environment(loader: BaseLoader) -> SandboxedEnvironment:
    """An environment in which templates run: a sandbox with jinja's own filters."""
    from jinja2 import StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    return SandboxedEnvironment(
        loader=loader,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        newline_sequence="\n",
        autoescape=False,
        auto_reload=False,
    )
