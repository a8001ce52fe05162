#!/bin/sh
# golden-draft, for llama.cpp b11434 and later. Exported by Draftboard.
# A 70B with its 8B.
# model: this line must stay a comment
# Measured 1.87×: faster with speculation than without.
# Measured 2026-11-29, runs: 01J0BASE, 01J0SPEC.
#   metrics: speedup = 1.871×; draft_acceptance_rate = 0.713; acceptance_by_position = [0.9, 0.6, n/a]
#   hardware: device = 4x NVIDIA H200
#   versions: vllm = 0.32.0
# Not carried over as it is:
#   engine (approximated): the preset is for the vllm engine; llama-server's own kernels and scheduler have
#     other speeds, and may decide a near-tie between two tokens otherwise.
#   target (needs-input): llama-server reads GGUF only: name the GGUF that stands for
#     “meta-llama/Llama-3.3-70B-Instruct”.
#   dtype (dropped): number formats are a property of the GGUF file: choose its quantisation.
#   engine_options.max_num_seqs (approximated): the preset leaves it open; 1 is written, since the context is
#     shared out among the slots.
#   engine_options.tensor_parallel_size (needs-input): llama-server has no degree of it: choose --split-mode and
#     --tensor-split for your devices.
#   speculation.model (needs-input): llama-server reads GGUF only: name the GGUF that stands for
#     “meta-llama/Llama-3.1-8B-Instruct”.
#   engine_options.gpu_memory_utilization (dropped): llama-server has no setting that means the same; nearest is
#     n-gpu-layers, fit-target.
#   speculation.options.draft_tensor_parallel_size (dropped): llama-server has no setting that means the same;
#     nearest is spec-draft-device.
#   system_prompt (dropped): a server has no default for it: it can only be sent with each request, as the
#     request file does.
#   sampling.stop (approximated): a preset file holds one stop string, the first; the command line holds all 2.
llama-server \
  --hf-repo meta-llama/Llama-3.3-70B-Instruct \
  --ctx-size 8192 \
  --parallel 1 \
  --temp 0.7 \
  --top-k 40 \
  --top-p 0.9 \
  --min-p 0.0 \
  --repeat-penalty 1.0 \
  --repeat-last-n 131072 \
  --presence-penalty 0.0 \
  --frequency-penalty 0.0 \
  --sampler-seq etmkp \
  --seed 7 \
  --n-predict 512 \
  --reverse-prompt '</s>' \
  --reverse-prompt '\n\n' \
  --spec-type draft-simple \
  --spec-draft-hf meta-llama/Llama-3.1-8B-Instruct \
  --spec-draft-n-max 5 \
  --spec-draft-n-min 0 \
  --spec-draft-p-min 0.0 \
  --spec-draft-sampling probabilistic
