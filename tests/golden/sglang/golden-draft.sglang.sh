#!/bin/sh
# golden-draft, for SGLang 0.5.23. Exported by Draftboard.
# A 70B with its 8B.
# model: this line must stay a comment
# Measured 1.87×: faster with speculation than without.
# Measured 2026-11-29, runs: 01J0BASE, 01J0SPEC.
#   metrics: speedup = 1.871×; draft_acceptance_rate = 0.713; acceptance_by_position = [0.9, 0.6, n/a]
#   hardware: device = 4x NVIDIA H200
#   versions: vllm = 0.32.0
# Not carried over as it is:
#   engine (approximated): the preset is for the vllm engine; SGLang's own kernels and scheduler have other
#     speeds, and may decide a near-tie between two tokens otherwise.
#   engine_options.max_num_seqs (approximated): the preset leaves it open; 48, SGLang's own with speculation, is
#     written.
#   engine_options.gpu_memory_utilization (approximated): 0.9 was a share for everything; SGLang's
#     mem-fraction-static is for weights and KV cache alone: it is left to SGLang's own estimate.
#   sampling.temperature, sampling.top_p, sampling.top_k, sampling.max_tokens, sampling.stop, sampling.seed
#     (approximated): as a default it reaches only the native /generate; requests to the OpenAI endpoints must
#     send it.
#   speculation.options.draft_tensor_parallel_size, speculation.options.draft_sample_method (dropped): SGLang
#     has no such setting.
#   system_prompt (dropped): a server has no default for it: it can only be sent with each request, as the
#     request file does.
python3 -m sglang.launch_server \
  --model-path meta-llama/Llama-3.3-70B-Instruct \
  --dtype bfloat16 \
  --tp-size 4 \
  --context-length 8192 \
  --max-running-requests 48 \
  --sampling-defaults openai \
  --preferred-sampling-params '{"temperature": 0.7, "top_p": 0.9, "top_k": 40, "min_p": 0.0, "repetition_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0, "max_new_tokens": 512, "stop": ["</s>", "\n\n"], "sampling_seed": 7}' \
  --speculative-algorithm STANDALONE \
  --speculative-draft-model-path meta-llama/Llama-3.1-8B-Instruct \
  --speculative-num-steps 5 \
  --speculative-eagle-topk 1 \
  --speculative-num-draft-tokens 6
