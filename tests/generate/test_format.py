"""What is proved to need no formatting is what black leaves alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policyctl.generate.format import proved, run_black
from policyctl.generate.header import Header
from policyctl.generate.options import GenerateOptions
from policyctl.generate.plan import module_context
from policyctl.generate.render import render_module

OPTIONS = GenerateOptions(Path("generated"))
HEADER = Header("policies/a.yaml", "sha256:0")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_black_changes_nothing_in_what_is_proved(
    data: st.DataObject, random_services: st.SearchStrategy[Any]
) -> None:
    """For any policy, the proof holds and black gives back the rendered text."""
    service = data.draw(random_services)
    text = render_module(module_context(service, HEADER, OPTIONS))
    if proved(text):
        assert run_black(text, "3.11") == text
    else:
        assert run_black(run_black(text, "3.11"), "3.11") == run_black(text, "3.11")
