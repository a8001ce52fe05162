#!/bin/sh
# What only a GPU can prove, one verdict a line, in under ten minutes on one device. Exit code 1 if a line says FAIL.
#   tests/gpu/check.sh             on the GPU; needs make test ENGINE=vllm (or pip install '.[test,vllm]')
#   tests/gpu/check.sh --cpu       the same script on the CPU build: proves the script, not the GPU
# PYTHON names the interpreter, DRAFTBOARD_TEST_EAGLE3 an EAGLE-3 head for the default model. Without the default model
# (make model) small random models are made on the spot.
cd "$(dirname "$0")/../.." || exit 2
exec "${PYTHON:-.venv/bin/python}" -m tests.gpu.check "$@"
