"""SGLang: config files and command lines, older spellings included, as presets."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from playground.config import SamplingParams
from playground.errors import PlaygroundError
from playground.exporters._sglang_schema import ALGORITHMS, CHAINS, Preferred, Serve
from playground.importers import Imported
from playground.importers import _command as command
from playground.importers._lossy import SYNTHETIC, THRESHOLDS, forced, threshold
from playground.importers._reading import (
    NEUTRAL,
    NO_SAMPLING,
    Reading,
    Values,
    dtype,
    engine_for,
    located,
    models_own,
    not_along,
    place,
    taken,
)
from playground.importers._values import underscored
from playground.sentence import Sentence

TITLE = "SGLang"

SHORT = {"--tp": "tp_size", "--dp": "dp_size", "--pp": "pp_size"}
_SAME = {
    "model": "model_path", "tp": "tp_size", "tensor_parallel_size": "tp_size", "dp": "dp_size",
    "data_parallel_size": "dp_size", "pp": "pp_size", "pipeline_parallel_size": "pp_size",
    "speculative_draft_model": "speculative_draft_model_path",
}  # fmt: skip
_RENAMED = {"speculative_algo": "speculative_algorithm"}
_SHORTEST = Sentence("NGRAM has no shortest match any more")
_DEPTH = 18
"""Of the trie where nothing is said: SGLang's default."""

_GONE = {
    "speculative_ngram_min_match_window_size": _SHORTEST,
    "speculative_ngram_branch_length": Sentence("NGRAM drafts as long as speculative-num-draft-tokens says"),
}
_WITHIN = Sentence("with enable-dp-attention it lies within tp-size, which counts all GPUs")
_SHARE = Sentence("a share for weights and KV cache alone, no one else's share means that")
_ENGINE = {
    "tp_size": "tensor_parallel_size", "pp_size": "pipeline_parallel_size", "dp_size": "data_parallel_size",
    "quantization": "quantization", "kv_cache_dtype": "kv_cache_dtype", "context_length": "max_model_len",
    "max_running_requests": "max_num_seqs", "random_seed": "seed",
}  # fmt: skip
_DRAFT = {
    "speculative_draft_model_quantization": "quantization",
    "speculative_draft_model_revision": "revision",
    "speculative_draft_attention_backend": "attention_backend",
    "speculative_draft_kv_cache_dtype": "kv_cache_dtype",
}
_SERVER = {
    "host", "port", "api_key", "served_model_name", "trust_remote_code", "tokenizer_path", "tokenizer_mode",
    "load_format", "log_level", "enable_metrics", "chat_template", "reasoning_parser", "tool_call_parser",
    "attention_backend", "sampling_backend", "chunked_prefill_size", "cuda_graph_max_bs", "mem_fraction_static",
    "schedule_policy", "schedule_conservativeness", "device", "base_gpu_id", "nnodes", "node_rank", "dist_init_addr",
    "enable_dp_attention", "enable_torch_compile", "watchdog_timeout", "download_dir", "revision", "page_size",
    "speculative_ngram_match_type", "speculative_ngram_capacity", "speculative_attention_mode",
    "speculative_token_map", "speculative_draft_load_format", "speculative_adaptive", "speculative_adaptive_config",
    "speculative_draft_window_size", "speculative_ngram_min_bfs_breadth", "skip_server_warmup",
}  # fmt: skip
_METHODS = {name: method for method, name in ALGORITHMS.items()} | {"FROZEN_KV_MTP": "mtp"}
_OWN = {
    "speculative_algorithm", "speculative_num_steps", "speculative_eagle_topk", "speculative_num_draft_tokens",
    "speculative_draft_model_path", "model_path", "sampling_defaults", "preferred_sampling_params",
    "speculative_dspark_block_size", "speculative_dflash_block_size", "speculative_ngram_max_trie_depth",
    "speculative_ngram_max_bfs_breadth", "speculative_ngram_max_match_window_size",
    "speculative_use_block_verification", "speculative_use_rejection_sampling", *THRESHOLDS,
}  # fmt: skip


_ALONE = {"speculative_use_block_verification", "speculative_use_rejection_sampling", "speculative_adaptive"}
_KNOWN = _OWN | _SERVER | {*_ENGINE, *_DRAFT, *_SAME, *_RENAMED, *_GONE, "config", "dtype"}


def recognises(name: str, data: object) -> bool:
    if isinstance(data, str):
        code = command.uncommented(data)
        known = "sglang.launch_server" in code or "sglang serve" in code
        return known and not name.lower().endswith(".py")  # where it is a word of somebody's prompt
    keys = {key.replace("-", "_") for key in data} if isinstance(data, dict) else set()
    return bool(keys & {"speculative_algorithm", "model_path", "mem_fraction_static", "tp_size", "context_length"})


def refers(name: str, data: object) -> str | None:
    config = _arguments(name, data).get("config") if isinstance(data, str) else None
    return config if isinstance(config, str) else None


def read(name: str, data: object, *, keep_lossy: bool = False, beside: object = None) -> Imported:
    """See `Importer`. Where the command line and its file both say something, the command line wins."""
    raw: Any = _arguments(name, data) if isinstance(data, str) else data
    if isinstance(data, str) and isinstance(beside, dict):
        mine = {key: value for key, value in raw.items() if key != "config"}
        file = underscored(beside, lambda key: place(f"{name}, {raw.get('config')}", beside, key))
        raw = {_whole(key): value for key, value in file.items()} | mine
    reading = Reading(name, raw, keep_lossy=keep_lossy)
    reading.rename({key: _whole(key) for key in reading.values if _whole(key) != key})
    if isinstance(data, str):
        reading.said += command.only_first(name, data)
        for variable in forced(command.words(name, data)):
            reading.lossy_left_out(variable, SYNTHETIC)
    if not isinstance(data, str) and any("_" in key for key in raw):
        reading.said.append(Sentence("Keys with underscores are read; SGLang itself takes them with dashes only."))
    reading.rename(_SAME)
    reading.rename(_RENAMED, Sentence("its name by now"))
    return reading.finish(TITLE, _config(reading))


def _arguments(name: str, text: str) -> Values:
    words = command.words(name, text)
    start = next((i + 1 for i, word in enumerate(words) if word == "sglang.launch_server"), None)
    if start is None:
        start = next((i + 2 for i in range(len(words) - 1) if words[i : i + 2] == ["sglang", "serve"]), None)
    if start is None:
        raise command.wrong(name, Sentence("holds no sglang command"), Sentence("Paste the whole command."))
    found: Values = {}
    most = command.most_values(_KNOWN, alone=_ALONE)
    whole = [_whole_flag(word) for word in command.one_command(words, start)]
    for flag, value in command.flags(whole, most=most):
        key = SHORT.get(flag, command.plain(flag))
        if not flag:
            command.put_positional(name, found, "model_path", str(value))
            continue
        if key in found and found[key] != value:
            raise command.wrong(name, Sentence("gives {flag} twice", flag=flag), Sentence("Keep one of them."))
        found[key] = value
    return found


def _whole_flag(word: str) -> str:
    """A word of the command, filled up where it is a flag."""
    flag, equals, value = word.partition("=")
    key = command.plain(flag)
    whole = _whole(key)
    return word if not flag.startswith("--") or whole == key else "--" + whole.replace("_", "-") + equals + value


def _whole(key: str) -> str:
    """SGLang's parser, which reads its files too, takes a flag's beginning that fits one flag only."""
    fitting = [known for known in _KNOWN if known.startswith(key)]
    return fitting[0] if key not in _KNOWN and len(fitting) == 1 else key


def _config(reading: Reading) -> Values:
    reading.filled(_SERVER)
    target = reading.text("model_path")
    if target is None:
        raise PlaygroundError(
            Sentence("{name}: names no model.", name=reading.name),
            Sentence("Add `model-path:` with the target model."),
            code="bad_config",
        )
    if reading.values.get("mem_fraction_static") is not None:
        reading.drop({"mem_fraction_static": _SHARE})
    number = dtype(reading)
    if reading.values.get("enable_dp_attention") is not None and reading.switch("enable_dp_attention"):
        reading.drop({"dp_size": _WITHIN})
        reading.values["enable_dp_attention"] = True
    options = reading.take(_ENGINE)
    if reading.switch("disable_cuda_graph"):
        options["enforce_eager"] = True
    if reading.switch("disable_radix_cache"):
        options["enable_prefix_caching"] = False
    speculation = _speculation(reading)
    sampling = _sampling(reading)
    if (file := reading.text("config")) is not None:
        reading.said.append(not_along(file))
    reading.left_out(_SERVER, {*_ENGINE, *_DRAFT, *_OWN})
    options = _checked_options(reading, options)
    return {
        "engine": engine_for(options, speculation),
        "engine_options": options,
        "target": target,
        "dtype": number,
        "speculation": speculation,
        "sampling": sampling,
    }


def _checked_options(reading: Reading, options: Values) -> Values:
    back = {ours: theirs for theirs, ours in _ENGINE.items()}
    file = {"model-path": "-", "dtype": "auto", "tp-size": 1, "max-running-requests": 1, "sampling-defaults": "openai"}
    given = {back[key].replace("_", "-"): value for key, value in options.items() if key in back}
    read = reading.checked(Serve, file | given | {"preferred-sampling-params": {}})
    return {key: getattr(read, back[key]) if key in back else value for key, value in options.items()}


def _speculation(reading: Reading) -> Values | None:
    name = reading.text("speculative_algorithm")
    if name is None:
        return None
    if name.upper() == "LOOKAHEAD":
        reading.said.append(Sentence("speculative-algorithm LOOKAHEAD is now NGRAM."))
        name = "NGRAM"
    method = _METHODS.get(name.upper())
    if method is None:
        raise PlaygroundError(
            Sentence(
                "{place}: {algorithm} is no algorithm we know.",
                place=reading.place("speculative_algorithm"),
                algorithm=name[:40],
            ),
            Sentence("Known are: {known}.", known=", ".join(_METHODS)),
            code="bad_config",
        )
    options = reading.take(_DRAFT) if method != "ngram" else {}
    if method == "ngram":
        k = _ngram(reading, options)
    elif name.upper() in (*CHAINS, "FROZEN_KV_MTP"):
        k = _chain(reading)
    else:
        k = _block(reading, name.upper())
    _verification(reading, options)
    model = reading.text("speculative_draft_model_path")
    return {"method": method, "num_speculative_tokens": k, "model": model, "options": options}


def _chain(reading: Reading) -> int:
    """Steps, top-k and draft tokens: all three or none."""
    names = ("speculative_num_steps", "speculative_eagle_topk", "speculative_num_draft_tokens")
    given = [reading.values.pop(name, None) for name in names]
    if given == [None, None, None]:
        reading.said.append(Sentence("The draft's length is left to SGLang: its usual choice, 3 steps, is taken."))
        return 3
    if None in given:
        raise PlaygroundError(
            Sentence(
                "{name}: speculative-num-steps, -eagle-topk and -num-draft-tokens must all be given, or none.",
                name=reading.name,
            ),
            Sentence("SGLang stops at a part of them; add the missing ones."),
            code="bad_config",
        )
    steps, width, tokens = (reading.whole(name, value) for name, value in zip(names, given, strict=True))
    if width > 1:
        reading.said.append(
            Sentence(
                "A tree of {tokens} tokens, {width} wide, becomes a chain of its {steps} steps: presets draft chains.",
                tokens=tokens,
                width=width,
                steps=steps,
            )
        )
    elif tokens != steps + 1:
        reading.said.append(
            Sentence(
                "speculative-num-draft-tokens {tokens} is taken as {n}, as SGLang does for a chain.",
                tokens=tokens,
                n=steps + 1,
            )
        )
    return steps


def _no_chain(reading: Reading, algorithm: str, *others: str) -> None:
    """What says the length of another algorithm's drafts, or what `others` say already."""
    why = Sentence("{algorithm} does not use it", algorithm=algorithm)
    reading.drop(dict.fromkeys(("speculative_num_steps", "speculative_eagle_topk", *others), why))


def _block(reading: Reading, algorithm: str) -> int:
    block = reading.values.pop("speculative_dspark_block_size", None) if algorithm == "DSPARK" else None
    if block is not None:
        _no_chain(reading, algorithm, "speculative_num_draft_tokens", "speculative_dflash_block_size")
        return reading.whole("speculative_dspark_block_size", block)
    _no_chain(reading, algorithm, "speculative_dspark_block_size")
    tokens = reading.values.pop("speculative_num_draft_tokens", None)
    size = reading.values.pop("speculative_dflash_block_size", None)
    if tokens is not None and size is not None and str(size) != str(tokens):
        reading.leave("speculative_dflash_block_size", Sentence("speculative-num-draft-tokens says the length"))
    tokens = tokens if tokens is not None else size
    if tokens is None:
        reading.said.append(Sentence("The draft's length is left to the checkpoint: 15 is taken, set it by hand."))
        return 15
    return max(1, reading.whole("speculative_num_draft_tokens", tokens) - 1)


def _ngram(reading: Reading, options: Values) -> int:
    tokens = reading.values.pop("speculative_num_draft_tokens", None)
    depth = reading.values.pop("speculative_ngram_max_trie_depth", None)
    breadth = reading.values.pop("speculative_ngram_max_bfs_breadth", 10)
    reading.values.pop("speculative_ngram_min_bfs_breadth", None)  # at most the other one, which says chain or tree
    window = reading.values.pop("speculative_ngram_max_match_window_size", None)
    _no_chain(reading, "NGRAM")
    reading.drop(_GONE)
    if tokens is None:
        reading.said.append(
            Sentence("speculative-num-draft-tokens is not given: SGLang's default for NGRAM, 12, is taken.")
        )
    if reading.whole("speculative_ngram_max_bfs_breadth", breadth) > 1:
        reading.said.append(Sentence("NGRAM's drafts are trees here; presets draft chains."))
    k = max(1, reading.whole("speculative_num_draft_tokens", 12 if tokens is None else tokens) - 1)
    longest = max(1, reading.whole("speculative_ngram_max_trie_depth", _DEPTH if depth is None else depth) - k)
    if window is None and depth is None:
        reading.said.append(
            Sentence("speculative-ngram-max-trie-depth is not given: {n}, SGLang's default, is taken.", n=_DEPTH)
        )
    if window is not None:
        longest = reading.whole("speculative_ngram_max_match_window_size", window)
        reading.said.append(
            Sentence(
                "speculative-ngram-max-match-window-size is now said by speculative-ngram-max-trie-depth (0.5.23)."
            )
        )
    options |= {"prompt_lookup_max": longest, "prompt_lookup_min": 1}
    reading.said.append(taken("prompt_lookup_min", 1, _SHORTEST))
    reading.said.append(taken("match", "earliest", Sentence("NGRAM drafts from a trie, where matches have no order")))
    return k


def _verification(reading: Reading, options: Values) -> None:
    block, rejection = (
        reading.switch(f"speculative_use_{way}") for way in ("block_verification", "rejection_sampling")
    )
    if block:
        options["rejection_sample_method"] = "block"
    elif rejection:
        options["rejection_sample_method"] = "standard"
    for name in THRESHOLDS:
        value = reading.values.pop(name, None)
        if value is None:
            continue
        limit = getattr(reading.checked(_Thresholds, {name: value}), name)
        if limit < 1 and reading.lossy(name, threshold(limit)):
            options[name] = limit


class _Thresholds(BaseModel):
    """The two that accept more than the target's own tokens where they are below 1."""

    model_config = ConfigDict(extra="forbid")

    speculative_accept_threshold_single: float = Field(1.0, ge=0, le=1)
    speculative_accept_threshold_acc: float = Field(1.0, ge=0, le=1)


def _sampling(reading: Reading) -> Values:
    given = reading.inside("preferred_sampling_params")
    read = reading.checked(Preferred, given, given)
    sampling = NEUTRAL | read.model_dump(exclude_none=True)
    for theirs, ours in (("max_new_tokens", "max_tokens"), ("min_new_tokens", "min_tokens"), ("sampling_seed", "seed")):
        if theirs in sampling:
            sampling[ours] = sampling.pop(theirs)
    if sampling["top_k"] == -1:
        sampling["top_k"] = 0
    if not given:
        reading.said.append(NO_SAMPLING)
    if reading.values.pop("sampling_defaults", "model") != "openai":
        reading.said.append(models_own("sampling-defaults: openai"))
    known = {key: value for key, value in sampling.items() if key in SamplingParams.model_fields}
    return located(known, given)
