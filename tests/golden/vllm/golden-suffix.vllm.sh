#!/bin/sh
# golden-suffix, for vLLM 0.32. Exported by Draftboard.
# No measurement stands behind this preset.
# Not carried over as it is:
#   engine (approximated): the preset is for the embedded engine; vLLM's own kernels and scheduler have other
#     speeds, and may decide a near-tie between two tokens otherwise.
#   sampling.max_tokens (dropped): a server can only cap all requests (the vLLM export has that choice,
#     cap_max_tokens); as a default it can only be sent with each request, as the request file does.
#   speculation.method (needs-input): the server needs one more package: pip install arctic-inference==0.1.1.
# suffix_decoding_max_cached_requests is 0, as in the preset, so that every answer is drafted from itself alone;
#   a server gains by drafting from earlier answers too: vLLM's own default keeps 10000 of them.
vllm serve org/model \
  --dtype bfloat16 \
  --seed 0 \
  --tensor-parallel-size 1 \
  --gpu-memory-utilization 0.92 \
  --generation-config vllm \
  --override-generation-config '{"temperature": 0.0, "top_p": 1.0, "top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0}' \
  --speculative-config '{"method": "suffix", "num_speculative_tokens": 12, "suffix_decoding_max_cached_requests": 0, "suffix_decoding_max_spec_factor": 2.0}'
