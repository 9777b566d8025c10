# Every target says what it does while it does it; `make` alone prints this list.
SHELL := /bin/bash
PYTHON ?= python3.11
VENV ?= .venv
# An index with CPU builds of PyTorch, if you can reach one: saves about 4 GB (see README).
TORCH_INDEX ?=
export TORCH_INDEX

.PHONY: help up test lint types contracts check bench clean

help:  ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

up:  ## set everything up, start the service, show the sample, serve until Ctrl-C
	@scripts/setup "$(PYTHON)" "$(VENV)" serve,models
	@exec $(VENV)/bin/rearview up

test:  ## set everything up and run the tests (no network, no cluster, no Go)
	@scripts/setup "$(PYTHON)" "$(VENV)" serve,models,dev
	$(VENV)/bin/python -m pytest

lint:  ## ruff: style and likely mistakes
	$(VENV)/bin/ruff check . && $(VENV)/bin/ruff format --check .

types:  ## mypy, strict
	$(VENV)/bin/mypy

contracts:  ## import directions: serve → pipelines, operator apart
	$(VENV)/bin/lint-imports

check: lint types contracts  ## lint, types and contracts together

bench:  ## latency and throughput beside their baseline (about 15 minutes)
	@scripts/setup "$(PYTHON)" "$(VENV)" serve,models,dev
	$(VENV)/bin/python benchmarks/latency.py

clean:  ## remove the virtual environment and caches; the data folder stays
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
