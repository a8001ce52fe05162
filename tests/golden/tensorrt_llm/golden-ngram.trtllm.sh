#!/bin/sh
# golden-ngram, for TensorRT-LLM 1.3 and later (PyTorch backend). Exported by Draftboard.
# No measurement stands behind this preset.
# Not carried over as it is:
#   engine (approximated): the preset is for the embedded engine; TensorRT-LLM's own kernels and scheduler have
#     other speeds, and may decide a near-tie between two tokens otherwise.
#   target (needs-input): “smollm2-135m” is only a name here: name the model's folder or hub id on the server.
#   speculation.options.prompt_lookup_min (dropped): NGram matches down to one token; it has no minimum.
#   sampling.temperature (approximated): above 0 a draft token is kept only if the target samples the very same
#     one: the law of the output is the same, but fewer are accepted than by rejection sampling; the temperature
#     itself: it can only be sent with each request, as the request file does.
#   engine_options.max_num_seqs (needs-input): the preset leaves it open; 256 is written: size max_batch_size to
#     your load.
#   sampling.min_p, sampling.max_tokens (dropped): a server has no default for it: it can only be sent with each
#     request, as the request file does.
#   chat (dropped): raw prompts: send requests to the server's completions endpoint, as the request file does.
trtllm-serve smollm2-135m \
  --backend pytorch \
  --config golden-ngram.trtllm.yaml
