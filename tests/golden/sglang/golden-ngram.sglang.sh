#!/bin/sh
# golden-ngram, for SGLang 0.5.23. Exported by Draftboard.
# No measurement stands behind this preset.
# Not carried over as it is:
#   engine (approximated): the preset is for the embedded engine; SGLang's own kernels and scheduler have other
#     speeds, and may decide a near-tie between two tokens otherwise.
#   target (needs-input): “smollm2-135m” is only a name here: name the model's folder or hub id on the server.
#   engine_options.max_num_seqs (approximated): the preset leaves it open; 48, SGLang's own with speculation, is
#     written.
#   sampling.min_p, sampling.max_tokens (approximated): as a default it reaches only the native /generate;
#     requests to the OpenAI endpoints must send it.
#   speculation.options.prompt_lookup_min (dropped): NGRAM has no shortest match any more.
#   speculation.method (approximated): NGRAM drafts from a trie over the texts it has generated, not by lookup
#     in the prompt: acceptance differs.
#   speculation.options.match (dropped): SGLang has no such setting.
#   chat (dropped): raw prompts: send requests to the server's completions endpoint, as the request file does.
python3 -m sglang.launch_server \
  --model-path smollm2-135m \
  --dtype float32 \
  --tp-size 1 \
  --max-running-requests 48 \
  --sampling-defaults openai \
  --preferred-sampling-params '{"temperature": 1.0, "top_p": 1.0, "top_k": -1, "min_p": 0.05, "repetition_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0, "max_new_tokens": 256}' \
  --speculative-algorithm NGRAM \
  --speculative-num-draft-tokens 9 \
  --speculative-ngram-min-bfs-breadth 1 \
  --speculative-ngram-max-bfs-breadth 1 \
  --speculative-ngram-max-trie-depth 12
