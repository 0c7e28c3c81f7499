"""Templates: contexts in, text out.

Templates run in a sandbox, know no undefined names, and only print: whatever comes from
a policy has become a literal or docstring text before.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from policyctl import assets
from policyctl.generate.contexts import ModuleContext, PackageContext

if TYPE_CHECKING:
    from jinja2.sandbox import SandboxedEnvironment


def render_module(context: ModuleContext) -> str:
    """The text of a service's module."""
    return _render("module.py.jinja", context)


def render_package(context: PackageContext) -> str:
    """The text of ``__init__.py``."""
    return _render("package.py.jinja", context)


def render_registry(context: PackageContext) -> str:
    """The text of ``registry.py``."""
    return _render("registry.py.jinja", context)


def _render(template: str, context: ModuleContext | PackageContext) -> str:
    names = type(context).__slots__
    values = {name: getattr(context, name) for name in names}
    return _environment().get_template(template).render(values)


@cache
def _environment() -> SandboxedEnvironment:
    from jinja2 import FileSystemLoader, StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    return SandboxedEnvironment(
        loader=FileSystemLoader(assets.templates() / "python", encoding="utf-8"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        newline_sequence="\n",
        autoescape=False,
        auto_reload=False,
    )
