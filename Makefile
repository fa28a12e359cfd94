# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo docs test test-slow test-browser test-spark lint bench bench-check bench-record install clean

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=23.1"
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/confide demo

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# The documentation, in site/index.html.
docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Most of the time would go into compiling programs that run for milliseconds, so XLA is told to hurry. The long checks
# are compiled as for users, and tests/test_compiled.py compares the numbers of both.
HURRY := --xla_cpu_use_fusion_emitters=false --xla_backend_optimization_level=1 --xla_cpu_parallel_codegen_split_count=1

test: lint
	XLA_FLAGS="$(HURRY) $$XLA_FLAGS" $(BIN)/python -m pytest -n auto --dist worksteal -m "not slow and not browser"

test-slow: $(STAMP)
	$(BIN)/python -m pytest -n auto -m slow

# The explorer in a real browser, which comes from the system's packages: installed where that is allowed. What fails is
# asked once more, by itself, for a browser keeps its own time.
CHROMIUM ?= /usr/bin/chromium
test-browser: $(STAMP)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[browser]"
	@test -x $(CHROMIUM) || { test "$$(id -u)" = 0 && apt-get update --quiet=2 && apt-get install --quiet=2 --yes chromium; } \
	  || { echo "Install chromium (apt-get install chromium), or say where it is: make test-browser CHROMIUM=..." >&2; exit 1; }
	export CHROMIUM=$(CHROMIUM) XLA_FLAGS="$(HURRY) $$XLA_FLAGS" && $(BIN)/python -m pytest -n 0 -m browser tests/explorer/browser \
	  || $(BIN)/python -m pytest -n 0 -m browser --last-failed --last-failed-no-failures none tests/explorer/browser

# Spark in local mode; it needs Java, and pyspark is large, so it is no part of the other targets.
test-spark: $(STAMP)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[spark]"
	$(BIN)/python -m pytest -n 0 -m slow tests/releasing/test_spark.py

# Everything side by side, then the parts; benchmarks/README.md says how to read it.
bench: $(STAMP)
	$(BIN)/python -m benchmarks
	$(BIN)/python benchmarks/likelihood.py

# Do the ratios still hold? Two minutes or so; exit 1 if one is below half of what is recorded.
bench-check: $(STAMP)
	$(BIN)/python -m benchmarks --check

# What bench-check compares with and the tables of benchmarks/README.md, anew. On a quiet machine.
bench-record: $(STAMP)
	$(BIN)/python -m benchmarks --record

clean:
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache
