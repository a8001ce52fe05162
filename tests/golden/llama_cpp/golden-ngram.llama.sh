#!/bin/sh
# golden-ngram, for llama.cpp b10434 and later. Exported by Draftboard.
# No measurement stands behind this preset.
# Not carried over as it is:
#   engine (approximated): the preset is for the embedded engine; llama-server's own kernels and scheduler have
#     other speeds, and may decide a near-tie between two tokens otherwise.
#   target (needs-input): llama-server reads GGUF only: name the GGUF that stands for “smollm2-135m”.
#   dtype (dropped): number formats are a property of the GGUF file: choose its quantisation.
#   speculation.options.prompt_lookup_min (dropped): ngram-simple matches one length only, the longest: it
#     drafts less often.
#   speculation.options.match (approximated): which match is taken cannot be said: other tokens may be drafted;
#     the output is the same.
#   chat (dropped): raw prompts: send requests to the server's completions endpoint, as the request file does.
llama-server \
  --model smollm2-135m \
  --temp 1.0 \
  --top-k 0 \
  --top-p 1.0 \
  --min-p 0.05 \
  --repeat-penalty 1.0 \
  --repeat-last-n 131072 \
  --presence-penalty 0.0 \
  --frequency-penalty 0.0 \
  --sampler-seq etmkp \
  --n-predict 256 \
  --spec-type ngram-simple \
  --spec-draft-n-max 8 \
  --spec-draft-n-min 0 \
  --spec-draft-p-min 0.0 \
  --spec-ngram-simple-size-n 4 \
  --spec-ngram-simple-size-m 8 \
  --spec-ngram-simple-min-hits 1
