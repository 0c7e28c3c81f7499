"""Every fix of a random policy leaves it valid, and its finding weaker or gone."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from policyctl.diagnostics import Diagnostic, Fix, Severity
from policyctl.lint.engine import lint
from policyctl.resolve.project import InputFile, Inputs, load_project
from policyctl.source.decode import decode
from policyctl.source.edits import apply_edits


def _strategies() -> ModuleType:
    """The random policies of the test of robustness."""
    path = Path(__file__).with_name("test_robustness.py")
    spec = importlib.util.spec_from_file_location("robustness_strategies", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


service = _strategies().service

STYLES = st.sampled_from([None, True, False])
"""How PyYAML lays a document out: mixed, flow or block."""


def errors_and_findings(
    texts: dict[str, str],
) -> tuple[Counter[str], list[Diagnostic]]:
    """Codes of validation errors, and what lint says, of some files."""
    inputs = tuple(InputFile(name, text.encode()) for name, text in texts.items())
    loaded = load_project(Inputs(inputs))
    errors = [d.code for d in loaded.diagnostics if d.severity is Severity.ERROR]
    return Counter(errors), list(lint(loaded.project).diagnostics)


def mended(texts: dict[str, str], fix: Fix) -> dict[str, str]:
    """The files with one fix in them."""
    (path,) = {edit.span.path for edit in fix.edits}
    source, _problem = decode(texts[path].encode(), path)
    assert source is not None
    return {**texts, path: apply_edits(source, fix.edits)}


@given(
    a=service("a"),
    b=service("b"),
    style=STYLES,
    newline=st.sampled_from(["\n", "\r\n"]),
)
@settings(
    max_examples=25,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_each_fix_by_itself(
    a: dict[str, object], b: dict[str, object], style: bool | None, newline: str
) -> None:
    """It applies, everything reads and is as valid as before, and it does what it says."""
    texts = {
        name: yaml.safe_dump(
            document, sort_keys=False, default_flow_style=style, line_break=newline
        )
        for name, document in (("a.yaml", a), ("b.yaml", b))
    }
    errors, findings = errors_and_findings(texts)
    for finding in {d.fix: d for d in findings if d.fix is not None}.values():
        assert finding.fix is not None
        new = mended(texts, finding.fix)
        after, left = errors_and_findings(new)
        where = (finding.code, finding.fix.message)
        assert after - errors == Counter(), (where, new)
        same = [
            d
            for d in left
            if (d.code, d.policy_path, d.message)
            == (finding.code, finding.policy_path, finding.message)
        ]
        assert same == [], (where, new)
