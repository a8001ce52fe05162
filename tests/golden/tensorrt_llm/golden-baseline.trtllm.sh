#!/bin/sh
# golden-baseline, for TensorRT-LLM 1.3 and later (PyTorch backend). Exported by Draftboard.
# No measurement stands behind this preset.
# Not carried over as it is:
#   engine (approximated): the preset is for the embedded engine; TensorRT-LLM's own kernels and scheduler have
#     other speeds, and may decide a near-tie between two tokens otherwise.
#   engine_options.max_num_seqs (needs-input): the preset leaves it open; 256 is written: size max_batch_size to
#     your load.
#   sampling.temperature, sampling.max_tokens (dropped): a server has no default for it: it can only be sent
#     with each request, as the request file does.
trtllm-serve org/model \
  --backend pytorch \
  --config golden-baseline.trtllm.yaml
