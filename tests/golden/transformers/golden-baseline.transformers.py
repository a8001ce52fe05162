# golden-baseline, for transformers 5.16 to 5.24. Exported by Draftboard.
# No measurement stands behind this preset.
# Not carried over as it is:
#   engine (approximated): the preset is for the embedded engine; transformers's own kernels and scheduler have
#     other speeds, and may decide a near-tie between two tokens otherwise.
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

TARGET = 'org/model'
DEVICE = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"

tokenizer = AutoTokenizer.from_pretrained(TARGET)
model = AutoModelForCausalLM.from_pretrained(TARGET, dtype='auto')
model.to(DEVICE)

messages = [{'role': 'user', 'content': 'Hello'}]
inputs = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_tensors='pt', return_dict=True)
inputs.to(DEVICE)
output = model.generate(
    **inputs,
    do_sample=False,
    repetition_penalty=1.0,
    max_new_tokens=256,
)
print(tokenizer.decode(output[0, inputs['input_ids'].shape[1] :], skip_special_tokens=True))
