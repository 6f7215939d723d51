# Every target sets up what it needs in a virtual environment of its own; PYTHON picks the interpreter it is made from.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help setup run lint types check-drift test test-services test-long soak test-orchestratorx fuzz bench bench-collector format proto docs dashboards clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 20

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

setup: $(STAMP)  ## create the virtual environment

# OrchestratorX has an environment of its own, since it needs what the collector does not. `make run` goes on without it.
ORCHX := .venv-orchestratorx
ORCHX_BIN := $(CURDIR)/$(ORCHX)/bin

$(ORCHX)/.installed: examples/orchestratorx/pyproject.toml
	@echo "installing OrchestratorX in $(ORCHX)"
	$(PYTHON) -m venv $(ORCHX)
	$(ORCHX_BIN)/python -m pip install --quiet --editable 'examples/orchestratorx[otel]'
	@touch $@

$(ORCHX)/.installed-dev: $(ORCHX)/.installed
	$(ORCHX_BIN)/python -m pip install --quiet --editable 'examples/orchestratorx[dev]'
	@touch $@

run: $(STAMP)  ## start the collector, play a recorded session and live reviews into it, and say what it found
	@mkdir -p $(ORCHX) && $(MAKE) --silent $(ORCHX)/.installed 2>$(ORCHX)/install.log || true
	@$(BIN)/python -m collector.demo --orchestratorx $(ORCHX)/bin/orchestratorx

lint: $(STAMP)  ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)  ## mypy, strict
	$(BIN)/mypy

check-drift: $(STAMP)  ## make the frozen vectors anew and compare
	$(BIN)/python examples/vectors/make.py --check

test: lint types check-drift  ## lint, types, every test that needs no other program
	$(BIN)/python -m pytest -q -n 2 -m 'not services and not slow'

FUZZ_SECONDS ?= 120
FUZZ ?= otlp_protobuf otlp_protobuf_logs otlp_json otlp_json_logs dump compression content_encoding journal recovery contracts trace_document

fuzz: $(STAMP)  ## fuzz every reader, FUZZ_SECONDS each (FUZZ=name for one)
	$(BIN)/python -m pip install --quiet --editable '.[fuzz]'
	@for target in $(FUZZ); do PYTHONPATH=. $(BIN)/python tests/fuzz/run.py $$target -max_total_time=$(FUZZ_SECONDS) || exit 1; done

test-orchestratorx: $(ORCHX)/.installed-dev  ## lint, types and tests of examples/orchestratorx, in its own environment
	cd examples/orchestratorx && $(ORCHX_BIN)/ruff check . && $(ORCHX_BIN)/ruff format --check .
	cd examples/orchestratorx && $(ORCHX_BIN)/mypy
	cd examples/orchestratorx && $(ORCHX_BIN)/python -m pytest -q

test-services: $(STAMP) $(ORCHX)/.installed  ## tests with a real OpenTelemetry Collector and Jaeger (built once; needs go), Prometheus and OrchestratorX
	$(BIN)/python -m pytest -q -m services

test-long: $(STAMP)  ## 200 kills of the engine and of the service (ORBITRELAY_KILLS), overload by SDK exporters
	$(BIN)/python -m pytest -q -m slow

SOAK_SECONDS ?= 900
SOAK_SESSIONS ?= 1000000

soak: $(STAMP)  ## memory, files and threads under three loads, SOAK_SECONDS for the first and 120 s for each other; memory over SOAK_SESSIONS
	$(BIN)/python -m tests.long.soak steady --seconds $(SOAK_SECONDS)
	$(BIN)/python -m tests.long.soak endless --seconds 120
	$(BIN)/python -m tests.long.soak short --seconds 120
	$(BIN)/python -m tests.long.million --sessions $(SOAK_SESSIONS)

bench: $(STAMP)  ## measure the analysis, and write the table of the README
	$(BIN)/python benchmarks/analysis.py --write

BENCHMARKS := accept parts pipeline convert decode recovery

bench-collector: $(STAMP)  ## measure the collector, and write the tables of benchmarks/results.md and the README
	@for name in $(BENCHMARKS); do $(BIN)/python -m benchmarks.$$name --write || exit 1; done

format: $(STAMP)  ## rewrite the sources in the one format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

proto: $(STAMP)  ## generate collector/pb from proto/
	$(BIN)/python proto/generate.py

docs: $(STAMP)  ## write the pages of docs/ that are made from tables
	$(BIN)/python -m collector.config.document > docs/configuration.md
	$(BIN)/python -m collector.admin.openapi > docs/openapi.json
	$(BIN)/python -m collector.emit.document > docs/semantic-conventions.md

dashboards: $(STAMP)  ## write examples/grafana/dashboards from the table of names
	$(BIN)/python -m examples.grafana.build

clean:  ## remove what the targets made
	rm -rf $(VENV) $(ORCHX) .pytest_cache .mypy_cache .ruff_cache build dist *.egg-info
