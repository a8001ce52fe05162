"""Transformers: a script with `from_pretrained` and `generate` as a preset. Its literals are read, nothing is run."""

import ast
import re
from typing import Any

from playground.config import SamplingParams
from playground.importers import Imported
from playground.importers import _command as command
from playground.importers._reading import EARLIEST, Reading, Values, dtype, engine_for, left_out_of, taken
from playground.importers._vllm_source import UNREADABLE, Literals, called, parsed
from playground.sentence import Sentence

TITLE = "Transformers"

_FIELDS = {
    "temperature": "temperature", "top_p": "top_p", "top_k": "top_k", "min_p": "min_p",
    "repetition_penalty": "repetition_penalty", "max_new_tokens": "max_tokens", "min_new_tokens": "min_tokens",
    "stop_strings": "stop",
}  # fmt: skip
_SHAPE = re.compile(r"\bassistant_model[ \t]*=|\bprompt_lookup_num_tokens\b|from[ \t]+transformers[ \t]+import")


def recognises(name: str, data: object) -> bool:
    return (
        isinstance(data, str) and bool(_SHAPE.search(code := command.uncommented(data))) and "from_pretrained" in code
    )


def read(name: str, data: object, *, keep_lossy: bool = False) -> Imported:
    """See `Importer`."""
    tree, calls = parsed(name, str(data))
    literals = Literals(tree)
    loaded = _loaded(tree, literals)
    generate = next((call for call in calls if called(call) == "generate"), None)
    if not loaded or generate is None:
        raise command.wrong(name, Sentence("holds no from_pretrained(...) and generate(...)"), Sentence("Paste both."))
    raw = literals.keywords(generate)
    reading = Reading(
        name, {key: value for key, value in raw.items() if value is not UNREADABLE}, keep_lossy=keep_lossy
    )
    drafts = next((word.value.id for word in generate.keywords
                   if word.arg == "assistant_model" and isinstance(word.value, ast.Name)), None)  # fmt: skip
    owner = generate.func.value if isinstance(generate.func, ast.Attribute) else None
    model = owner.id if isinstance(owner, ast.Name) and owner.id in loaded else next(iter(loaded))
    target, number = loaded[model]
    reading.values["dtype"] = number
    speculation = _speculation(reading, loaded.get(drafts or "", ("", None))[0] if drafts else None, tree, literals)
    config: Values = {
        "target": target,
        "dtype": dtype(reading),
        "speculation": speculation,
        "sampling": _sampling(reading, calls, literals),
        "chat": any(called(call) == "apply_chat_template" for call in calls),
        "engine": engine_for({}, speculation),
    }
    _messages(config, calls, literals)
    for key in ("assistant_model", "tokenizer", "**"):
        reading.values.pop(key, None)
    if reading.values:
        reading.said.append(left_out_of("generate", sorted(reading.values)))
    return reading.finish(TITLE, config)


def _loaded(tree: ast.Module, literals: Literals) -> dict[str, tuple[str, Any]]:
    """Variable -> (model, dtype) of every model loaded by `Auto...ForCausalLM.from_pretrained`."""
    found: dict[str, tuple[str, Any]] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call) or not node.value.args:
            continue
        call, name = node.value, node.targets[0]
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if called(call) != "from_pretrained" or not isinstance(name, ast.Name):
            continue
        if isinstance(owner, ast.Name) and "Tokenizer" in owner.id:
            continue
        model = literals.value("model", call.args[0])
        keywords = {word.arg: word.value for word in call.keywords}
        kind = keywords.get("dtype", keywords.get("torch_dtype"))
        number = kind.attr if isinstance(kind, ast.Attribute) else literals.value("dtype", kind) if kind else "auto"
        if isinstance(model, str):
            found[name.id] = (model, number if isinstance(number, str) else "auto")
    return found


def _speculation(reading: Reading, draft: str | None, tree: ast.Module, literals: Literals) -> Values | None:
    values = reading.values
    lookup, longest = values.pop("prompt_lookup_num_tokens", None), values.pop("max_matching_ngram_size", None)
    if lookup is not None:
        options = {"prompt_lookup_max": 2 if longest is None else longest, "prompt_lookup_min": 1, "match": "earliest"}
        if longest is None:
            reading.said.append(
                Sentence("max_matching_ngram_size is not given: {n}, the default there, is taken.", n=2)
            )
        why = Sentence("prompt lookup there matches down to one token")
        reading.said += [taken("prompt_lookup_min", 1, why), taken("match", "earliest", EARLIEST)]
        return {"method": "ngram", "num_speculative_tokens": lookup, "model": None, "options": options}
    if draft is None:
        return None
    k = next((literals.value("k", node.value) for node in ast.walk(tree) if isinstance(node, ast.Assign)
              and isinstance(node.targets[0], ast.Attribute) and node.targets[0].attr == "num_assistant_tokens"),
             values.pop("num_assistant_tokens", None))  # fmt: skip
    if k is None:
        reading.said.append(
            Sentence("num_assistant_tokens is not given: 20, the default, is written out; it also changes by itself.")
        )
    options = {"draft_sample_method": "probabilistic"}
    return {
        "method": "draft_model",
        "num_speculative_tokens": 20 if k is None else k,
        "model": draft,
        "options": options,
    }


def _sampling(reading: Reading, calls: list[ast.Call], literals: Literals) -> Values:
    values = reading.values
    if values.pop("do_sample", None) is not True:
        sampling: Values = {"temperature": 0.0}
        reading.said.append(
            Sentence("do_sample is not on: temperature 0 is taken; top_p, top_k and min_p are not used there.")
        )
        for key in ("temperature", "top_p", "top_k", "min_p"):
            values.pop(key, None)
    else:
        sampling = {"temperature": 1.0, "top_k": 50}
        if "top_k" not in values:
            reading.said.append(Sentence("top_k is not given: 50, the default of generate, is written out."))
    sampling |= {ours: values.pop(theirs) for theirs, ours in _FIELDS.items() if values.get(theirs) is not None}
    seed = next((call for call in calls if called(call) == "set_seed" and call.args), None)
    if seed is not None and isinstance(value := literals.value("seed", seed.args[0]), int):
        sampling["seed"] = value
    if values.pop("eos_token_id", None) == -1:
        sampling["ignore_eos"] = True
    return {key: value for key, value in sampling.items() if key in SamplingParams.model_fields}


def _messages(config: Values, calls: list[ast.Call], literals: Literals) -> None:
    """The conversation given to the chat template: what comes before its last message."""
    call = next((call for call in calls if called(call) == "apply_chat_template" and call.args), None)
    found = literals.value("messages", call.args[0]) if call else None
    said = [m for m in found if isinstance(m, dict)] if isinstance(found, list) else []
    if said and said[0].get("role") == "system":
        config["system_prompt"] = said.pop(0).get("content")
    if len(said) > 1:
        config["history"] = [{"role": m.get("role"), "content": m.get("content")} for m in said[:-1]]
