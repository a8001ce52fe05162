# golden-ngram, for transformers 5.16 to 5.24. Exported by Draftboard.
# No measurement stands behind this preset.
# Not carried over as it is:
#   engine (approximated): the preset is for the embedded engine; transformers's own kernels and scheduler have
#     other speeds, and may decide a near-tie between two tokens otherwise.
#   target (needs-input): “smollm2-135m” is only a name here: name a folder or hub id.
#   speculation.options.prompt_lookup_min (dropped): prompt lookup there matches down to one token.
#   speculation.options.match (dropped): prompt lookup there takes the earliest match.
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

TARGET = 'smollm2-135m'
DEVICE = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"

tokenizer = AutoTokenizer.from_pretrained(TARGET)
model = AutoModelForCausalLM.from_pretrained(TARGET, dtype='float32')
model.to(DEVICE)

inputs = tokenizer('Hello', return_tensors='pt')
inputs.to(DEVICE)
output = model.generate(
    **inputs,
    do_sample=True,
    temperature=1.0,
    top_p=1.0,
    top_k=0,
    min_p=0.05,
    repetition_penalty=1.0,
    max_new_tokens=256,
    prompt_lookup_num_tokens=8,
    max_matching_ngram_size=4,
)
print(tokenizer.decode(output[0, inputs['input_ids'].shape[1] :], skip_special_tokens=True))
