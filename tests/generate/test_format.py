"""What is proved to need no formatting is what black leaves alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policyctl.generate.format import formatted, proved, run_black
from policyctl.generate.header import Header
from policyctl.generate.options import GenerateOptions
from policyctl.generate.plan import module_context
from policyctl.generate.plan_package import package_context
from policyctl.generate.render import render_module, render_package, render_registry

OPTIONS = GenerateOptions(Path("generated"))
HEADER = Header("policies/a.yaml", "sha256:0")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_black_changes_nothing_in_what_is_proved(
    data: st.DataObject, random_full_services: st.SearchStrategy[Any]
) -> None:
    """For any policy, the proof holds and black gives back the rendered text."""
    service = data.draw(random_full_services)
    text = render_module(module_context(service, HEADER, OPTIONS))
    if proved(text):
        assert run_black(text, "3.11") == text
    else:
        assert run_black(run_black(text, "3.11"), "3.11") == run_black(text, "3.11")


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_black_changes_nothing_in_package_files(
    data: st.DataObject, random_texts: st.SearchStrategy[str]
) -> None:
    """``__init__`` and ``registry`` are proved for any names of services."""
    names = st.sets(st.integers(0, 10**9), min_size=1).map(sorted)
    services: dict[str, dict[str, dict[str, dict[str, str]]]] = {
        f"service_{'x' * (number % 50)}_{number}": {"operations": {"x": {}}}
        for number in data.draw(names)
    }
    options = GenerateOptions(Path("x"), package=data.draw(random_texts))
    for is_registry, render in ((False, render_package), (True, render_registry)):
        context = package_context(services, HEADER, options, is_registry=is_registry)
        text = render(context)
        expected = run_black(text, "3.11")
        assert not proved(text) or expected == text
        assert formatted(text, "3.11") == expected
