#!/bin/sh
# golden-baseline, for SGLang 0.5.23. Exported by Draftboard.
# No measurement stands behind this preset.
# Not carried over as it is:
#   engine (approximated): measured with the embedded engine; SGLang's own kernels and scheduler have other
#     speeds, and may decide a near-tie between two tokens otherwise.
#   engine_options.max_num_seqs (approximated): the preset leaves it open; 48, SGLang's own with speculation, is
#     written.
#   sampling.temperature, sampling.max_tokens (approximated): as a default it reaches only the native /generate;
#     requests to the OpenAI endpoints must send it.
python3 -m sglang.launch_server \
  --model-path org/model \
  --dtype auto \
  --tp-size 1 \
  --max-running-requests 48 \
  --sampling-defaults openai \
  --preferred-sampling-params '{"temperature": 0.0, "top_p": 1.0, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0, "max_new_tokens": 256}'
