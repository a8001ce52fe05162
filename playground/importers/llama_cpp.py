"""llama.cpp: `llama-server` commands and preset files (INI) as presets, before and after the renames of April 2026.

Its defaults are not neutral and have moved, so whatever is left open is pinned to what that release did, and said.
"""

from typing import Any

from pydantic import BaseModel, Field

from playground.errors import PlaygroundError
from playground.exporters._llama_schema import ORDER, TYPES, WINDOW, Serve, unescaped
from playground.importers import Imported
from playground.importers import _command as command
from playground.importers import _llama_source as source
from playground.importers._lossy import SYNTHETIC
from playground.importers._reading import (
    Reading,
    Values,
    engine_for,
    located,
    not_along,
    penalty_window,
    pinned_defaults,
    taken,
)
from playground.sentence import Sentence

TITLE = "llama.cpp"

_RENAMED = {
    "draft": "spec_draft_n_max", "draft_n": "spec_draft_n_max", "draft_max": "spec_draft_n_max",
    "draft_min": "spec_draft_n_min", "draft_n_min": "spec_draft_n_min",
    "spec_ngram_size_n": "spec_ngram_simple_size_n", "spec_ngram_size_m": "spec_ngram_simple_size_m",
    "spec_ngram_min_hits": "spec_ngram_simple_min_hits",
}  # fmt: skip
_GONE = {"ctx_size_draft": Sentence("the draft has the target's context by now")}
_TYPES = {name: method for method, name in TYPES.items()}
_OLD_TYPES = {"draft": "draft-simple", "eagle3": "draft-eagle3", "mtp": "draft-mtp"}
_NGRAM = ("ngram-simple", "ngram-map-k", "ngram-map-k4v", "ngram-mod", "ngram-cache")
_DEFAULTS = {"temp": 0.8, "top_k": 40, "top_p": 0.95, "min_p": 0.05}
"""Of llama-server where neither file nor request says anything."""

_OLD_MAX, _OLD_P_MIN, _NEW_MAX = 16, 0.75, 3
_SAMPLING = {
    "temp": "temperature", "top_k": "top_k", "top_p": "top_p", "min_p": "min_p",
    "repeat_penalty": "repetition_penalty", "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
}  # fmt: skip
_OWN = {
    "model", "hf_repo", "ctx_size", "parallel", "n_predict", "seed", "reverse_prompt", "ignore_eos", "sampler_seq",
    "repeat_last_n", "spec_type", "spec_draft_model", "spec_draft_hf", "spec_draft_n_max", "spec_draft_n_min",
    "spec_draft_p_min", "spec_draft_sampling", "spec_default", "cache_prompt", "kv_unified", "kv_unified_per_slot",
    "spec_synth_len", "spec_synth_rates", *_SAMPLING, *_RENAMED, *_GONE,
}  # fmt: skip
_SERVER = {
    "host", "port", "api_key", "alias", "metrics", "n_gpu_layers", "spec_draft_ngl", "spec_draft_device", "device",
    "threads", "threads_batch", "batch_size", "ubatch_size", "flash_attn", "split_mode", "tensor_split", "main_gpu",
    "cache_type_k", "cache_type_v", "mlock", "no_mmap", "mmap", "numa", "jinja", "chat_template", "verbose", "log_file",
    "cont_batching", "fit", "fit_target", "hf_file", "hf_token", "slots", "props", "version",
    "slot_save_path",
    "load_on_startup", "stop_timeout", "dedup_cache_models", "escape", "spec_draft_type_k", "spec_draft_type_v",
    "spec_draft_p_split", "samplers", "lookup_cache_static", "lookup_cache_dynamic", "models_preset", "models_dir",
    "threads_http", "kv_offload", "cache_ram", "ctx_checkpoints", "checkpoint_min_step", "swa_full", "perf",
    "verbosity", "log_prefix", "log_timestamps", "log_colors", "log_jsonl", "log_disable", "api_key_file",
    "ssl_key_file", "ssl_cert_file", "path", "api_prefix", "ui", "webui", "reasoning_budget", "cpu_moe",
    "load_mode", "direct_io", "repack", "rpc", "prio", "poll", "tags", "models_max", "models_autoload",
    "context_shift", "n_cpu_moe", "fit_ctx",
    "timeout", "cache_reuse", "warmup", "no_warmup", "embeddings", "reasoning_format", "offline", "spec_draft_threads",
}  # fmt: skip


def recognises(name: str, data: object) -> bool:
    return isinstance(data, str) and (source.is_command(name, data) or source.is_ini(name, data))


def refers(name: str, data: object) -> str | None:
    if not isinstance(data, str) or not source.is_command(name, data):
        return None
    preset = source.from_command(name, data).get("models_preset")
    return preset if isinstance(preset, str) else None


def read(name: str, data: object, *, keep_lossy: bool = False, beside: object = None) -> Imported:
    """See `Importer`; `data` is the text of a command or of a preset file, `beside` the preset file a command names."""
    if not isinstance(data, str):
        raise PlaygroundError(
            Sentence("{name}: is no command and no preset file.", name=name),
            Sentence("Give its text."),
            code="bad_file",
        )
    others: list[str] = []
    raw: dict[str, Any]
    if source.is_command(name, data):
        raw = source.from_command(name, data)
        if isinstance(beside, str):
            found, others = source.from_ini(name, beside)
            raw = found | {key: value for key, value in raw.items() if key != "models_preset"}
    else:
        raw, others = source.from_ini(name, data)
    reading = Reading(name, raw, keep_lossy=keep_lossy)
    if source.is_command(name, data):
        reading.said += command.only_first(name, data)
    if others:
        names = ", ".join(other[:60] for other in others)
        reading.said.append(Sentence("Only the first model is read; left out: {names}.", names=names))
    return reading.finish(TITLE, _config(reading))


def _config(reading: Reading) -> Values:
    reading.filled(_SERVER)
    target = reading.text("model") or reading.text("hf_repo")
    if target is None:
        hint = (
            Sentence("Import the preset file itself.")
            if "models_preset" in reading.values
            else Sentence("Add --model or --hf-repo.")
        )
        raise PlaygroundError(Sentence("{name}: names no model.", name=reading.name), hint, code="bad_config")
    if reading.values.get("hf_repo") != target:
        reading.drop({"hf_repo": Sentence("{key} names the model", key="model")})
    reading.values.pop("hf_repo", None)
    old = bool({*_RENAMED, *_GONE} & reading.values.keys()) or str(reading.values.get("spec_type")) in _OLD_TYPES
    reading.rename(_RENAMED, Sentence("removed in April 2026"))
    reading.drop(_GONE)
    options = _room(reading)
    speculation = _speculation(reading, old, options)
    sampling = _sampling(reading)
    if (file := reading.text("models_preset")) is not None:
        reading.said.append(not_along(file))
    reading.left_out(_SERVER, _OWN)
    return {
        "engine": engine_for(options, speculation),
        "engine_options": options,
        "target": target,
        "speculation": speculation,
        "sampling": sampling,
    }


def _room(reading: Reading) -> Values:
    """The context is shared out among the slots, unless they share one cache."""
    slots, total = _whole(reading, "parallel"), _whole(reading, "ctx_size")
    shared, most = reading.switch("kv_unified"), _whole(reading, "kv_unified_per_slot")
    options: Values = {}
    if most:
        options["max_model_len"] = most
    elif total:
        options["max_model_len"] = total if shared else total // max(1, slots or 1)
    if (shared or most) and (slots or 1) > 1:
        reading.said.append(
            Sentence(
                "Its {n} slots share one cache (kv-unified), which presets do not hold: an export gives each slot a "
                "whole context of its own.",
                n=slots,
            )
        )
    if slots is not None and slots > 0 and not (slots == 1 and total):
        options["max_num_seqs"] = slots
    if (cached := reading.switch("cache_prompt")) is not None:
        options["enable_prefix_caching"] = cached
    return options


def _speculation(reading: Reading, old: bool, engine_options: Values) -> Values | None:
    for key in [key for key in reading.values if key.startswith("spec_synth")]:
        reading.lossy_left_out(key, SYNTHETIC)
    model = reading.text("spec_draft_model")
    if model is not None:
        reading.drop({"spec_draft_hf": Sentence("{key} names the model", key="spec-draft-model")})
    model = model or reading.text("spec_draft_hf")
    kind = _kind(reading, model)
    k, shortest = _whole(reading, "spec_draft_n_max", least=1), _whole(reading, "spec_draft_n_min")
    p_min, how = reading.values.pop("spec_draft_p_min", None), reading.text("spec_draft_sampling")
    sizes = _sizes(reading, kind) if kind else (0, None)
    _other_types(reading, kind)
    if kind is None:
        return None
    if kind.startswith("ngram"):
        k = sizes[1] if sizes[1] is not None else k
    if k is None:
        k = _OLD_MAX if old else _NEW_MAX
        reading.said.append(
            Sentence("spec-draft-n-max is not given: {k}, the default then, is written out.", k=k)
            if old
            else Sentence("spec-draft-n-max is not given: {k}, the default now, is written out.", k=k)
        )
    options: Values = {}
    if kind in _NGRAM:
        options = {"prompt_lookup_max": sizes[0], "prompt_lookup_min": sizes[0]}
        reading.said.append(taken("prompt_lookup_min", sizes[0], Sentence("llama-server matches one length only")))
    elif how:
        options = {"draft_sample_method": how}
    method = "ngram" if kind in _NGRAM else _TYPES[kind]
    found = {"method": method, "num_speculative_tokens": k, "model": model, "options": options}
    own = engine_for(engine_options, found) == "embedded"
    if kind.startswith("draft"):
        _early_stop(reading, p_min, shortest, old, options if own else None)
    elif kind == "ngram-simple" and own:
        options["match"] = "most_recent"
        reading.said.append(taken("match", "most_recent", Sentence("llama-server takes the most recent match")))
    elif kind == "ngram-simple":
        why = Sentence("vLLM has no other; llama-server takes the most recent match")
        reading.said.append(taken("match", "earliest", why))
    else:
        reading.said.append(taken("match", "earliest", Sentence("the default of a preset")))
    return found


def _early_stop(reading: Reading, given: Any, least: int | None, old: bool, options: Values | None) -> None:
    """`options` are those of the embedded engine, which ends a draft as llama-server does; vLLM does not: None."""
    stop = _OLD_P_MIN if given is None and old else reading.checked(_EarlyStop, {"spec_draft_p_min": given or 0}).p
    if stop > 0 and given is None:
        reading.said.append(Sentence("spec-draft-p-min is not given: {stop:g}, the default then, is taken.", stop=stop))
    if stop > 0 and options is not None:
        options["draft_p_min"] = stop
    elif stop > 0:
        reading.said.append(
            Sentence(
                "spec-draft-p-min {stop:g} is left out: it ended drafts where the draft model was unsure; vLLM drafts "
                "k tokens.",
                stop=stop,
            )
        )
    if least:
        reading.said.append(Sentence("spec-draft-n-min {n} is left out: presets use every draft.", n=least))


class _EarlyStop(BaseModel):
    """The least probability that the draft model must give a token."""

    p: float = Field(ge=0, le=1, alias="spec_draft_p_min")


def _kind(reading: Reading, model: str | None) -> str | None:
    """The one spec-type that a preset can hold."""
    given = reading.text("spec_type")
    if reading.switch("spec_default"):
        given = given or "ngram-mod"
    if given is None and model is not None:
        reading.said.append(
            Sentence(
                "spec-type is not given: draft-simple is taken. Since April 2026 llama-server loads such a draft and "
                "does not use it."
            )
        )
        return "draft-simple"
    if given is None:
        return None
    if ":" in str(given) or "=" in str(given):
        raise PlaygroundError(
            Sentence(
                "{place}: {value} is the syntax of ik_llama.cpp, another program.",
                place=reading.place("spec_type"),
                value=repr(str(given)[:60]),
            ),
            Sentence("Write llama.cpp's own flags (--spec-type draft-mtp --spec-draft-n-max 4)."),
            code="not_supported",
        )
    kinds = [_current(reading, part.strip()) for part in str(given).split(",")]
    known = [kind for kind in kinds if kind != "none"]
    if not known:
        return None
    if len(known) > 1:
        chosen = next((kind for kind in known if kind.startswith("draft")), known[0])
        rest = ", ".join(kind for kind in known if kind != chosen)
        reading.said.append(
            Sentence(
                "Of several spec-types {chosen} is taken, {rest} is left out: presets hold one method.",
                chosen=chosen,
                rest=rest,
            )
        )
        return chosen
    return known[0]


def _current(reading: Reading, kind: str) -> str:
    if kind in _OLD_TYPES:
        reading.said.append(Sentence("spec-type {old} is now {new} (May 2026).", old=kind, new=_OLD_TYPES[kind]))
        return _OLD_TYPES[kind]
    if kind not in (*_TYPES, *_NGRAM, "none"):
        raise PlaygroundError(
            Sentence("{place}: {kind} is no spec-type we know.", place=reading.place("spec_type"), kind=kind[:40]),
            Sentence("Known are: {known}.", known=", ".join((*_TYPES, *_NGRAM[1:]))),
            code="bad_config",
        )
    return kind


def _sizes(reading: Reading, kind: str) -> tuple[int, int | None]:
    """(length of the lookup, length of the draft) of an n-gram type."""
    if kind not in _NGRAM:
        return 0, None
    if kind != "ngram-simple":
        reading.said.append(
            Sentence("spec-type {kind} is read as method ngram, its nearest relative: acceptance differs.", kind=kind)
        )
    names = {"ngram-mod": ("spec_ngram_mod_n_match", "spec_ngram_mod_n_max")}
    first, second = names.get(kind, (f"spec_{kind.replace('-', '_')}_size_n", f"spec_{kind.replace('-', '_')}_size_m"))
    lookup, draft = _whole(reading, first, least=1), _whole(reading, second, least=1)
    default = 24 if kind == "ngram-mod" else 12
    if lookup is None:
        reading.said.append(Sentence("The lookup's length is not given: {n}, its default, is written out.", n=default))
    if draft is None and kind != "ngram-cache":
        draft = 64 if kind == "ngram-mod" else 48
        reading.said.append(Sentence("The draft's length is not given: {n}, its default, is written out.", n=draft))
    return (default if lookup is None else lookup), draft


def _other_types(reading: Reading, kind: str | None) -> None:
    """What is left of the n-gram types' settings: those of a type that is not used say nothing."""
    rest = [key for key in reading.values if key.startswith("spec_ngram_")]
    mine = f"spec_{kind.replace('-', '_')}_" if kind else "-"
    found = {key: reading.values.pop(key) for key in rest}
    if named := sorted(key for key, value in found.items() if key.startswith(mine) and str(value) != "1"):
        reading.left_out_of("llama-server", named)


def _sampling(reading: Reading) -> Values:
    given = {key: reading.values.pop(key) for key in _SAMPLING if key in reading.values}
    pinned = {key: value for key, value in _DEFAULTS.items() if key not in given}
    if pinned:
        said = ", ".join(f"{key.replace('_', '-')} {value:g}" for key, value in pinned.items())
        reading.said.append(pinned_defaults("llama-server", said))
    neutral = {"repeat_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0}
    read = reading.checked(Serve, _full(neutral | pinned | given), reading.raw)
    sampling: Values = {ours: getattr(read, theirs) for theirs, ours in _SAMPLING.items()}
    if (length := _whole(reading, "n_predict")) is not None and length > 0:
        sampling["max_tokens"] = length
    if (seed := _whole(reading, "seed")) is not None and 0 <= seed < 2**32 - 1:
        sampling["seed"] = seed
    if stops := reading.values.pop("reverse_prompt", None):
        sampling["stop"] = [unescaped(str(stop)) for stop in stops]
    if reading.switch("ignore_eos"):
        sampling["ignore_eos"] = True
    _order(reading, sampling)
    return located(sampling, reading.raw)


def _order(reading: Reading, sampling: Values) -> None:
    window = reading.values.pop("repeat_last_n", None)
    penalised = sampling["repetition_penalty"] != 1 or sampling["presence_penalty"] or sampling["frequency_penalty"]
    if penalised and str(window) not in ("-1", str(WINDOW)):
        reading.said.append(penalty_window(window or 64))
    order = reading.values.pop("sampler_seq", None)
    if order != ORDER and sampling["temperature"] not in (0, 1):
        reading.said.append(
            Sentence("Its samplers apply the temperature last; here it comes before top-k, top-p and min-p.")
        )


def _full(values: Values) -> Values:
    file = {"model": "-", "repeat_last_n": WINDOW, "sampler_seq": ORDER, "n_predict": 1}
    return {key.replace("_", "-"): value for key, value in (file | values).items()}


def _whole(reading: Reading, key: str, *, least: int | None = None) -> int | None:
    value = reading.values.pop(key, None)
    if value is None:
        return None
    return reading.whole(key, value, least=least)
