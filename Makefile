# Everything is called through the environment's own Python: console scripts break in a path with spaces.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

VENV := .venv
PYTHON := exec $(VENV)/bin/python
STAMP := $(VENV)/.made
SOURCES := api scheduler worker shared standin cli client tests scripts examples
ARGS ?=
JOBS ?= 2

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help
help: ## Show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

.PHONY: venv
venv: $(STAMP) ## Make .venv and install what requirements.lock says (done by itself when needed)

$(STAMP): requirements.lock pyproject.toml scripts/make_venv.sh
	@bash scripts/make_venv.sh $(VENV)

.PHONY: demo
demo: $(STAMP) ## Play a session through the whole service, without keys or Docker (FILE=… plays that file)
	@echo "demo: starts Redis, API, scheduler and worker on free ports, plays a session, stops them all"
	@$(PYTHON) -m precompact_cli demo $${FILE:+"$$FILE"} $(ARGS)

.PHONY: test
test: $(STAMP) ## Run the tests that take minutes at most (ARGS="-k name" narrows, JOBS=0 runs them in one process)
	@echo "test: starts a Redis per process, runs all but the slow tests, stops them"
	@$(PYTHON) -m pytest -n $(JOBS) --dist worksteal -m "not slow and not bench" $(ARGS)

.PHONY: test-all
test-all: $(STAMP) ## Run all tests, the slow ones too
	@echo "test-all: starts a Redis per process, runs every test, stops them"
	@$(PYTHON) -m pytest -n $(JOBS) --dist worksteal -m "not bench" $(ARGS)

.PHONY: check
check: lint types imports lock ## Run every check that is no test
	@echo "check: all is well"

.PHONY: lint
lint: $(STAMP) ## Lint and check the formatting
	@$(VENV)/bin/python -m ruff check $(SOURCES)
	@$(VENV)/bin/python -m ruff format --check $(SOURCES)

.PHONY: format
format: $(STAMP) ## Format and fix what can be fixed
	@$(VENV)/bin/python -m ruff check --fix $(SOURCES)
	@$(VENV)/bin/python -m ruff format $(SOURCES)

.PHONY: types
types: $(STAMP) ## Check the types
	@$(PYTHON) -m mypy

.PHONY: imports
imports: $(STAMP) ## Check who may import whom
	@$(PYTHON) scripts/lint_imports.py

.PHONY: lock
lock: $(STAMP) ## Check that requirements.lock fits pyproject.toml and names no host
	@$(PYTHON) scripts/check_lock.py

.PHONY: relock
relock: $(STAMP) ## Resolve requirements.lock anew
	@$(PYTHON) -m uv pip compile --universal --python-version 3.11 --extra dev --no-header --no-annotate \
		--no-emit-index-url --quiet --upgrade pyproject.toml -o requirements.lock

.PHONY: bench
bench: $(STAMP) ## Measure against bare baselines; prints JSON
	@$(PYTHON) -m tests.bench $(ARGS)

.PHONY: bench-tokens
bench-tokens: $(STAMP) ## Measure how well sizes are foretold, on recorded sessions; prints JSON
	@$(PYTHON) -m tests.bench.tokens $(ARGS)

.PHONY: bench-cost
bench-cost: $(STAMP) ## Measure what summaries cost in each mode, on a strict cache; prints JSON
	@$(PYTHON) -m tests.bench.cost $(ARGS)

.PHONY: smoke-anthropic smoke-openai
smoke-anthropic smoke-openai: $(STAMP) ## One summary with a real key (skipped without one); costs less than a cent
	@$(PYTHON) -m scripts.smoke_provider $(@:smoke-%=%) $(ARGS)

.PHONY: docs
docs: $(STAMP) ## Write the generated reference pages
	@$(VENV)/bin/python scripts/write_reference.py
	@$(VENV)/bin/python scripts/write_rules.py
	@$(VENV)/bin/python scripts/write_presets.py

.PHONY: clean
clean: ## Remove .venv and every cache
	@rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
