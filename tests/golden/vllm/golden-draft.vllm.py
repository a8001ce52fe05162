# golden-draft, for vLLM 0.32. Exported by Draftboard.
# A 70B with its 8B.
# model: this line must stay a comment
# Measured 1.87×: faster with speculation than without.
# Measured 2026-11-29, runs: 01J0BASE, 01J0SPEC.
#   metrics: speedup = 1.871×; draft_acceptance_rate = 0.713; acceptance_by_position = [0.9, 0.6, n/a]
#   hardware: device = 4x NVIDIA H200
#   versions: vllm = 0.32.0
# Not carried over as it is:
#   speculation.options.draft_tensor_parallel_size (approximated): in vLLM a draft model must run on as many
#     devices as the target, so 1 is left out.
from vllm import LLM, SamplingParams


def main():
    llm = LLM(
        model='meta-llama/Llama-3.3-70B-Instruct',
        dtype='bfloat16',
        seed=0,
        tensor_parallel_size=4,
        gpu_memory_utilization=0.9,
        max_model_len=8192,
        generation_config='vllm',
        speculative_config={'method': 'draft_model', 'model': 'meta-llama/Llama-3.1-8B-Instruct', 'num_speculative_tokens': 5, 'draft_sample_method': 'probabilistic'},
    )
    sampling = SamplingParams(
        temperature=0.7,
        top_p=0.9,
        top_k=40,
        min_p=0.0,
        repetition_penalty=1.0,
        presence_penalty=0.0,
        frequency_penalty=0.0,
        max_tokens=512,
        seed=7,
        stop=['</s>', '\n\n'],
    )
    print(llm.chat([{'role': 'system', 'content': 'Answer in one line.'}, {'role': 'user', 'content': 'Hello'}], sampling)[0].outputs[0].text)


if __name__ == "__main__":
    main()
