# Draftboard: everything a user or developer types. Only python3 (3.11 or newer) and make are needed beforehand.
#   make run     the page, at http://127.0.0.1:7860 (or DRAFTBOARD_PORT); ENGINE=vllm installs vLLM beside it
#   make test    all checks: ruff, mypy, unit, property, contract, README and browser tests
#   make bench   the measurements of README.md on this machine (SUITE=prompts.jsonl for your own prompts)

SHELL := /bin/sh
PY := .venv/bin/python
# The first interpreter that is new enough; override with `make run PYTHON=/path/to/python`.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
BEGUN := $(shell date +%s)
SUITE ?=
ENGINE ?=

.PHONY: help run test bench model lint format lock clean env env-test

help:
	@sed -n 's/^#   //p' Makefile

run: model
	@exec $(PY) -m playground serve

model: env
	@$(PY) -m playground models prepare

test: env-test model
	@$(PY) -m tests.machine
	@$(MAKE) --no-print-directory lint
	DRAFTBOARD_TEST_BEGUN=$(BEGUN) $(PY) -m pytest -m "not browser and not vllm" --numprocesses auto --maxprocesses 4 --dist loadfile
	DRAFTBOARD_TEST_BEGUN=$(BEGUN) $(PY) -m pytest -m "browser or vllm"

bench: env-test model
	@$(PY) -m tests.benchmarks $(if $(SUITE),--suite "$(SUITE)")

lint: env-test
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

format: env-test
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

env env-test:
	@test -n "$(PYTHON)" || { echo "Draftboard needs Python 3.11 or newer; install it, or name it: make run PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -I playground/bootstrap.py $(if $(filter env-test,$@),test,run) $(ENGINE)

# Pins every package as it is installed now; CUDA's own packages follow from torch, and a build's local tag is no version.
lock: env-test
	@{ echo "# Every package of the run and test environments, pinned. Written by make lock."; \
	   $(PY) -m pip freeze --exclude-editable | grep -E '^[A-Za-z0-9._-]+==' | grep -v -i -E '^(nvidia-[a-z]+-cu|nvidia-cu|cuda-|triton|vllm|torch(vision|audio|codec))' \
	   | sed 's/+[a-z0-9]*$$//'; } > constraints.txt

clean:
	rm -rf .venv build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis tests/out
	find playground storage tests -name __pycache__ -type d -prune -exec rm -rf {} +
