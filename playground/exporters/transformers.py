"""Transformers: a runnable Python script with assisted generation, by a draft model or by prompt lookup.

One prompt at a time, no server. Knows `generate`'s keywords; loads nothing itself.
"""

import ast
from typing import Any

from playground.config import Preset, Speculation
from playground.exporters import Export
from playground.exporters._ledger import (
    Ledger,
    is_gguf,
    measured_dtype,
    method_of,
    needs_draft,
    no_such_method,
    put_engine,
)
from playground.exporters._server import head, messages
from playground.sentence import Sentence

TITLE = "Transformers"

VERSIONS = Sentence("transformers 5.16 to 5.24")

METHODS = ("draft_model", "ngram")

_GGUF = Sentence("a GGUF needs from_pretrained(folder, gguf_file=...): name a folder instead")
_RELATIVES = {
    "quantization": "quantization_config",
    "tensor_parallel_size": "tp_plan",
    "pipeline_parallel_size": "device_map",
    "kv_cache_dtype": "cache_implementation",
}


def export(preset: Preset) -> Export:
    """See `Exporter`. Raises PlaygroundError for any method but `METHODS`."""
    books = translate(preset)
    text = head(preset, VERSIONS, books.losses) + _script(preset, books.values)
    ast.parse(text)
    name = f"{preset.name}.transformers.py"
    return Export(
        files={name: text},
        command=f"python {name}",
        losses=tuple(books.losses),
        versions=VERSIONS,
        checked_by=Sentence("{program}'s own parser", program="Python"),
        written=books.written,
    )


def translate(preset: Preset) -> Ledger:
    """`values`: "load" of the target, "draft", "generate" keywords."""
    config, books = preset.config, Ledger(preset, "transformers", _RELATIVES)
    put_engine(books)
    books.put("target", config.target, "target")
    books.put("dtype", measured_dtype(preset), "dtype")
    if is_gguf(config.target):
        books.lose(
            "target",
            "needs-input",
            _GGUF,
        )
    elif "/" not in config.target and not books.named("target"):
        books.lose("target", "needs-input", _only_a_name(config.target))
    _sampling(books)
    if config.speculation is None:
        books.say("speculation", "no assistant")
    else:
        _speculation(config.speculation, books)
    for name in ("system_prompt", "history") if config.chat else ():
        books.say(name, "the messages")
    books.say("chat", "apply_chat_template" if config.chat else "the bare prompt")
    books.settle()
    return books


def _sampling(books: Ledger) -> None:
    sampling = books.config.sampling
    books.values["generate"] = {}
    if sampling.greedy:
        books.put("sampling.temperature", False, "generate.do_sample")
        for name in ("top_p", "top_k", "min_p"):
            books.say(f"sampling.{name}", "greedy: not used")
    else:
        books.values["generate"]["do_sample"] = True
        for name in ("temperature", "top_p", "top_k"):
            books.put(f"sampling.{name}", getattr(sampling, name), f"generate.{name}")
        if sampling.min_p:
            books.put("sampling.min_p", sampling.min_p, "generate.min_p")
    books.put("sampling.repetition_penalty", sampling.repetition_penalty, "generate.repetition_penalty")
    books.put("sampling.max_tokens", sampling.max_tokens, "generate.max_new_tokens")
    if sampling.min_tokens:
        books.put("sampling.min_tokens", sampling.min_tokens, "generate.min_new_tokens")
    if sampling.stop:
        books.put("sampling.stop", list(sampling.stop), "generate.stop_strings")
    if sampling.seed is not None:
        books.put("sampling.seed", sampling.seed % 2**32, "seed")
        if sampling.seed >= 2**32:
            books.lose("sampling.seed", "approximated", Sentence("set_seed takes 32 bits: the lower ones are written"))
    for name in ("presence_penalty", "frequency_penalty"):
        if getattr(sampling, name):
            books.lose(f"sampling.{name}", "dropped", Sentence("generate has no such penalty"))


def _speculation(spec: Speculation, books: Ledger) -> None:
    method, k = method_of(spec), spec.num_speculative_tokens
    if method not in METHODS:
        raise no_such_method("transformers", method, METHODS)
    books.say("speculation.method", "assistant_model" if method == "draft_model" else "prompt_lookup_num_tokens")
    if method == "ngram":
        books.put("speculation.num_speculative_tokens", k, "generate.prompt_lookup_num_tokens")
        longest = spec.options.get("prompt_lookup_max") or 5
        books.put("speculation.options.prompt_lookup_max", longest, "generate.max_matching_ngram_size")
        for name, reason in (
            ("prompt_lookup_min", Sentence("prompt lookup there matches down to one token")),
            ("match", Sentence("prompt lookup there takes the earliest match")),
        ):
            if spec.options.get(name) not in (None, "earliest"):
                books.lose(f"speculation.options.{name}", "dropped", reason)
        if spec.options.get("match") == "earliest":
            books.say("speculation.options.match", "its own way")
        if spec.model is not None:
            books.lose("speculation.model", "dropped", Sentence("{method} drafts without a model", method=method))
        return
    if spec.model is None:
        raise needs_draft(method)
    books.put("speculation.model", spec.model, "draft")
    if is_gguf(spec.model):
        books.lose("speculation.model", "needs-input", _GGUF)
    elif "/" not in spec.model and not books.named("speculation.model"):
        books.lose("speculation.model", "needs-input", _only_a_name(spec.model))
    books.put("speculation.num_speculative_tokens", k, "k")
    books.values["least"] = 0.0
    if least := spec.options.get("draft_p_min"):
        books.put("speculation.options.draft_p_min", float(least), "least")
        books.lose(
            "speculation.options.draft_p_min",
            "approximated",
            Sentence(
                "transformers still drafts the token that the draft was unsure of, then stops; where scikit-learn is "
                "installed it moves the threshold as it goes"
            ),
        )
    if (how := spec.options.get("draft_sample_method")) == "greedy":
        books.lose(
            "speculation.options.draft_sample_method",
            "approximated",
            Sentence("the assistant samples as the target does, so at a temperature other tokens are drafted"),
        )
    elif how is not None:
        books.say("speculation.options.draft_sample_method", "its own way")


def _only_a_name(model: str) -> Sentence:
    return Sentence("“{model}” is only a name here: name a folder or hub id", model=model)


def _script(preset: Preset, values: dict[str, Any]) -> str:
    config, draft = preset.config, values.get("draft")
    lines = [
        "from transformers import AutoModelForCausalLM, AutoTokenizer" + (", set_seed" if "seed" in values else "")
    ]
    lines = ["import torch", *lines, "", f"TARGET = {values['target']!r}"]
    lines += [f"DRAFT = {draft!r}"] if draft else []
    lines += ['DEVICE = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"']
    lines += ["", "tokenizer = AutoTokenizer.from_pretrained(TARGET)"]
    lines += [f"model = AutoModelForCausalLM.from_pretrained(TARGET, dtype={values['dtype']!r})", "model.to(DEVICE)"]
    if draft:
        lines += [
            f"draft = AutoModelForCausalLM.from_pretrained(DRAFT, dtype={values['dtype']!r})",
            "draft.to(DEVICE)",
            "# The default schedule changes k, and the default threshold stops where the draft is unsure.",
            f"draft.generation_config.num_assistant_tokens = {values['k']}",
            'draft.generation_config.num_assistant_tokens_schedule = "constant"',
            f"draft.generation_config.assistant_confidence_threshold = {values['least']!r}",
        ]
    lines += [f"set_seed({values['seed']})"] if "seed" in values else []
    if config.chat:
        asked = "messages, add_generation_prompt=True, return_tensors='pt', return_dict=True"
        lines += ["", f"messages = {messages(config)!r}", f"inputs = tokenizer.apply_chat_template({asked})"]
    else:
        lines += ["", "inputs = tokenizer('Hello', return_tensors='pt')"]
    lines += ["inputs.to(DEVICE)"]
    given = {"assistant_model": "draft"} if draft else {}
    given |= {key: repr(value) for key, value in values["generate"].items()}
    given |= {"tokenizer": "tokenizer"} if "stop_strings" in values["generate"] else {}
    if config.sampling.ignore_eos:
        given["eos_token_id"] = "-1"  # no token: it goes on to the end
    lines += [
        "output = model.generate(",
        "    **inputs,",
        *(f"    {key}={value}," for key, value in given.items()),
        ")",
    ]
    lines += ["print(tokenizer.decode(output[0, inputs['input_ids'].shape[1] :], skip_special_tokens=True))"]
    return "\n".join(lines) + "\n"
