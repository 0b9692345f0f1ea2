# Every command a user or CI runs. `make` alone lists them.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
ENV ?= dev
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: help
help: ## list these commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1|\2/' | column -t -s '|'

$(INSTALLED): requirements.txt constraints.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$(PYTHON) is older than Python 3.11; name a newer one: make PYTHON=python3.11 ..." >&2; exit 3; }
	@echo "Setting up $(VENV) (once, some minutes at most) ..."
	@test -x $(BIN)/pip || $(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

.PHONY: setup
setup: $(INSTALLED) ## make .venv with the pinned packages

.PHONY: preview
preview: $(INSTALLED) ## show an environment with cost and verdicts, no account needed (ENV=dev)
	@$(BIN)/gangway preview --env $(ENV) $(if $(FORMAT),--format $(FORMAT)) $(if $(OUT),--out $(OUT))

.PHONY: test
test: $(INSTALLED) ## the offline tests
	@$(BIN)/pytest -q -n 2 --disable-socket --allow-unix-socket

.PHONY: check
check: $(INSTALLED) ## format, lint, types, tests, coverage; the same as pre-commit
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/pytest -q -n 2 --disable-socket --allow-unix-socket --cov --cov-report=term

.PHONY: mutants
mutants: $(INSTALLED) ## remove hardening and ordering lines one at a time; a test must fail for each
	@$(BIN)/python -m tests.support.mutants

.PHONY: picture
picture: $(INSTALLED) ## redraw the README's picture from the recorded graph
	@$(BIN)/python -m infra.preview.picture README.md

.PHONY: up
up: $(INSTALLED) ## bring an environment up on AWS (needs the pulumi CLI and credentials)
	@pulumi up --stack $(ENV)

.PHONY: tools
tools: $(INSTALLED) ## get the rehearsal's programs: fetched or built, each once
	@$(BIN)/gangway rehearse tools

.PHONY: frameworks
frameworks: $(INSTALLED) ## make the environments in which the trainer runs on this machine
	@$(BIN)/python -m infra.rehearsal.frameworks

.PHONY: training-report
training-report: $(INSTALLED) ## train on this machine and rewrite docs/training-report.md
	@$(BIN)/python -m tests.support.training_report

.PHONY: rehearse
rehearse: $(INSTALLED) ## bring an environment up on this machine, only AWS emulated
	@$(BIN)/gangway rehearse up --env $(ENV)

.PHONY: rehearse-down
rehearse-down: $(INSTALLED) ## take the rehearsal down and prove that nothing is left
	@$(BIN)/gangway rehearse down --env $(ENV)

.PHONY: bench
bench: $(INSTALLED) ## measure the rehearsal: up, preview, down, memory (ROUNDS=1)
	@$(BIN)/gangway rehearse bench --env $(ENV) --rounds $(or $(ROUNDS),1)

.PHONY: demo
demo: $(INSTALLED) ## default scheduler and Volcano side by side on a rehearsal
	@$(BIN)/gangway demo

.PHONY: test-rehearsal
test-rehearsal: $(INSTALLED) ## the slow tests against real programs
	@$(BIN)/pytest -q --timeout 900 --durations 15 tests/rehearsal

.PHONY: clean
clean: ## remove what these commands made, caches of tools excepted
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .coverage .coverage.* *.egg-info
