# Every task has a plain equivalent in README.md, for systems without make.
# PYTHON names the Python that makes the virtual environments; it must be 3.11 or newer.
# WORKERS says how many tests run at once: one on each processor unless told.

PYTHON ?= python3
EXAMPLE ?= resources/examples/llama-3.1-8b.memplan
PYTEST_ARGS ?=
WORKERS ?= auto

BIN := .venv/bin
CORE_BIN := .venv-core/bin
INSTALL := -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
AT_ONCE := --numprocesses $(WORKERS) --dist loadfile --max-worker-restart 0
CHECKED := core gui tests tools benchmarks packaging
HAS_PYTHON := command -v $(PYTHON) >/dev/null || { echo "memplan needs Python 3.11 or newer; there is no $(PYTHON) here. Install it, or name another: make run PYTHON=python3.12" >&2; exit 1; }

.DEFAULT_GOAL := help
.PHONY: help run test lint types fmt test-core test-rest test-all bench installers packages clean

help:  ## list the tasks
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

run: .venv/.has-gui  ## open the window on the example plan; EXAMPLE=PLAN opens another
	@$(BIN)/python tools/setup_check.py window
	@$(BIN)/python tools/run_example.py $(EXAMPLE)

test: lint types test-core test-rest  ## everything that must hold: style, types, boundaries, tests

lint: .venv/.has-dev  ## style and boundaries: ruff, import-linter
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/lint-imports --no-logo --no-cache

types: .venv/.has-dev  ## types: mypy, strict in the core
	$(BIN)/mypy

test-core: .venv-core/.has-test  ## the core's tests, where no Qt is installed
	@$(CORE_BIN)/python -c "import importlib.util as u, sys; sys.exit('Qt is in .venv-core: remove that folder' if u.find_spec('PySide6') else 0)"
	$(CORE_BIN)/python -m pytest $(AT_ONCE) tests/core $(PYTEST_ARGS)

test-rest: .venv/.has-dev  ## the tests of everything but the core
	@$(BIN)/python tools/setup_check.py offscreen
	$(BIN)/python -m pytest $(AT_ONCE) --ignore tests/core $(PYTEST_ARGS)

test-all: .venv/.has-dev  ## all tests, with Qt at hand; PYTEST_ARGS="-k name" picks some, WORKERS=0 runs them one by one
	@$(BIN)/python tools/setup_check.py offscreen
	$(BIN)/python -m pytest $(AT_ONCE) $(PYTEST_ARGS)

fmt: .venv/.has-dev  ## put the code into its form
	$(BIN)/ruff check --fix $(CHECKED)
	$(BIN)/ruff format $(CHECKED)

bench: .venv/.has-gui  ## speeds, as medians and ratios
	@$(BIN)/python tools/setup_check.py window
	$(BIN)/python -m benchmarks

installers:  ## the bundle, .tar.xz, .deb and AppImage for Linux, in dist/
	@$(HAS_PYTHON)
	PYTHON=$(PYTHON) packaging/build_linux.sh

packages:  ## the wheel and the source distribution, in dist/, tried where nothing else is installed
	@$(HAS_PYTHON)
	packaging/try_python.sh dist $(PYTHON)

clean:  ## remove what the tasks made, virtual environments included
	rm -rf .venv .venv-core build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find core gui tests tools benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps: an environment is made once, and brought up to date when what it should hold changes.

.venv/.made:
	@$(HAS_PYTHON)
	@$(PYTHON) tools/setup_check.py python
	$(PYTHON) -m venv .venv
	@touch $@

.venv-core/.made:
	@$(HAS_PYTHON)
	@$(PYTHON) tools/setup_check.py python
	$(PYTHON) -m venv .venv-core
	@touch $@

.venv/.has-gui: .venv/.made pyproject.toml constraints.txt
	$(BIN)/python $(INSTALL) --editable '.[gui]'
	@touch $@

.venv/.has-dev: .venv/.made pyproject.toml constraints.txt
	$(BIN)/python $(INSTALL) --editable '.[dev]'
	@touch $@ .venv/.has-gui

.venv-core/.has-test: .venv-core/.made pyproject.toml constraints.txt
	$(CORE_BIN)/python $(INSTALL) --editable '.[test]'
	@touch $@
