#!/bin/sh
# golden-draft, for TensorRT-LLM 1.2 (PyTorch backend). Exported by Draftboard.
# A 70B with its 8B.
# model: this line must stay a comment
# Measured 1.87×: faster with speculation than without.
# Measured 2026-11-29, runs: 01J0BASE, 01J0SPEC.
#   metrics: speedup = 1.871×; draft_acceptance_rate = 0.713; acceptance_by_position = [0.9, 0.6, n/a]
#   hardware: device = 4x NVIDIA H200
#   versions: vllm = 0.32.0
# Not carried over as it is:
#   engine (approximated): the preset is for the vllm engine; TensorRT-LLM's own kernels and scheduler have
#     other speeds, and may decide a near-tie between two tokens otherwise.
#   engine_options.gpu_memory_utilization (approximated): 0.9 was a share of the whole GPU; here the share is of
#     what is left beside the weights, and its own default 0.9 is written.
#   sampling.temperature (approximated): above 0 a draft token is kept only if the target samples the very same
#     one: the law of the output is the same, but fewer are accepted than by rejection sampling; the temperature
#     itself: it can only be sent with each request, as the request file does.
#   engine_options.max_num_seqs (needs-input): the preset leaves it open; 256 is written: size max_batch_size to
#     your load.
#   speculation.options.draft_tensor_parallel_size, speculation.options.draft_sample_method (dropped):
#     TensorRT-LLM has no such setting.
#   sampling.top_p, sampling.top_k, sampling.max_tokens, sampling.seed, sampling.stop, system_prompt (dropped):
#     a server has no default for it: it can only be sent with each request, as the request file does.
trtllm-serve meta-llama/Llama-3.3-70B-Instruct \
  --backend pytorch \
  --config golden-draft.trtllm.yaml
