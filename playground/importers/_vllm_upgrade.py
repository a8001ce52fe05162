"""Older spellings of vLLM's configuration brought up to vLLM 0.32, one sentence for each change.

Works on plain mappings with underscored keys. Knows names and their history; builds no preset.
"""

from typing import Any

from playground.errors import PlaygroundError
from playground.exporters._vllm_schema import CACHED_REQUESTS
from playground.importers._reading import other_name
from playground.importers._values import text_of, underscored
from playground.sentence import Sentence

Values = dict[str, Any]

MOVED_INSIDE = {
    "num_speculative_tokens": "num_speculative_tokens",
    "ngram_prompt_lookup_max": "prompt_lookup_max",
    "ngram_prompt_lookup_min": "prompt_lookup_min",
    "speculative_draft_tensor_parallel_size": "draft_tensor_parallel_size",
    "speculative_max_model_len": "max_model_len",
    "speculative_model_quantization": "quantization",
    "spec_method": "method",
    "spec_model": "model",
    "spec_tokens": "num_speculative_tokens",
}
"""Top-level keys of old releases (and of the new shortcuts) -> keys of speculative_config."""

LOSSY = "spec_decoding_acceptance_method"
_TYPICAL = Sentence("belonged to typical acceptance, which changed the output")
DROPPED = {
    "use_v2_block_manager": Sentence("the only block manager there is now"),
    "speculative_disable_mqa_scorer": Sentence("an implementation detail that is gone"),
    "speculative_token_tree": Sentence("token trees are gone; drafts are chains"),
    "disable_logprobs_during_spec_decoding": Sentence("log-probabilities no longer cost extra"),
    "speculative_disable_by_batch_size": Sentence(
        "gone; num_speculative_tokens_per_batch_size takes its place, set it by hand"
    ),
    LOSSY: Sentence("only exact acceptance is left"),
    "typical_acceptance_sampler_posterior_threshold": _TYPICAL,
    "typical_acceptance_sampler_posterior_alpha": _TYPICAL,
}
DROPPED_INSIDE = {
    "disable_by_batch_size": DROPPED["speculative_disable_by_batch_size"],
    "acceptance_method": DROPPED[LOSSY],
    "posterior_threshold": DROPPED["typical_acceptance_sampler_posterior_threshold"],
    "posterior_alpha": DROPPED["typical_acceptance_sampler_posterior_alpha"],
    "disable_logprobs": DROPPED["disable_logprobs_during_spec_decoding"],
    "disable_mqa_scorer": DROPPED["speculative_disable_mqa_scorer"],
    "speculative_token_tree": DROPPED["speculative_token_tree"],
}
NGRAM_NAMES = ("[ngram]", "ngram")
OLD_SHORTEST = 1
"""ngram_prompt_lookup_min of vLLM 0.6 and 0.7 where it was left open; prompt_lookup_min today is the longest's."""
TREE_DEPTH, MAX_K = 24, 64
"""vLLM's default of suffix_decoding_max_tree_depth, which is k where that is open; the largest k of a preset."""


def upgrade(name: str, values: Values, *, keep_lossy: bool = False) -> tuple[Values, list[Sentence]]:
    """(the values as vLLM 0.32 has them, the sentences).

    Raises:
        PlaygroundError: old and new spelling disagree, or it asks for text that is wrong on purpose.
    """
    said: list[Sentence] = []
    values = dict(values)
    inner = _inside(name, values.pop("speculative_config", None))
    _lossy(name, values, inner, keep_lossy)
    _drop(values, DROPPED, said)
    looked_up = values.get("speculative_model") in NGRAM_NAMES
    if "speculative_model" in values:
        _speculative_model(name, values.pop("speculative_model"), inner, said)
    for old, new in MOVED_INSIDE.items():
        if old in values:
            _move(name, values.pop(old), old, new, inner, said)
    if looked_up and "prompt_lookup_max" in inner and "prompt_lookup_min" not in inner:
        inner["prompt_lookup_min"] = OLD_SHORTEST
        said.append(Sentence("prompt_lookup_min is not given: {n}, the default then, is written out.", n=OLD_SHORTEST))
    if inner:
        _drop(inner, DROPPED_INSIDE, said)
        _synthetic(name, inner, keep_lossy, said)
        _method(name, inner, said)
        _lookup(inner, said)
        if inner.get("method") == "suffix":
            _suffix(inner, said)
        values["speculative_config"] = inner
    _dtype(name, values, said)
    return values, said


def _inside(name: str, config: Any) -> Values:
    where = Sentence("{name}, {key}", name=name, key="speculative_config")
    inner = config if isinstance(config, dict) else {}
    return underscored(inner, lambda key: Sentence("{name}, {key}", name=where, key=key))


def _lossy(name: str, values: Values, inner: Values, keep: bool) -> None:
    """Typical acceptance took tokens the target would not have chosen: whoever had it must know that it is gone."""
    for found, key in ((values, LOSSY), (inner, "acceptance_method")):
        if _typical(found.get(key)):
            what = Sentence(
                "{key} {value} accepted tokens that the target would not choose", key=key, value=f"{found[key]!s:.40}"
            )
            if not keep:
                raise PlaygroundError(
                    Sentence(
                        "{name}: {what}; vLLM has exact acceptance only by now, so its output will be another.",
                        name=name,
                        what=what,
                    ),
                    Sentence("Remove it, or import it knowingly (--keep-lossy), with exact acceptance in its place."),
                    code="changes_output",
                )


def _typical(value: Any) -> bool:
    """In any letters, and also where something stands around it: the gate must not depend on spelling."""
    return "typical" in str(value).casefold()


def _synthetic(name: str, inner: Values, keep: bool, said: list[Sentence]) -> None:
    keys = [key for key in inner if key.startswith("synthetic")]
    if "synthetic" in str(inner.get("rejection_sample_method")).casefold():
        keys.append("rejection_sample_method")
    if not keys:
        return
    if not keep:
        raise PlaygroundError(
            Sentence("{name}: synthetic acceptance writes text that is wrong on purpose, to time a server.", name=name),
            Sentence("Remove rejection_sample_method and the synthetic_* keys, or import without them (--keep-lossy)."),
            code="changes_output",
        )
    for key in keys:
        del inner[key]
    said.append(Sentence("Synthetic acceptance is left out: it writes text that is wrong on purpose."))


def _drop(values: Values, gone: dict[str, Sentence], said: list[Sentence]) -> None:
    for key, why in gone.items():
        if key in values:
            value = values.pop(key)
            said.append(Sentence("{key} is left out: {why}.", key=key, why=why))
            if _typical(value):
                said.append(Sentence("{key} changed the output; that is not carried over.", key=key))


def _speculative_model(name: str, model: Any, inner: Values, said: list[Sentence]) -> None:
    if model in NGRAM_NAMES:
        inner.setdefault("method", "ngram")
        said.append(
            Sentence(
                "speculative_model “{model}” is now method ngram of speculative_config (since vLLM 0.8).", model=model
            )
        )
        return
    _move(name, model, "speculative_model", "model", inner, said)


def _move(name: str, value: Any, old: str, new: str, inner: Values, said: list[Sentence]) -> None:
    if new in inner and str(inner[new]) != str(value):
        raise PlaygroundError(
            Sentence(
                "{name}: {old} is {value}, but {new} of speculative_config is {held}.",
                name=name,
                old=old,
                value=f"{value!r:.60}",
                new=new,
                held=f"{inner[new]!r:.60}",
            ),
            Sentence("Keep one of them."),
            code="bad_config",
        )
    inner[new] = value
    if old == new:
        said.append(Sentence("{old} is now inside speculative_config (since vLLM 0.8).", old=old))
    elif old.startswith("spec_"):
        said.append(Sentence("{old} is now {new} of speculative_config.", old=old, new=new))
    else:
        said.append(Sentence("{old} is now {new} of speculative_config (since vLLM 0.8).", old=old, new=new))


def _method(name: str, inner: Values, said: list[Sentence]) -> None:
    if "tensor_parallel_size" in inner:
        _move(
            name, inner.pop("tensor_parallel_size"), "tensor_parallel_size", "draft_tensor_parallel_size", inner, said
        )
    if inner.get("model") in NGRAM_NAMES:
        inner["method"] = "ngram"
        said.append(Sentence("model “{model}” of speculative_config is now method ngram.", model=inner.pop("model")))
    method = inner.get("method")
    if method is None:
        has_range = "prompt_lookup_max" in inner or "prompt_lookup_min" in inner
        inner["method"] = "draft_model" if "model" in inner else "ngram" if has_range else None
        if inner["method"] is None:
            del inner["method"]
        elif inner["method"] == "draft_model":
            said.append(
                Sentence(
                    "No method was given: draft_model is taken; name it if the draft is an EAGLE, Medusa or MTP head."
                )
            )
        else:
            said.append(
                Sentence("No method was given: ngram is taken, since there is a lookup range and no draft model.")
            )
    elif method in NGRAM_NAMES and method != "ngram":
        inner["method"] = "ngram"
        said.append(Sentence("method {method} is now {new}.", method=method, new="ngram"))
    elif isinstance(method, str) and method.endswith("_mtp"):
        inner["method"] = "mtp"
        said.append(Sentence("method {method} is now {new}.", method=method, new="mtp"))


def _lookup(inner: Values, said: list[Sentence]) -> None:
    if not str(inner.get("method", "")).startswith("ngram"):
        for key in ("prompt_lookup_max", "prompt_lookup_min"):
            if inner.pop(key, None) is not None:
                why = Sentence("method {method} ignores it", method=inner.get("method"))
                said.append(Sentence("{key} is left out: {why}.", key=key, why=why))
        return
    low, high = inner.get("prompt_lookup_min"), inner.get("prompt_lookup_max")
    if low is None or high is None:
        inner["prompt_lookup_max"] = high if high is not None else (low if low is not None else 5)
        inner["prompt_lookup_min"] = low if low is not None else inner["prompt_lookup_max"]
        said.append(
            Sentence(
                "The lookup range is written out as vLLM takes it: {low} to {high}.",
                low=inner["prompt_lookup_min"],
                high=inner["prompt_lookup_max"],
            )
        )


def _suffix(inner: Values, said: list[Sentence]) -> None:
    """What is open is written out, as vLLM takes it; what it remembers decides what its drafts are made of."""
    cached, depth = "suffix_decoding_max_cached_requests", inner.get("suffix_decoding_max_tree_depth", TREE_DEPTH)
    if "num_speculative_tokens" not in inner and str(depth).isdecimal():
        inner["num_speculative_tokens"] = min(MAX_K, int(depth))
        said.append(
            Sentence(
                "num_speculative_tokens is not given: {n}, the depth of the tree, is written out.",
                n=inner["num_speculative_tokens"],
            )
        )
    if cached not in inner:
        inner[cached] = CACHED_REQUESTS
        said.append(Sentence("{key} is not given: {n}, vLLM's default, is written out.", key=cached, n=CACHED_REQUESTS))
    if str(inner[cached]) != "0":
        said.append(
            Sentence(
                "With {key} {n} that server also drafts from its last {n} answers. Runs here are to be independent: "
                "the embedded engine drafts from a run's own prompt and answer, which a server does with 0.",
                key=cached,
                n=inner[cached],
            )
        )


def _dtype(name: str, values: Values, said: list[Sentence]) -> None:
    names = {"half": "float16", "float": "float32"}
    old = values["dtype"] = text_of(values.get("dtype"), Sentence("{name}, {key}", name=name, key="dtype")) or "auto"
    if old in names:
        values["dtype"] = names[old]
        said.append(other_name("dtype", old, names[old]))
