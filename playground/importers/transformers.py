"""Transformers: a script with `from_pretrained` and `generate` as a preset. Its literals are read, nothing is run."""

import ast
import re
from typing import Any

from pydantic import BaseModel, Field

from playground.config import SamplingParams
from playground.importers import Imported
from playground.importers import _command as command
from playground.importers._python import UNREADABLE, Literals, Unread, called, parsed
from playground.importers._reading import EARLIEST, Reading, Values, dtype, engine_for, taken
from playground.sentence import Sentence

TITLE = "Transformers"

_CONFIDENCE = 0.4
"""assistant_confidence_threshold where nothing is said."""

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
    generates = [call for call in calls if called(call) == "generate"]
    if not loaded or not generates:
        raise command.wrong(name, Sentence("holds no from_pretrained(...) and generate(...)"), Sentence("Paste both."))
    asked = [_asked(literals, call) for call in generates]
    chosen = next((i for i, (found, unread) in enumerate(asked) if _may_speculate(literals, found, unread)), 0)
    generate, (found, unread) = generates[chosen], asked[chosen]
    draft, unread = _draft(unread, loaded)
    target = _target(name, generate, loaded, draft)
    for owner, key, node in _attributes(tree):
        value = literals.value(node)
        if owner != draft and owner in loaded and owner != target:
            continue  # of a model that this call does not use
        if owner == draft and draft is not None and key not in _OF_DRAFT:
            continue  # an assistant samples as the target does
        if value is UNREADABLE:
            unread.append(literals.unread(key, node))
        elif key in _OF_DRAFT or key not in found:  # the draft's own is what counts; of the target's, generate's
            found[key] = value
    if wrong := [one for one in unread if one.key in _DRAFTING or _hides(literals, one)]:
        raise wrong[0].refused(name)
    reading = Reading(name, found, keep_lossy=keep_lossy)
    if len(generates) > 1:
        reading.said.append(
            Sentence("Of {n} calls the one in line {line} is read.", n=len(generates), line=generate.lineno)
        )
    reading.said += [one.left_out() for one in unread if one.key not in {"**", *_INPUTS}]
    model, number = loaded[target]
    reading.values["dtype"] = number
    speculation = _speculation(reading, loaded[draft][0] if draft else None)
    config: Values = {
        "target": model,
        "dtype": dtype(reading),
        "speculation": speculation,
        "sampling": _sampling(reading, calls, literals),
        "chat": any(called(call) == "apply_chat_template" for call in calls),
        "engine": engine_for({}, speculation),
    }
    _messages(config, calls, literals)
    for key in ("assistant_model", *_INPUTS):
        reading.values.pop(key, None)
    if reading.values:
        reading.left_out_of("generate", sorted(reading.values))
    return reading.finish(TITLE, config)


_OF_DRAFT = {"num_assistant_tokens", "num_assistant_tokens_schedule", "assistant_confidence_threshold"}
"""What an assistant reads from a generation_config of its own."""
_DRAFTING = {"assistant_model", "prompt_lookup_num_tokens", "max_matching_ngram_size", *_OF_DRAFT}
_INPUTS = {
    "inputs", "input_ids", "attention_mask", "streamer", "tokenizer", "assistant_tokenizer", "pad_token_id",
}  # fmt: skip
"""Keywords of generate that bring text in or out, and say nothing of how it is made."""


def _asked(literals: Literals, call: ast.Call) -> tuple[Values, list[Unread]]:
    """The keywords of a generate(...), those of its GenerationConfig(...) beneath them."""
    found, unread = literals.keywords(call)
    for one in [one for one in unread if one.key == "generation_config"]:
        config = literals.behind(one.node)
        if isinstance(config, ast.Call) and called(config) == "GenerationConfig":
            beneath, more = literals.keywords(config)
            found = beneath | found
            unread = [*(other for other in unread if other is not one), *(a for a in more if a.key not in found)]
    return found, unread


def _attributes(tree: ast.Module) -> list[tuple[str, str, ast.expr]]:
    """(whose, key, value) of what is set afterwards: `draft.generation_config.num_assistant_tokens = 5`."""
    assigned = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)]
    targets = [(target, node.value) for node in assigned for target in node.targets]
    found = []
    for target, value in targets:
        match target:
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id=owner), attr="generation_config"), attr=key):
                found.append((owner, key, value))
            case ast.Attribute(attr=key) if key in _DRAFTING:
                found.append(("", key, value))
    return found


def _hides(literals: Literals, one: Unread) -> bool:
    """Whether an unread mapping may hold what drafts. What another call returned holds a prompt's tokens."""
    return one.key in ("**", "generation_config") and not called(literals.behind(one.node))


def _may_speculate(literals: Literals, found: Values, unread: list[Unread]) -> bool:
    given = {key for key, value in found.items() if value is not None} | {one.key for one in unread}
    return bool(given & _DRAFTING) or any(_hides(literals, one) for one in unread)


def _draft(unread: list[Unread], loaded: dict[str, tuple[str, Any]]) -> tuple[str | None, list[Unread]]:
    """The variable that holds the draft model, and what else is unread."""
    for one in unread:
        if one.key == "assistant_model" and one.text in loaded:
            return one.text, [other for other in unread if other is not one]
    return None, unread


def _target(name: str, generate: ast.Call, loaded: dict[str, tuple[str, Any]], draft: str | None) -> str:
    """The variable that holds the target model. Raises PlaygroundError where its name is not in the snippet."""
    owner = generate.func.value if isinstance(generate.func, ast.Attribute) else None
    if isinstance(owner, ast.Name) and owner.id in loaded:
        return owner.id
    others = [title for title in loaded if title != draft]
    if len(others) != 1:
        raise command.wrong(
            Sentence("{name}, line {line}", name=name, line=generate.lineno),
            Sentence("calls generate(...) of a model that no from_pretrained(...) here names"),
            Sentence("Paste the from_pretrained(...) of the target model with its name as text."),
        )
    return others[0]


def _loaded(tree: ast.Module, literals: Literals) -> dict[str, tuple[str, Any]]:
    """Variable -> (model, dtype) of every model loaded by `Auto...ForCausalLM.from_pretrained`."""
    found: dict[str, tuple[str, Any]] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        call, name = _first_call(node.value), node.targets[0]
        if not isinstance(call, ast.Call) or called(call) != "from_pretrained" or not call.args:
            continue
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if isinstance(owner, ast.Name) and any(kind in owner.id for kind in ("Tokenizer", "Config", "Processor")):
            continue
        model = literals.value(call.args[0])
        keywords = {word.arg: word.value for word in call.keywords}
        kind = keywords.get("dtype", keywords.get("torch_dtype"))
        number = kind.attr if isinstance(kind, ast.Attribute) else literals.value(kind) if kind else "auto"
        if isinstance(model, str):
            found[name.id] = (model, number if isinstance(number, str) else "auto")
    return found


def _first_call(node: ast.expr) -> ast.expr:
    """The call at the start of a chain: `from_pretrained(...)` of `from_pretrained(...).to("cuda").eval()`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call):
        node = node.func.value
    return node


def _speculation(reading: Reading, draft: str | None) -> Values | None:
    values = reading.values
    lookup, longest = values.pop("prompt_lookup_num_tokens", None), values.pop("max_matching_ngram_size", None)
    if lookup is not None:
        options: Values = {
            "prompt_lookup_max": 2 if longest is None else longest,
            "prompt_lookup_min": 1,
            "match": "earliest",
        }
        if longest is None:
            reading.said.append(
                Sentence("max_matching_ngram_size is not given: {n}, the default there, is taken.", n=2)
            )
        why = Sentence("prompt lookup there matches down to one token")
        reading.said += [taken("prompt_lookup_min", 1, why), taken("match", "earliest", EARLIEST)]
        return {"method": "ngram", "num_speculative_tokens": lookup, "model": None, "options": options}
    if draft is None:
        return None
    k = values.pop("num_assistant_tokens", None)
    if k is None:
        reading.said.append(
            Sentence("num_assistant_tokens is not given: 20, the default, is written out; it also changes by itself.")
        )
    options = {"draft_sample_method": "probabilistic"}
    if (stop := _early_stop(reading)) > 0:
        options["draft_p_min"] = stop
    return {
        "method": "draft_model",
        "num_speculative_tokens": 20 if k is None else k,
        "model": draft,
        "options": options,
    }


def _early_stop(reading: Reading) -> float:
    """The probability below which the assistant ends its draft."""
    schedule = reading.text("num_assistant_tokens_schedule")
    if schedule not in (None, "constant"):
        why = Sentence("presets hold one draft length for every load")
        reading.leave("num_assistant_tokens_schedule", why)
    given = reading.values.pop("assistant_confidence_threshold", None)
    if given is None:
        reading.said.append(
            Sentence("assistant_confidence_threshold is not given: {p:g}, the default there, is taken.", p=_CONFIDENCE)
        )
        return _CONFIDENCE
    read: _EarlyStop = reading.checked(_EarlyStop, {"assistant_confidence_threshold": given})
    return read.assistant_confidence_threshold


class _EarlyStop(BaseModel):
    assistant_confidence_threshold: float = Field(ge=0, le=1)


def _sampling(reading: Reading, calls: list[ast.Call], literals: Literals) -> Values:
    values = reading.values
    if reading.switch("do_sample") is not True:
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
    if seed is not None and isinstance(value := literals.value(seed.args[0]), int):
        sampling["seed"] = value
    if values.pop("eos_token_id", None) == -1:
        sampling["ignore_eos"] = True
    return {key: value for key, value in sampling.items() if key in SamplingParams.model_fields}


def _messages(config: Values, calls: list[ast.Call], literals: Literals) -> None:
    """The conversation given to the chat template: what comes before its last message."""
    call = next((call for call in calls if called(call) == "apply_chat_template" and call.args), None)
    found = literals.value(call.args[0]) if call else None
    said = [m for m in found if isinstance(m, dict)] if isinstance(found, list) else []
    if said and said[0].get("role") == "system":
        config["system_prompt"] = said.pop(0).get("content")
    if len(said) > 1:
        config["history"] = [{"role": m.get("role"), "content": m.get("content")} for m in said[:-1]]
