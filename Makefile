# Two commands set everything up on a machine with Python, pip and make: `make demo` and `make test`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2
STAMP := $(VENV)/.installed

.PHONY: demo test test-boundscheck test-slow bench bench-install lint format clean

demo: $(STAMP)-demo
	$(BIN)/assay compare --output assay-report --force

test: $(STAMP)-dev
	$(BIN)/python -m pytest -n $(WORKERS) -m "not slow"

test-boundscheck: $(STAMP)-dev
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/$(VENV)/numba-boundscheck \
		$(BIN)/python -m pytest -n $(WORKERS) -m "not slow"

test-slow: $(STAMP)-dev
	$(BIN)/python -m pytest -m slow

bench: $(STAMP)-bench
	$(BIN)/python -m benchmarks $(ARGS)

lint: $(STAMP)-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy -p assay
	$(BIN)/lint-imports

format: $(STAMP)-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) assay-report .pytest_cache .mypy_cache .ruff_cache .benchmarks

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(STAMP)-demo: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[cli]'
	@touch $@

$(STAMP)-dev: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

$(STAMP)-bench: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[bench,frames]'
	@touch $@
