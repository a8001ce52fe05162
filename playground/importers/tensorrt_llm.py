"""TensorRT-LLM: `trtllm-serve` YAML and command lines, older names included, as presets.

The YAML names no model and no sampling; a command line beside it names the model, and the YAML wins over its flags.
"""

from typing import Any

from pydantic import BaseModel, Field

from playground.config import RunConfig
from playground.errors import PlaygroundError
from playground.exporters._trtllm_schema import DECODING
from playground.exporters.tensorrt_llm import LEAST_TOKENS
from playground.importers import Imported
from playground.importers import _command as command
from playground.importers._lossy import FORCING, RELAXED, RELAXING, SYNTHETIC, forced
from playground.importers._reading import (
    EARLIEST,
    NEUTRAL,
    NO_SAMPLING,
    Reading,
    Values,
    dtype,
    engine_for,
    taken,
)
from playground.importers._values import MAX_WHOLE, switch_of, text_of, without_value
from playground.sentence import Sentence

TITLE = "TensorRT-LLM"

_SHAPE = {
    "kv_cache_config", "max_batch_size", "max_num_tokens", "max_seq_len", "cuda_graph_config", "torch_compile_config",
    "disable_overlap_scheduler", "enable_chunked_prefill", "moe_config", "guided_decoding_backend",
    "perf_metrics_max_requests", "return_perf_metrics", "batching_wait_timeout_ms", "print_iter_log",
}  # fmt: skip
_SAME = {"tp_size": "tensor_parallel_size", "pp_size": "pipeline_parallel_size"}
_SERVER = _SHAPE | {
    "host", "port", "backend", "tokenizer", "trust_remote_code", "config", "extra_llm_api_options", "log_level",
    "kv_cache_free_gpu_memory_fraction", "free_gpu_memory_fraction", "num_postprocess_workers", "ep_size",
    "moe_expert_parallel_size", "gpus_per_node", "enable_attention_dp", "stream_interval", "generation_config",
    "sampler_type", "load_format", "moe_backend", "moe_tactic", "spec_dec_variant", "enable_min_latency",
    "max_beam_width", "served_model_name", "reasoning_parser", "tool_parser", "chat_template",
}  # fmt: skip
_OLD_NAMES = {
    "speculative_model_dir": "speculative_model",
    "pytorch_weights_path": "speculative_model",
    "pytorch_eagle_weights_path": "speculative_model",
    "num_nextn_predict_layers": "max_draft_len",
    "prompt_lookup_num_tokens": "max_draft_len",
}
_SECOND = Sentence("now sa_config.threshold, a second drafter that presets do not hold")
_ONLY = Sentence("the only way by now")
_CHAINS = Sentence("presets draft chains")
_ONE_LENGTH = Sentence("presets hold one draft length for every load")
_ALWAYS_ON = Sentence("presets never switch speculation off")
_OF_DRAFT = Sentence("a property of the draft")
_NOT_RELAXED = Sentence("relaxed acceptance is not on")
_SHARED = Sentence("a pool that requests share")
_GONE: dict[str, Sentence | None] = {
    "use_sa_spec": _SECOND,
    "sa_spec_threshold": _SECOND,
    "sa_config": Sentence("a second drafter beside the first, which presets do not hold"),
    "max_batch_size": Sentence("it is no key of speculative_config any more"),
    "eagle3_one_model": _ONLY,
    "mtp_eagle_one_model": _ONLY,
    "use_mtp_vanilla": Sentence("how it is computed, not what"),
    "num_eagle_layers": Sentence("the same as max_draft_len"),
    "eagle_choices": Sentence("token trees are gone in 1.4; drafts are chains"),
    "use_dynamic_tree": _CHAINS,
    "dynamic_tree_max_topK": _CHAINS,
    "max_total_draft_tokens": _CHAINS,
    "max_non_leaves_per_layer": _CHAINS,
    "max_concurrency": _ONE_LENGTH,
    "draft_len_schedule": _ONE_LENGTH,
    "acceptance_rate_window_size": _ALWAYS_ON,
    "acceptance_rate_threshold": _ALWAYS_ON,
    "allow_advanced_sampling": Sentence("a no-op by now"),
    "enable_penalty": Sentence("whether requests with a penalty are taken, not what they say"),
    "load_format": Sentence("how weights are read"),
    "eagle3_layers_to_capture": _OF_DRAFT,
    "eagle3_model_arch": _OF_DRAFT,
    "mask_token_id": _OF_DRAFT,
    "target_layer_ids": _OF_DRAFT,
    "is_keep_all": None,
    "is_public_pool": None,
    "block_size": None,
    "enable_global_pool": _SHARED,
    "global_pool_size": _SHARED,
}
"""Keys of speculative_config that no preset holds, with the reason; None where there is nothing to say."""

_METHODS = {name.lower().replace("_", ""): method for method, name in DECODING.items()} | {"eagle": "eagle3"}
_REFUSED = {
    "medusa": Sentence("existed only for engines built ahead, and is gone"),
    "lookahead": Sentence("existed only for engines built ahead, and is gone"),
    "auto": Sentence("leaves the method to the server"),
    "userprovided": Sentence("is Python code of its own"),
    "savestate": Sentence("does not speculate"),
    "savehiddenstates": Sentence("does not speculate"),
}


def recognises(name: str, data: object) -> bool:
    if isinstance(data, str):
        return "trtllm-serve" in command.uncommented(data) and not name.lower().endswith(".py")
    if not isinstance(data, dict) or "model" in data:
        return isinstance(data, dict) and _has_type(data)
    return _has_type(data) or bool(_SHAPE & data.keys())


def _has_type(data: dict[str, Any]) -> bool:
    spec = data.get("speculative_config")
    return isinstance(spec, dict) and "decoding_type" in spec


def refers(name: str, data: object) -> str | None:
    found = _arguments(name, data) if isinstance(data, str) else {}
    config = found.get("config", found.get("extra_llm_api_options"))
    return config if isinstance(config, str) else None


def read(name: str, data: object, *, keep_lossy: bool = False, beside: object = None) -> Imported:
    """See `Importer`. Unlike elsewhere the YAML (`beside` a command line) wins over the flags."""
    raw: Any = data
    if isinstance(data, str):
        raw = _arguments(name, data)
        if isinstance(beside, dict):
            raw = {key: value for key, value in raw.items() if key not in ("config", "extra_llm_api_options")} | beside
        elif given := next((key for key in ("config", "extra_llm_api_options") if key in raw), None):
            if raw[given] is True:
                raise without_value(f"{name}, {given}")
            raise PlaygroundError(
                Sentence(
                    "{name}: speaks of a file, {file}, that is not here.", name=name, file=str(refers(name, data))[:80]
                ),
                Sentence("Import both together, from one folder."),
                code="file_missing",
            )
    reading = Reading(name, raw, keep_lossy=keep_lossy)
    if isinstance(data, str):
        reading.said += command.only_first(name, data)
        for variable in forced(command.words(name, data)):
            reading.lossy_left_out(variable, SYNTHETIC)
    reading.rename(_SAME)
    config, about = _config(reading)
    return reading.finish(TITLE, config, more=about)


def _arguments(name: str, text: str) -> Values:
    words = command.words(name, text)
    start = next((i + 1 for i, word in enumerate(words) if word.rsplit("/", 1)[-1] == "trtllm-serve"), None)
    if start is None:
        raise command.wrong(name, Sentence("holds no trtllm-serve command"), Sentence("Paste the whole command."))
    found: Values = {}
    arguments = command.one_command(words, start)
    arguments = arguments[1:] if arguments[:1] == ["serve"] else arguments
    for flag, value in command.flags(arguments, most=_most):
        key = command.plain(flag)
        if not flag:
            command.put_positional(name, found, "model", str(value))
            continue
        if key in found and found[key] != value:
            raise command.wrong(name, Sentence("gives {flag} twice", flag=flag), Sentence("Keep one of them."))
        found[key] = value
    return found


def _most(flag: str) -> int:
    """Its options take one value each, unless they are switches."""
    return min(1, command.most_values((command.plain(flag),))(flag))


def _config(reading: Reading) -> tuple[Values, str]:
    """The config, and what its description must say."""
    reading.filled(_SERVER)
    target, about = reading.text("model"), ""
    if target is None:
        about = "It names no target model; the one here stands in."
        target = RunConfig.model_fields["target"].default
        reading.said.append(
            Sentence(
                "The file names no target model, trtllm-serve takes it on its command line; {target} stands in.",
                target=target,
            )
        )
    number = dtype(reading)
    options = _engine_options(reading)
    speculation = _speculation(reading)
    # What an export writes by itself says nothing about the preset.
    k = speculation["num_speculative_tokens"] if speculation else 0
    if options.get("max_num_batched_tokens") == max(LEAST_TOKENS, options.get("max_num_seqs", 0) * (k + 1)):
        reading.values["max_num_tokens"] = options.pop("max_num_batched_tokens")
    reading.left_out(_SERVER, {"speculative_config", "dtype", "tensor_parallel_size", "max_batch_size", "max_seq_len"})
    reading.said.append(NO_SAMPLING)
    config = {
        "engine": engine_for(options, speculation),
        "engine_options": options,
        "target": target,
        "dtype": number,
        "speculation": speculation,
        "sampling": dict(NEUTRAL),
    }
    return config, about


def _engine_options(reading: Reading) -> Values:
    names = {
        "tensor_parallel_size": "tensor_parallel_size", "pipeline_parallel_size": "pipeline_parallel_size",
        "max_batch_size": "max_num_seqs", "max_seq_len": "max_model_len", "max_num_tokens": "max_num_batched_tokens",
    }  # fmt: skip
    options: Values = {key: reading.whole(theirs, value) for theirs, key in names.items()
               if (value := reading.values.pop(theirs, None)) is not None}  # fmt: skip
    cache = reading.inside("kv_cache_config")
    where = reading.place("kv_cache_config")
    if (kind := text_of(cache.pop("dtype", None), Sentence("{name}, {key}", name=where, key="dtype"))) is not None:
        options["kv_cache_dtype"] = kind
    of_reuse = Sentence("{name}, {key}", name=where, key="enable_block_reuse")
    if (reuse := switch_of(cache.pop("enable_block_reuse", None), of_reuse)) is not None:
        options["enable_prefix_caching"] = reuse
    share = cache.pop("free_gpu_memory_fraction", None)
    for key in ("free_gpu_memory_fraction", "kv_cache_free_gpu_memory_fraction"):
        share = reading.values.pop(key, share)
    if share is not None and str(share) != "0.9":
        reading.said.append(
            Sentence(
                "free_gpu_memory_fraction {share} is left out: a share of what the weights leave, no one else's share "
                "means that.",
                share=str(share)[:20],
            )
        )
        reading.gone.append("free_gpu_memory_fraction")
    if cache:
        reading.left_out_of("kv_cache_config", sorted(cache))
    return options


def _speculation(reading: Reading) -> Values | None:
    raw = reading.values.get("speculative_config")
    inner = Reading(reading.name, raw, keep_lossy=reading.keep_lossy) if isinstance(raw, dict) else None
    found = reading.inside("speculative_config")
    if not found:
        return None
    inner = inner or Reading(reading.name, found, keep_lossy=reading.keep_lossy)
    inner.said, inner.gone = reading.said, reading.gone
    method = _method(inner)
    _rename(inner)
    options: Values = {}
    if method == "pard":
        method, options["parallel_drafting"] = "draft_model", True
    _lossy(inner, options)
    k = inner.values.pop("max_draft_len", None)
    if k is None:
        inner.said.append(Sentence("max_draft_len is not given: 1 is taken, set it by hand."))
    size = inner.values.pop("max_matching_ngram_size", None)
    oldest = inner.switch("is_use_oldest")
    if method == "ngram":
        longest = inner.whole("max_matching_ngram_size", 2 if size is None else size, least=1)
        options |= {"prompt_lookup_max": longest, "prompt_lookup_min": 1}
        options |= {"match": "most_recent"} if oldest is False else {}
        if size is None:
            inner.said.append(
                Sentence("max_matching_ngram_size is not given: {n}, the default there, is taken.", n=longest)
            )
        shortest = Sentence("NGram matches down to one token; it has no minimum")
        inner.said.append(taken("prompt_lookup_min", 1, shortest))
        if oldest is None:
            inner.said.append(taken("match", "earliest", EARLIEST))
    if inner.switch("use_rejection_sampling"):
        options["rejection_sample_method"] = "standard"
    model = inner.text("speculative_model")
    for key, why in _GONE.items():
        if inner.values.pop(key, None) is not None and why:
            _leave(inner, key, why)
    inner.left_out((), _INNER)
    number = inner.whole("max_draft_len", 1 if k is None else k)
    return {"method": method, "num_speculative_tokens": number, "model": model, "options": options}


_INNER = {
    "max_draft_len", "speculative_model", "max_matching_ngram_size", "use_rejection_sampling", "posterior_threshold",
    RELAXING, "relaxed_topk", "relaxed_delta",
}  # fmt: skip


def _leave(inner: Reading, key: str, why: Sentence) -> None:
    inner.said.append(Sentence("{key} of speculative_config is left out: {why}.", key=key, why=why))
    inner.gone.append(key)


class _Relaxed(BaseModel):
    """How much it relaxes, as TensorRT-LLM takes it."""

    relaxed_topk: int | None = Field(None, ge=1, le=MAX_WHOLE)
    relaxed_delta: float | None = Field(None, ge=0)


def _method(inner: Reading) -> str:
    kind = inner.text("decoding_type") or ""
    plain = kind.lower().replace("_", "").replace("-", "")
    if plain in _REFUSED or plain not in _METHODS:
        why = _REFUSED.get(plain, Sentence("is no decoding_type we know"))
        given = kind[:40] or Sentence("nothing")
        raise PlaygroundError(
            Sentence("{place}: {given} {why}.", place=inner.place("decoding_type"), given=given, why=why),
            Sentence("Known are: {known}.", known=", ".join(DECODING.values())),
            code="not_supported",
        )
    method = _METHODS[plain]
    if kind != DECODING[method]:
        inner.said.append(Sentence("decoding_type {old} is now {new}.", old=kind[:40], new=DECODING[method]))
    return method


def _rename(inner: Reading) -> None:
    old = inner.values
    if "num_nextn_predict_layers" in old and "max_draft_len" in old:
        given = old.pop("max_draft_len")
        if str(given) != str(old["num_nextn_predict_layers"]):
            _leave(inner, "max_draft_len", Sentence("num_nextn_predict_layers overwrites it in 1.2"))
    why = {"num_nextn_predict_layers": "1.3", "prompt_lookup_num_tokens": "1.0"}
    for name, new in _OLD_NAMES.items():
        inner.rename({name: new}, Sentence("since {release}", release=why.get(name, "1.2")))


def _lossy(inner: Reading, options: Values) -> None:
    for key in [key for key in inner.values if "synthetic" in key or key.upper() in FORCING]:
        inner.lossy_left_out(key, SYNTHETIC)
    if inner.switch(RELAXING):
        inner.lossy(RELAXING, RELAXED)
        options[RELAXING] = True
        given = {key: inner.values.pop(key) for key in _Relaxed.model_fields if inner.values.get(key) is not None}
        options |= inner.checked(_Relaxed, given, inner.raw).model_dump(exclude_none=True)
    inner.drop(dict.fromkeys(_Relaxed.model_fields, _NOT_RELAXED))
    threshold, greedy = inner.values.pop("posterior_threshold", None), inner.switch("greedy_sampling")
    if threshold is not None or greedy is False:
        inner.lossy("posterior_threshold", Sentence("typical acceptance took tokens that the target would not choose"))
        inner.said.append(
            Sentence("Typical acceptance has no successor on the PyTorch backend: exact acceptance takes its place.")
        )
