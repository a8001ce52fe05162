# golden-ngram, for vLLM 0.32. Exported by Draftboard.
# No measurement stands behind this preset.
# Not carried over as it is:
#   engine (approximated): the preset is for the embedded engine; vLLM's own kernels and scheduler have other
#     speeds, and may decide a near-tie between two tokens otherwise.
#   target (needs-input): “smollm2-135m” is only a name here: name the model's folder or hub id on the server.
#   speculation.options.match (approximated): vLLM takes the earliest match, so other tokens are drafted; the
#     output is the same.
from vllm import LLM, SamplingParams


def main():
    llm = LLM(
        model='smollm2-135m',
        dtype='float32',
        seed=0,
        tensor_parallel_size=1,
        gpu_memory_utilization=0.92,
        generation_config='vllm',
        speculative_config={'method': 'ngram', 'num_speculative_tokens': 8, 'prompt_lookup_min': 2, 'prompt_lookup_max': 4},
    )
    sampling = SamplingParams(
        temperature=1.0,
        top_p=1.0,
        top_k=0,
        min_p=0.05,
        repetition_penalty=1.0,
        presence_penalty=0.0,
        frequency_penalty=0.0,
        max_tokens=256,
    )
    print(llm.generate(['Hello'], sampling)[0].outputs[0].text)


if __name__ == "__main__":
    main()
