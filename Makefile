# Two commands set everything up on a machine with Python, pip and make: `make demo` and `make test`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2
STAMP := $(VENV)/.installed
APT := DEBIAN_FRONTEND=noninteractive timeout 300 apt-get install --yes --no-install-recommends

# Every estimator is checked by these; the tests of a room run in one process, which compiles its loops once.
CHECKS := tests/test_common_checks.py tests/test_numeric_checks.py tests/test_sklearn_checks.py
# The processes share the cores: more threads of BLAS or of the peers in each would wait for one another. Those that tests
# start import the library again: its bytecode is kept, whatever the environment says.
PYTEST := env -u PYTHONDONTWRITEBYTECODE OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -m "not slow"
FUZZ := env PYTHONPATH=tests $(BIN)/python -m fuzz --workers $(WORKERS)
CHECKED := env NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/$(VENV)/numba-boundscheck
ROOM ?=
TESTS := $(if $(ROOM),--room $(ROOM) $(wildcard tests/$(ROOM)) src/assay/$(ROOM) $(CHECKS))

.PHONY: demo test browser test-fuzz test-boundscheck test-machines test-slow bench lint format clean clean-loops

demo: $(STAMP)-demo
	$(BIN)/assay compare --output assay-report --force

# ROOM=cluster runs the tests and examples of one room and the checks of its estimators.
test: $(STAMP)-dev browser
	$(PYTEST) $(TESTS)

# The report is tested in Chromium. Where it is missing and may be installed, it is; else those tests are skipped.
browser:
	@for name in chromium chromium-browser google-chrome; do command -v $$name && exit; done >/dev/null; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		{ $(APT) chromium || { apt-get update && $(APT) chromium; }; } >/dev/null 2>&1 || true; \
	fi

# Bad inputs for every estimator, each met by an answer or a sentence; ARGS="--only KMeans" tries some.
test-fuzz: $(STAMP)-dev
	$(FUZZ) $(ARGS)

# The tests with checked indices, then tables at the ends of the floats for every estimator and variant.
test-boundscheck: $(STAMP)-dev
	$(CHECKED) $(PYTEST) $(TESTS)
	$(CHECKED) $(FUZZ) --extremes

# The same tests on other processors, in the background and under load: nothing may depend on the machine.
test-machines: $(STAMP)-dev browser
	BIN=$(BIN) .ci/machines $(PYTEST) $(TESTS)

test-slow: $(STAMP)-dev
	$(BIN)/python -m pytest -m slow

# Writes docs/benchmarks.*; ARGS="-k medoids" measures some cases, ARGS="--against SRC" another source tree.
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

# Loops that were compiled before a formula inlined in them changed.
clean-loops:
	find src tests \( -name '*.nbi' -o -name '*.nbc' \) -delete

clean: clean-loops
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
