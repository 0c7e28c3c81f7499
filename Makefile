# Everything runs in .venv, which the first target that needs it sets up.
# `make help` lists the targets.

PYTHON ?=
VENV := .venv
BIN := $(VENV)/bin
FREE := .venv-free-threaded
STAMP := $(VENV)/.installed
BENCH_STAMP := $(VENV)/.installed-bench
CODE := policyctl tests examples benchmarks

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint types unit test-free-threaded generated format bench trial-sdks docs dist clean

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | \
	  while IFS='|' read -r target text; do printf '%-25s %s\n' "$$target" "$$text"; done

setup: $(STAMP) ## Create .venv with everything that the other targets need

$(STAMP): pyproject.toml requirements-dev.txt
	@found=; for python in $(PYTHON) python3 python3.13 python3.12 python3.11; do \
	  if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	  then found=$$python; break; fi; done; \
	if [ -z "$$found" ]; then \
	  echo "policyctl needs Python 3.11 or later: install it, or say make $(or $(MAKECMDGOALS),setup) PYTHON=/path/to/python" >&2; exit 1; fi; \
	if ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
	  echo "creating $(VENV) with $$("$$found" --version)"; \
	  "$$found" -m venv --clear $(VENV) || { \
	    echo "$$found cannot create virtual environments: install its venv package" >&2; exit 1; }; fi
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[cli]' -r requirements-dev.txt
	@touch $@

demo: $(STAMP) ## Validate, generate and drive policies through an outage, in under a minute
	$(BIN)/python -m examples.demo

test: lint types generated unit ## Everything that has to pass before a change lands

lint: $(STAMP) ## Style of the code
	$(BIN)/ruff check .
	$(BIN)/black --check --quiet . || { $(BIN)/black --check .; exit 1; }

types: $(STAMP) ## mypy and pyright, both strict
	$(BIN)/mypy
	$(BIN)/pyright -p pyproject.toml

generated: $(STAMP) ## The policies of this repository, checked, generated and type-checked
	$(BIN)/policyctl validate policies
	$(BIN)/policyctl generate --output build/generated/demo_policies --package demo_policies
	$(BIN)/policyctl generate --check --output build/generated/demo_policies --package demo_policies
	$(BIN)/mypy --strict --config-file= build/generated/demo_policies
	$(BIN)/pyright build/generated/demo_policies

unit: $(STAMP) ## The tests
	@set -x; $(BIN)/python -m pytest -q -n 2 --dist worksteal || \
	  { test $$? = 1 && test -n "$$CI" && $(BIN)/python -m pytest -q --lf --lfnf none; }

test-free-threaded: ## The tests of the runtime on a Python without the GIL, PYTHON=python3.13t
	@python="$(or $(PYTHON),python3.13t)"; \
	PYTHON_GIL=0 "$$python" -c 'import sys; sys.exit(sys._is_gil_enabled())' 2>/dev/null || { \
	  echo "$$python is no Python without the GIL: say make $@ PYTHON=/path/to/python3.13t" >&2; \
	  exit 1; }; \
	test -x $(FREE)/bin/python || "$$python" -m venv $(FREE)
	$(FREE)/bin/python -m pip install --quiet --disable-pip-version-check \
	  -e '.[cli]' -r requirements-free-threaded.txt
	PYTHON_GIL=0 $(FREE)/bin/python -m pytest -q -n 2 --dist worksteal tests/runtime tests/testing

format: $(STAMP) ## Format the code and mend what ruff can mend
	$(BIN)/ruff check --fix .
	$(BIN)/black --quiet .

bench: $(BENCH_STAMP) ## Measure speed against other libraries, on this machine
	$(BIN)/python -m benchmarks.run

$(BENCH_STAMP): $(STAMP) benchmarks/requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r benchmarks/requirements.txt
	@touch $@

trial-sdks: $(STAMP) ## Generate clients of real libraries and ask mypy and pyright
	$(BIN)/python -m benchmarks.sdks.run

docs: $(STAMP) ## Write the pages that come from the code, and the schemas to build/docs
	$(BIN)/python -m docs.rule_pages
	$(BIN)/python -m docs.reference_page
	$(BIN)/python -m docs.conditions_page
	$(BIN)/python -m docs.build build/docs

dist: $(STAMP) ## Build the wheel and the source distribution into dist/
	$(BIN)/python -m build --no-isolation --outdir dist

clean: ## Remove what the other targets made
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .policyctl-cache
