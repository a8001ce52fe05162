#!/bin/sh
# golden-ngram, for vLLM 0.32. Exported by Draftboard.
# No measurement stands behind this preset.
# Not carried over as it is:
#   engine (approximated): the preset is for the embedded engine; vLLM's own kernels and scheduler have other
#     speeds, and may decide a near-tie between two tokens otherwise.
#   target (needs-input): “smollm2-135m” is only a name here: name the model's folder or hub id on the server.
#   sampling.max_tokens (dropped): a server can only cap all requests (the vLLM export has that choice,
#     cap_max_tokens); as a default it can only be sent with each request, as the request file does.
#   chat (dropped): raw prompts: send requests to /v1/completions, as the request file does.
#   speculation.options.match (approximated): vLLM takes the earliest match, so other tokens are drafted; the
#     output is the same.
vllm serve smollm2-135m \
  --dtype float32 \
  --seed 0 \
  --tensor-parallel-size 1 \
  --gpu-memory-utilization 0.92 \
  --generation-config vllm \
  --override-generation-config '{"temperature": 1.0, "top_p": 1.0, "top_k": 0, "min_p": 0.05, "repetition_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0}' \
  --speculative-config '{"method": "ngram", "num_speculative_tokens": 8, "prompt_lookup_min": 2, "prompt_lookup_max": 4}'
