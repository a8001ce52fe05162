"""The parts of the vLLM engine. Only this package and `engines/vllm.py` know vLLM; only the child ever imports it."""
