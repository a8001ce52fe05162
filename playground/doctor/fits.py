"""Why an engine can or cannot run a pair, and the fix: code -> (reason, fix), in English. Knows no engine and no model.

The page's Chinese has the same codes and parameters.
"""

REASONS: dict[str, tuple[str, str]] = {
    "runs": ("It runs this pair.", ""),
    "runs_by_rules": ("Nothing in its rules speaks against this pair.", ""),
    "broken": ("{model} cannot be loaded. {why}", "{fix}"),
    "no_such_method": (
        "It has no method for an {kind} head.",
        "Use an engine that has one, or a draft model with the target's tokenizer.",
    ),
    "vocabulary": (
        "It needs the same tokens in both; {n} differ, the first is id {id}.",
        "Choose a draft of the target's family with the same tokenizer, or a method without a model.",
    ),
    "vocabulary_unknown": ("The vocabularies could not be compared.", "Give folders that hold a tokenizer.json."),
    "stateful": (
        "{model} keeps a state that cannot be rewound.",
        "Choose a model with attention layers only, or run the target without speculation.",
    ),
    "remote_code": (
        "{model} brings Python of its own.",
        "An operator who has read it may set DRAFTBOARD_TRUST_REMOTE_CODE=true.",
    ),
    "needs_package": (
        "{model} is quantised with {method}, which needs the package {package}.",
        "pip install {package}",
    ),
    "unknown_quantization": (
        "{model} is quantised with {method}, which this engine may not read here.",
        "Take the model unquantised if it refuses.",
    ),
    "no_gguf": ("It reads no GGUF files.", "Take the safetensors folder of the same model."),
    "needs_gguf": (
        "It reads GGUF files only.",
        "Convert {model} with llama.cpp's convert_hf_to_gguf.py, or download its GGUF.",
    ),
    "needs_gguf_head": (
        "It reads GGUF files only.",
        "Convert the head with convert_hf_to_gguf.py --target-model-dir TARGET.",
    ),
    "vllm_sizes": (
        "It compares vocabulary sizes only, and {target} and {draft} logits differ.",
        "The setting maps tokens by their strings; drafts must be greedy.",
    ),
    "vllm_strings": (
        "It compares sizes only and would start, but {n} ids mean other strings to the draft.",
        "The setting maps tokens by their strings; drafts must be greedy.",
    ),
    "needs_nvidia": ("Nothing in its rules speaks against this pair; it needs an NVIDIA GPU.", ""),
    "sglang_sizes": (
        "STANDALONE refuses unequal vocabulary sizes ({target} and {draft}), padding included.",
        "Pad the smaller model's embedding and vocab_size to the larger one's.",
    ),
    "sglang_context": (
        "The draft is run with the target's context, longer than its own {draft} tokens.",
        "The setting limits both to the draft's window.",
    ),
    "llama_size": (
        "It refuses vocabularies that differ by more than {most} tokens ({target} and {draft}).",
        "Choose a draft of the target's family.",
    ),
    "llama_token": (
        "It compares every token from id {first} on; id {id} differs (“{target}”, “{draft}”).",
        "Choose a draft of the target's family with the same tokenizer.",
    ),
    "llama_special": (
        "It adds {role} to prompts and needs the same one in both.",
        "Set tokenizer.ggml.{role}_token_id alike with gguf_set_metadata.py, or choose another draft.",
    ),
    "llama_kind": (
        "It needs the same kind of tokenizer in both ({target} and {draft}).",
        "Choose a draft of the target's family.",
    ),
    "llama_setting": ("It runs this pair; a plain -md would load the draft and not use it.", ""),
    "trt_head": ("TensorRT-LLM reads EAGLE-3 heads; EAGLE 1 and 2 are refused.", "Use an EAGLE-3 head."),
    "as_head": ("It runs this head.", ""),
}
