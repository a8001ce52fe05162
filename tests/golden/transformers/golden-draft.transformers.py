# golden-draft, for transformers 5.16 to 5.24. Exported by Draftboard.
# A 70B with its 8B.
# model: this line must stay a comment
# Measured 1.87×: faster with speculation than without.
# Measured 2026-11-29, runs: 01J0BASE, 01J0SPEC.
#   metrics: speedup = 1.871×; draft_acceptance_rate = 0.713; acceptance_by_position = [0.9, 0.6, n/a]
#   hardware: device = 4x NVIDIA H200
#   versions: vllm = 0.32.0
# Not carried over as it is:
#   engine (approximated): the preset is for the vllm engine; transformers's own kernels and scheduler have
#     other speeds, and may decide a near-tie between two tokens otherwise.
#   engine_options.tensor_parallel_size (dropped): transformers has no setting that means the same; nearest is
#     tp_plan.
#   engine_options.max_model_len, engine_options.gpu_memory_utilization,
#     speculation.options.draft_tensor_parallel_size (dropped): transformers has no such setting.
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, set_seed

TARGET = 'meta-llama/Llama-3.3-70B-Instruct'
DRAFT = 'meta-llama/Llama-3.1-8B-Instruct'
DEVICE = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"

tokenizer = AutoTokenizer.from_pretrained(TARGET)
model = AutoModelForCausalLM.from_pretrained(TARGET, dtype='bfloat16')
model.to(DEVICE)
draft = AutoModelForCausalLM.from_pretrained(DRAFT, dtype='bfloat16')
draft.to(DEVICE)
# The default schedule changes k, and the default threshold stops where the draft is unsure.
draft.generation_config.num_assistant_tokens = 5
draft.generation_config.num_assistant_tokens_schedule = "constant"
draft.generation_config.assistant_confidence_threshold = 0.0
set_seed(7)

messages = [{'role': 'system', 'content': 'Answer in one line.'}, {'role': 'user', 'content': 'Hello'}]
inputs = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_tensors='pt', return_dict=True)
inputs.to(DEVICE)
output = model.generate(
    **inputs,
    assistant_model=draft,
    do_sample=True,
    temperature=0.7,
    top_p=0.9,
    top_k=40,
    repetition_penalty=1.0,
    max_new_tokens=512,
    stop_strings=['</s>', '\n\n'],
    tokenizer=tokenizer,
)
print(tokenizer.decode(output[0, inputs['input_ids'].shape[1] :], skip_special_tokens=True))
