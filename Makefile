# Everything runs in .venv, which is made on first use. Needs Python 3.11 or newer and make.
PYTHON ?= python3
SECONDS ?= 30

VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
COMPILED_VENV := .venv-compiled
COMPILED_READY := $(COMPILED_VENV)/.ready
# What the benches run: COMPILED=1 takes the compiled form.
BENCH_PY := $(if $(COMPILED),$(COMPILED_VENV)/bin/python,$(PY))
BENCH_READY := $(if $(COMPILED),$(COMPILED_READY),$(READY))

.DEFAULT_GOAL := help
.PHONY: help run demo test compiled check lint docs agents bench bench-gateway soak journeys fuzz clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(READY) ## start the gateway: with thinkwire.toml if there is one, else before simulated models
	@$(PY) -m thinkwire.cli serve

demo: $(READY) ## watch a recorded stream being converted
	@$(PY) -m thinkwire.cli demo

test: $(READY) ## run the tests
	@$(PY) -m pytest -q -n auto

compiled: $(COMPILED_READY) ## build the compiled form (some minutes, needs a C compiler) and run the tests on it
	@$(COMPILED_VENV)/bin/python -m pytest -q -n auto

check: lint test ## everything a change must pass: format, lint, types, generated docs, tests

lint: $(READY) ## format, lint, types and generated docs, without the tests
	@$(PY) -m ruff format --quiet --check .
	@$(PY) -m ruff check --quiet .
	@$(PY) -m mypy --no-error-summary
	@$(PY) tools/gen_docs.py --check

docs: $(READY) ## write the generated docs anew
	@$(PY) tools/gen_docs.py

agents: $(READY) ## run Claude Code, Codex and Gemini CLI through the gateway; needs npm and the network
	@$(PY) tools/agents.py

bench: $(BENCH_READY) ## measure the converter, the agent above it, carriers, the ledger and the projection; COMPILED=1 the compiled form
	@$(BENCH_PY) bench/converter.py
	@$(BENCH_PY) bench/agent.py
	@$(BENCH_PY) bench/provenance.py
	@$(BENCH_PY) bench/projection.py

bench-gateway: $(BENCH_READY) ## measure the gateway against nginx (which must be installed), COMPILED=1 as above
	@$(BENCH_PY) bench/gateway.py

soak: $(READY) ## 10,000 aborted streams and 1,000 at once through the gateway
	@$(PY) bench/soak.py

journeys: $(READY) ## random conversations over random switches, JOURNEYS=100 of each client
	@JOURNEYS=$(or $(JOURNEYS),100) $(PY) -m pytest -q -n 2 tests/switching

fuzz: $(READY) ## fuzz each decoder for SECONDS=30
	@$(PY) tools/fuzz.py $(SECONDS)

clean: ## remove .venv, caches and build output
	@rm -rf $(VENV) $(COMPILED_VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): pyproject.toml
	@test -x $(PY) || { \
		$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
			echo "thinkwire needs Python 3.11 or newer, but PYTHON=$(PYTHON) is: $$($(PYTHON) --version 2>&1)" >&2; \
			echo "Name another one, for example: make PYTHON=python3.12" >&2; exit 1; }; \
		$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }; }
	@echo "installing into $(VENV) …"
	@$(PY) -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

$(COMPILED_READY): $(READY) pyproject.toml hatch_build.py $(shell find src -name '*.py')
	@test -x $(COMPILED_VENV)/bin/python || $(PY) -m venv $(COMPILED_VENV)
	@echo "compiling into $(COMPILED_VENV) …"
	@THINKWIRE_COMPILE=1 $(COMPILED_VENV)/bin/python -m pip install --quiet --disable-pip-version-check '.[dev]'
	@touch $@
