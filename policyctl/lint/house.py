"""Rules of the user's own: a folder of Python files, and installed packages.

A house rule is a subclass of :class:`policyctl.lint.rule.Rule`, like the built-in ones.
Files are imported as modules of one package, so that they may share helpers through
relative imports; names that begin with an underscore hold no rules. Packages offer
rules, or modules that define some, as entry points of the group ``policyctl.rules``.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from functools import partial
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from policyctl.diagnostics import Severity
from policyctl.lint.explain import docs
from policyctl.lint.registry import all_rules, rules_in
from policyctl.lint.rule import Rule

GROUP = "policyctl.rules"
_PACKAGE = "policyctl_house_rules"
_CODE = re.compile(r"[A-Z]{2}[0-9]{3}")
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_RESERVED = frozenset({"SY", "VA", "CF", "LN", "BL", "GN"})


class HouseRuleError(Exception):
    """A house rule that cannot be used; the text names its file and what is wrong."""

    def __init__(self, message: str, help: str | None = None) -> None:
        super().__init__(message)
        self.help = help


def load(folder: Path | None, shown: str = "") -> tuple[type[Rule], ...]:
    """All house rules, by code: those of ``folder`` and those of installed packages.

    ``shown`` is how messages call the folder.

    Raises:
        HouseRuleError: the folder is not there, a file cannot be imported or defines no
            rule, or a rule lacks something or takes a code or name that is in use.
    """
    found: list[tuple[str, type[Rule]]] = []
    if folder is not None:
        found += _of_folder(folder, shown or folder.as_posix())
    found += _of_packages()
    _check(found)
    return tuple(sorted((rule for _, rule in found), key=lambda rule: rule.code))


def files(folder: Path) -> list[Path]:
    """The Python files of a folder of house rules, in order."""
    return sorted(folder.glob("*.py"))


def _of_folder(folder: Path, shown: str) -> Iterator[tuple[str, type[Rule]]]:
    if not folder.is_dir():
        raise HouseRuleError(
            f"the folder of house rules {shown} does not exist",
            "make it, or correct rules = ... in the configuration",
        )
    name = _package_for(folder)
    for path in files(folder):
        if path.name.startswith("_"):
            continue
        where = f"{shown}/{path.name}"
        if not path.stem.isidentifier():
            raise HouseRuleError(
                f"{where}: {path.stem!r} is not the name of a Python module",
                "use letters, digits and _ in the file's name",
            )
        module = _guarded(where, partial(_import, path, f"{name}.{path.stem}"))
        rules = rules_in(module)
        if not rules:
            raise HouseRuleError(
                f"{where}: there is no rule in it",
                "define a subclass of policyctl.lint.rule.Rule with a code, or begin "
                "the file's name with _",
            )
        for rule in rules:
            yield where, rule


def _package_for(folder: Path) -> str:
    """A package whose modules are the files of ``folder``, made anew each time."""
    name = _PACKAGE
    for known in [key for key in sys.modules if key.split(".")[0] == name]:
        del sys.modules[known]
    spec = ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = [str(folder.absolute())]
    importlib.invalidate_caches()
    sys.modules[name] = importlib.util.module_from_spec(spec)
    return name


def _import(path: Path, name: str) -> ModuleType:
    """Run a file as a module; no bytecode is left in the user's folder."""
    spec = importlib.util.spec_from_file_location(name, path.absolute())
    if spec is None:
        raise ImportError(f"{path.name} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    exec(code, module.__dict__)
    return module


def _of_packages() -> Iterator[tuple[str, type[Rule]]]:
    from importlib.metadata import entry_points

    for point in entry_points(group=GROUP):
        where = f"entry point {point.name} = {point.value}"
        target: Any = _guarded(where, point.load)
        if isinstance(target, ModuleType):
            rules = rules_in(target)
        elif isinstance(target, type) and issubclass(target, Rule):
            rules = [target]
        else:
            rules = []
        if not rules:
            raise HouseRuleError(
                f"{where}: it is neither a rule nor a module with rules",
                "name a subclass of policyctl.lint.rule.Rule, or a module of them",
            )
        for rule in rules:
            yield where, rule


def _guarded(where: str, work: Callable[[], Any]) -> Any:
    """Run foreign code; whatever it raises becomes one line with file and line.

    What it prints goes to standard error, since reports are on standard output.
    """
    try:
        with redirect_stdout(sys.stderr):
            return work()
    except (Exception, SystemExit) as error:
        raise HouseRuleError(f"{_place(where, error)}: {_words(error)}") from None


def _words(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _place(where: str, error: BaseException) -> str:
    """The file and the line that failed, as far as the rule's own file tells it."""
    if isinstance(error, SyntaxError) and error.lineno:
        return f"{where}:{error.lineno}"
    name = where.rpartition("/")[2]
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename.endswith(name):
            return f"{where}:{frame.lineno}"
    return where


def _check(found: list[tuple[str, type[Rule]]]) -> None:
    """Refuse rules that lack something, or that clash."""
    families = {rule.code[:2] for rule in all_rules()} | _RESERVED
    taken = {rule.name: f"the built-in {rule.code}" for rule in all_rules()}
    for where, rule in found:
        problem = _flaw(rule)
        if problem is not None:
            raise HouseRuleError(f"{where}: {rule.__name__}: {problem}")
        if rule.code[:2] in families:
            raise HouseRuleError(
                f"{where}: {rule.code} is in the family {rule.code[:2]} of policyctl",
                "give it two other letters, for example those of your company",
            )
        for word in (rule.code, rule.name):
            if word in taken:
                raise HouseRuleError(f"{where}: {word} is taken by {taken[word]}")
            taken[word] = where


def _flaw(rule: type[Rule]) -> str | None:
    """What a rule's class lacks, or None."""
    code, name = getattr(rule, "code", None), getattr(rule, "name", None)
    if not isinstance(code, str) or not _CODE.fullmatch(code):
        return f"code = {code!r} is not two capital letters and three digits"
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return f"name = {name!r} is not in kebab-case, such as budget-too-long"
    if not isinstance(getattr(rule, "severity", None), Severity):
        return "severity is not one of Severity.ERROR, WARNING and INFO"
    try:
        docs(rule)
    except ValueError as error:
        return f"its docstring is incomplete: {error}"
    return None
