"""What the shell offers for values of options and arguments."""

from __future__ import annotations

from pkgutil import iter_modules


def formats(incomplete: str) -> list[str]:
    """Report formats that begin with what is typed."""
    from policyctl.reports import format_names

    return [name for name in format_names() if name.startswith(incomplete)]


def rules(incomplete: str) -> list[str]:
    """Codes of lint rules that begin with what is typed, read from their file names."""
    from policyctl.lint import rules as package

    codes = (module.name[:5].upper() for module in iter_modules(package.__path__))
    return [code for code in codes if code.startswith(incomplete)]
