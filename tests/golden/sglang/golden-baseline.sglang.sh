#!/bin/sh
# golden-baseline, for SGLang 0.5.23. Exported by Draftboard.
# No measurement stands behind this preset.
# Not carried over as it is:
#   engine (approximated): the preset is for the embedded engine; SGLang's own kernels and scheduler have other
#     speeds, and may decide a near-tie between two tokens otherwise.
#   sampling.temperature, sampling.max_tokens (approximated): as a default it reaches only the native /generate;
#     requests to the OpenAI endpoints must send it.
python3 -m sglang.launch_server \
  --model-path org/model \
  --dtype auto \
  --tp-size 1 \
  --sampling-defaults openai \
  --preferred-sampling-params '{"temperature": 0.0, "top_p": 1.0, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0, "max_new_tokens": 256}'
