#!/bin/sh
# golden-baseline, for llama.cpp b10434 and later. Exported by Draftboard.
# No measurement stands behind this preset.
# Not carried over as it is:
#   engine (approximated): the preset is for the embedded engine; llama-server's own kernels and scheduler have
#     other speeds, and may decide a near-tie between two tokens otherwise.
#   target (needs-input): llama-server reads GGUF only: name the GGUF that stands for “org/model”.
#   dtype (dropped): number formats are a property of the GGUF file: choose its quantisation.
llama-server \
  --hf-repo org/model \
  --temp 0.0 \
  --top-k 0 \
  --top-p 1.0 \
  --min-p 0.0 \
  --repeat-penalty 1.0 \
  --repeat-last-n 131072 \
  --presence-penalty 0.0 \
  --frequency-penalty 0.0 \
  --sampler-seq etmkp \
  --n-predict 256
