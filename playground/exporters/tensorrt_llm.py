"""TensorRT-LLM: the YAML of `trtllm-serve --config` and the command line beside it, for 1.2 or for 1.3 and later.

The YAML overrides flags in this program, so the command line says only what has no place in the file: the model.
Sampling has none at all; the request file says it.
"""

import shlex

import yaml
from pydantic import BaseModel, ConfigDict, Field

from playground.config import Preset, RunConfig, Speculation, checked
from playground.exporters import Export
from playground.exporters._ledger import (
    ONLY_REQUESTS,
    PENALTIES,
    Ledger,
    measured_dtype,
    method_of,
    needs_draft,
    no_such_method,
    put_engine,
    put_model,
)
from playground.exporters._server import Server, head, request, server_export, shell
from playground.exporters._trtllm_schema import DECODING, OLD, SCHEMAS, VERSIONS, WITH_MODEL, Dialect, written
from playground.exporters._yaml import to_yaml
from playground.sentence import Sentence

TITLE = "TensorRT-LLM"

IMAGES = {"1.3+": "nvcr.io/nvidia/tensorrt-llm/release:1.3.0", "1.2": "nvcr.io/nvidia/tensorrt-llm/release:1.2.1"}

FREE_MEMORY = 0.9
"""TensorRT-LLM's own default of free_gpu_memory_fraction."""

BATCH = 256
"""Written where the preset leaves it open: its own default moved between releases."""

LEAST_TOKENS = 8192
"""TensorRT-LLM's own default of max_num_tokens."""

_NO_PENALTY = dict(zip(PENALTIES, (1.0, 0.0, 0.0), strict=True))
_RELATIVES = {"enforce_eager": "cuda_graph_config", "kv_cache_dtype": "kv_cache_config.dtype"}
_GGUF = Sentence("TensorRT-LLM reads no GGUF: name a safetensors model in its place")


class Options(BaseModel):
    """Choices of this export."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    dialect: Dialect = Field("1.3+", title="Release", description="Whose key names are written.")


def export(preset: Preset, options: Options | None = None) -> Export:
    """See `Exporter`. Raises PlaygroundError where TensorRT-LLM cannot run the preset at all."""
    made = server(preset, options)
    assert made.config is not None
    name, text = made.config
    opening = head(preset, made.versions, made.losses)
    files = {
        name: opening + text,
        f"{preset.name}.trtllm.sh": shell((*made.program, made.words[0]), made.arguments[1:], opening),
        f"{preset.name}.request.json": made.request,
    }
    return server_export(preset, made, files, shlex.join([*made.program, *made.words]))


def server(preset: Preset, options: Options | None = None) -> Server:
    """What container exports wrap."""
    dialect = (options or Options()).dialect
    books = translate(preset, dialect)
    schema = SCHEMAS[dialect]
    where = Sentence("the TensorRT-LLM {dialect} configuration of this preset", dialect=dialect)
    serve = written(checked(schema, books.values, where=where))
    text = to_yaml(serve)
    assert written(checked(schema, yaml.safe_load(text), where=where)) == serve, "the file says something else"
    file = f"{preset.name}.trtllm.yaml"
    return Server(
        program=("trtllm-serve",),
        arguments=((preset.config.target,), ("--backend", "pytorch"), ("--config", file)),
        image=IMAGES[dialect],
        versions=VERSIONS[dialect],
        devices=serve["tensor_parallel_size"] * serve.get("pipeline_parallel_size", 1),
        config=(file, text),
        losses=tuple(books.losses),
        written=books.written,
        request=request(_asked(preset.config, dialect)),
    )


def translate(preset: Preset, dialect: str) -> Ledger:
    """Raises PlaygroundError for a method this dialect has not."""
    config, books = preset.config, Ledger(preset, "TensorRT-LLM", _RELATIVES)
    put_engine(books)
    put_model(books, "target", config.target, "the command line", _GGUF)
    del books.values["the command line"]
    books.put("dtype", measured_dtype(preset), "dtype")
    books.values["tensor_parallel_size"] = 1
    books.take([("tensor_parallel_size", "tensor_parallel_size"), ("pipeline_parallel_size", "pipeline_parallel_size")])
    _memory(books)
    if config.speculation is None:
        books.say("speculation", "no speculative_config")
    else:
        _speculation(config.speculation, dialect, books)
    _penalties(dialect, books)
    _batch(books)
    books.settle()
    return books


def _memory(books: Ledger) -> None:
    # Not copied: vLLM's share is of the whole device, this one is of what is left beside the weights.
    books.values["kv_cache_config"] = {"free_gpu_memory_fraction": FREE_MEMORY}
    if (share := books.option("gpu_memory_utilization")) is not None:
        books.lose(
            "engine_options.gpu_memory_utilization",
            "approximated",
            Sentence(
                "{share:g} was a share of the whole GPU; here the share is of what is left beside the weights, and its "
                "own default {default} is written",
                share=share,
                default=FREE_MEMORY,
            ),
        )
    dtype = books.option("kv_cache_dtype")
    if dtype in ("auto", "fp8"):
        books.put("engine_options.kv_cache_dtype", dtype, "kv_cache_config.dtype")
    books.take([("enable_prefix_caching", "kv_cache_config.enable_block_reuse")])
    if books.option("quantization") is not None:
        books.lose(
            "engine_options.quantization",
            "dropped",
            Sentence("on the PyTorch backend it is read from the checkpoint: name a quantised one"),
        )


def _batch(books: Ledger) -> None:
    books.put("engine_options.max_num_seqs", books.option("max_num_seqs") or BATCH, "max_batch_size")
    if books.option("max_num_seqs") is None:
        del books.written["engine_options.max_num_seqs"]
        books.lose(
            "engine_options.max_num_seqs",
            "needs-input",
            Sentence("the preset leaves it open; {n} is written: size max_batch_size to your load", n=BATCH),
        )
    books.take([("max_model_len", "max_seq_len")])
    spec = books.values.get("speculative_config", {})
    k = spec.get("max_draft_len", spec.get("num_nextn_predict_layers", 0))
    books.values["max_num_tokens"] = max(LEAST_TOKENS, books.values["max_batch_size"] * (k + 1))
    if (wanted := books.option("max_num_batched_tokens")) is not None:
        needed = books.values["max_batch_size"] * (k + 1)
        books.put("engine_options.max_num_batched_tokens", max(wanted, needed), "max_num_tokens")
        if wanted < needed:
            books.lose(
                "engine_options.max_num_batched_tokens",
                "approximated",
                Sentence("raised to {n}, so that drafts fit", n=needed),
            )


def _penalties(dialect: str, books: Ledger) -> None:
    """While it speculates the server refuses requests with a penalty, unless it was told otherwise."""
    for name, neutral in _NO_PENALTY.items():
        if getattr(books.config.sampling, name) == neutral or books.config.speculation is None:
            continue
        if dialect == "1.2":
            books.lose(
                f"sampling.{name}",
                "changes-output",
                Sentence(
                    "while it speculates TensorRT-LLM {dialect} refuses requests with a penalty, so the request file "
                    "holds none",
                    dialect=dialect,
                ),
            )
        else:
            books.values["speculative_config"]["enable_penalty"] = True


def _asked(config: RunConfig, dialect: str) -> RunConfig:
    """What requests may ask for."""
    if dialect != "1.2" or config.speculation is None:
        return config
    return config.model_copy(update={"sampling": config.sampling.model_copy(update=_NO_PENALTY)})


def _speculation(spec: Speculation, dialect: str, books: Ledger) -> None:
    method, key = method_of(spec), "speculative_config"
    has = OLD if dialect == "1.2" else tuple(DECODING)
    if method not in has:
        raise no_such_method(f"TensorRT-LLM {dialect}", method, has)
    books.put("speculation.method", DECODING[method], f"{key}.decoding_type")
    if method == "pard" and "parallel_drafting" in spec.options:
        books.say("speculation.options.parallel_drafting", f"{key}.decoding_type")
    k = "num_nextn_predict_layers" if method == "mtp" and dialect == "1.2" else "max_draft_len"
    books.put("speculation.num_speculative_tokens", spec.num_speculative_tokens, f"{key}.{k}")
    if method == "dspark":
        books.values[key]["block_size"] = spec.num_speculative_tokens
    if method in WITH_MODEL:
        if spec.model is None:
            raise needs_draft(method)
        put_model(books, "speculation.model", spec.model, f"{key}.speculative_model", _GGUF)
    elif spec.model is not None:
        reason = Sentence("{method} drafts without a model of its own", method=DECODING[method])
        books.lose("speculation.model", "dropped", reason)
    if method == "ngram":
        _ngram(spec, books)
    elif method == "suffix":
        books.values[key]["max_matching_ngram_size"] = -1
        books.lose(
            "speculation.method",
            "approximated",
            Sentence("its suffix automaton is a relative, not the same algorithm: measure acceptance again"),
        )
    elif method == "mtp":
        _relaxed(books)
    _verification(method, dialect, books)


def _ngram(spec: Speculation, books: Ledger) -> None:
    key, longest = "speculative_config", spec.options.get("prompt_lookup_max")
    if longest is None:
        books.values[key]["max_matching_ngram_size"] = 5
        books.lose(
            "speculation.options.prompt_lookup_max",
            "approximated",
            Sentence("the preset leaves it open; {value}, vLLM's own, is written", value=5),
        )
    else:
        books.put("speculation.options.prompt_lookup_max", longest, f"{key}.max_matching_ngram_size")
    oldest = spec.options.get("match", "earliest") == "earliest"
    books.values[key] |= {"is_keep_all": True, "is_use_oldest": oldest, "is_public_pool": False}
    if "match" in spec.options:
        books.say("speculation.options.match", f"{key}.is_use_oldest")
    if spec.options.get("prompt_lookup_min") is not None:
        books.lose(
            "speculation.options.prompt_lookup_min",
            "dropped",
            Sentence("NGram matches down to one token; it has no minimum"),
        )


def _relaxed(books: Ledger) -> None:
    """Settings that accept other tokens than the target's: only there if someone kept them knowingly."""
    for name in ("use_relaxed_acceptance_for_thinking", "relaxed_topk", "relaxed_delta"):
        if (value := books.draft_option(name)) is not None:
            books.put(f"speculation.options.{name}", value, f"speculative_config.{name}")
            books.lose(
                f"speculation.options.{name}",
                "changes-output",
                Sentence("accepts tokens that the target would not choose"),
            )


def _verification(method: str, dialect: str, books: Ledger) -> None:
    """Its default accepts a sampled draft only where the target samples the same token."""
    name, wanted = "speculation.options.rejection_sample_method", books.draft_option("rejection_sample_method")
    possible = dialect != "1.2" and method not in ("ngram", "suffix")
    if wanted == "standard" and possible:
        books.put(name, True, "speculative_config.use_rejection_sampling")
        books.lose(name, "needs-input", Sentence("rejection sampling needs FlashInfer in the server's image"))
    elif books.config.sampling.temperature > 0:
        books.lose(
            "sampling.temperature",
            "approximated",
            Sentence(
                "above 0 a draft token is kept only if the target samples the very same one: the law of the output is "
                "the same, but fewer are accepted than by rejection sampling; the temperature itself: {only}",
                only=ONLY_REQUESTS,
            ),
        )
