"""llama.cpp: a preset file (INI) for `llama-server --models-preset`, the same as a command line, and a request.

Models are GGUF files there; which file stands for a safetensors model only the user can say.
"""

import shlex
from typing import Any

from playground.config import Preset, Speculation, checked
from playground.errors import PlaygroundError
from playground.exporters import Export
from playground.exporters._ledger import (
    Ledger,
    is_gguf,
    is_path,
    method_of,
    needs_draft,
    no_flag,
    no_such_method,
    put_engine,
)
from playground.exporters._llama_schema import (
    ORDER,
    TYPES,
    VERSIONS,
    VERSIONS_SAMPLED_DRAFTS,
    WINDOW,
    WITH_MODEL,
    Serve,
    escaped,
    written,
)
from playground.exporters._server import Server, Words, head, request, server_export, shell
from playground.sentence import Sentence

TITLE = "llama.cpp"

IMAGE = "ghcr.io/ggml-org/llama.cpp:server-cuda-b11434"
PORT = 8080
_RELATIVES = {
    "kv_cache_dtype": "cache-type-k, cache-type-v",
    "pipeline_parallel_size": "--split-mode layer",
    "draft_tensor_parallel_size": "spec-draft-device",
    "gpu_memory_utilization": "n-gpu-layers, fit-target",
    "max_num_batched_tokens": "batch-size",
    "attention_backend": "flash-attn",
}
_FORMAT = Sentence("number formats are a property of the GGUF file: choose its quantisation")
SEEDS = 2**32 - 1
"""Seeds are 32 bits there, and the last one means random."""


def export(preset: Preset) -> Export:
    """See `Exporter`. Raises PlaygroundError where llama-server cannot run the preset at all."""
    books, serve = _serve(preset)
    made = _server(preset, books, serve)
    opening, stem = head(preset, made.versions, made.losses), preset.name
    comment = head(preset, made.versions, made.losses, mark=";")
    files = {
        f"{stem}.llama.ini": comment + ini(stem, serve),
        f"{stem}.llama.sh": shell(made.program, made.arguments, opening),
        f"{stem}.request.json": made.request,
    }
    return server_export(preset, made, files, shlex.join(["llama-server", "--models-preset", f"{stem}.llama.ini"]))


def server(preset: Preset) -> Server:
    """What container exports wrap."""
    return _server(preset, *_serve(preset))


def _serve(preset: Preset) -> tuple[Ledger, dict[str, Any]]:
    books = translate(preset)
    if len(stops := books.values.get("reverse-prompt", [])) > 1:
        books.lose(
            "sampling.stop",
            "approximated",
            Sentence("a preset file holds one stop string, the first; the command line holds all {n}", n=len(stops)),
        )
    return books, written(checked(Serve, books.values, where=Sentence("the llama.cpp configuration of this preset")))


def _server(preset: Preset, books: Ledger, serve: dict[str, Any]) -> Server:
    sampled = serve.get("spec-draft-sampling") == "probabilistic"
    return Server(
        program=("llama-server",),
        in_image=("/app/llama-server",),
        cache="/root/.cache",  # llama.cpp's own folder in it until it moved to the hub's, which is another
        arguments=_flags(serve),
        image=IMAGE,
        versions=VERSIONS_SAMPLED_DRAFTS if sampled else VERSIONS,
        port=PORT,
        losses=tuple(books.losses),
        written=books.written,
        # With the preset file requests choose among its models by their names there; without it any name will do.
        request=request(preset.config, model=preset.name, names={"repetition_penalty": "repeat_penalty"}),
    )


def _flags(serve: dict[str, Any]) -> Words:
    words: list[tuple[str, ...]] = []
    for key, value in serve.items():
        if isinstance(value, bool):
            words.append((f"--{key}" if value else f"--no-{key}",))
        elif isinstance(value, list):
            words += [(f"--{key}", item) for item in value]
        else:
            words.append((f"--{key}", str(value)))
    return tuple(words)


def ini(name: str, serve: dict[str, Any]) -> str:
    """The preset file with one model. A value ends at `;`, `#` or the line's end, so none may hold them."""
    lines = ["version = 1", "", f"[{name}]"]
    for key, value in serve.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if isinstance(value, list):
            text = value[0].replace(";", "\\x3b").replace("#", "\\x23")  # no escape itself holds one
        if any(not c.isprintable() or c in ";#" for c in text) or text != text.strip():
            raise PlaygroundError(
                Sentence("{key} is {text}, which a llama.cpp preset file cannot hold.", key=key, text=repr(text[:60])),
                Sentence("Name it without ;, # and line ends."),
                code="not_expressible",
            )
        lines.append(f"{key} = {text}")
    return "\n".join(lines) + "\n"


def translate(preset: Preset) -> Ledger:
    """Raises PlaygroundError for a method llama-server has not."""
    config, books = preset.config, Ledger(preset, "llama-server", _RELATIVES)
    put_engine(books)
    _model(books, "target", config.target, ("model", "hf-repo"))
    for name in ("dtype", "engine_options.quantization"):
        if name == "dtype" or books.option("quantization") is not None:
            books.lose(name, "dropped", _FORMAT)
    _room(books)
    _sampling(books)
    if config.speculation is None:
        books.say("speculation", "no spec-type")
    else:
        _speculation(config.speculation, books)
    books.settle()
    return books


def _model(books: Ledger, name: str, reference: str, keys: tuple[str, str]) -> None:
    """A file under the first key, a hub id under the second; either must be a GGUF."""
    no_flag(reference)
    local = reference.endswith(".gguf") or is_path(reference) or reference.count("/") != 1
    books.put(name, reference, keys[0] if local else keys[1])
    if not is_gguf(reference):
        reason = (
            Sentence(
                "llama-server reads GGUF only, and “{model}” is not called one: name a GGUF file, or a repository of "
                "them (org/model-GGUF)",
                model=reference,
            )
            if books.named(name)
            else Sentence("llama-server reads GGUF only: name the GGUF that stands for “{model}”", model=reference)
        )
        books.lose(name, "needs-input", reason)
    elif is_path(reference) and not books.named(name):
        reason = Sentence("this file may not be there on the server: name the server's own")
        books.lose(name, "needs-input", reason)


def _room(books: Ledger) -> None:
    length, slots = books.option("max_model_len"), books.option("max_num_seqs")
    if length is not None:
        books.put("engine_options.max_model_len", length * (slots or 1), "ctx-size")
    if slots is not None:
        books.put("engine_options.max_num_seqs", slots, "parallel")
    if length is not None and slots is None:
        books.values["parallel"] = 1
        reason = Sentence("the preset leaves it open; 1 is written, since the context is shared out among the slots")
        books.lose("engine_options.max_num_seqs", "approximated", reason)
    elif slots is not None and length is None:
        reason = Sentence("the slots share the model's own context: give the preset a context limit, or set --ctx-size")
        books.lose("engine_options.max_model_len", "needs-input", reason)
    if (books.option("tensor_parallel_size") or 1) > 1:
        reason = Sentence("llama-server has no degree of it: choose --split-mode and --tensor-split for your devices")
        books.lose("engine_options.tensor_parallel_size", "needs-input", reason)
    books.take([("enable_prefix_caching", "cache-prompt")])


def _sampling(books: Ledger) -> None:
    """All of it is written: llama-server's own defaults are not neutral, and its samplers run in another order."""
    sampling = books.config.sampling
    for name, key in (
        ("temperature", "temp"), ("top_k", "top-k"), ("top_p", "top-p"), ("min_p", "min-p"),
        ("repetition_penalty", "repeat-penalty"), ("presence_penalty", "presence-penalty"),
        ("frequency_penalty", "frequency-penalty"), ("max_tokens", "n-predict"),
    ):  # fmt: skip
        books.put(f"sampling.{name}", getattr(sampling, name), key)
    books.values |= {"repeat-last-n": WINDOW, "sampler-seq": ORDER}
    if sampling.seed is not None and sampling.seed < SEEDS:
        books.put("sampling.seed", sampling.seed, "seed")
    elif sampling.seed is not None:
        books.lose("sampling.seed", "dropped", Sentence("llama-server's seeds have 32 bits"))
    if sampling.stop:
        books.put("sampling.stop", [escaped(stop, comments=False) for stop in sampling.stop], "reverse-prompt")
    if sampling.ignore_eos:
        books.put("sampling.ignore_eos", True, "ignore-eos")


def _speculation(spec: Speculation, books: Ledger) -> None:
    method = method_of(spec)
    if method not in TYPES:
        raise no_such_method("llama-server", method, TYPES)
    kind, k = TYPES[method], spec.num_speculative_tokens
    # Without spec-type a draft is loaded and not used.
    books.put("speculation.method", kind, "spec-type")
    books.put("speculation.num_speculative_tokens", k, "spec-draft-n-max")
    # All three are written: their defaults moved.
    books.values |= {"spec-draft-n-min": 0, "spec-draft-p-min": 0.0}
    if kind.startswith("draft"):
        books.take([("draft_p_min", "spec-draft-p-min")], "speculation.options.")
    if books.draft_option("quantization") is not None:
        books.lose("speculation.options.quantization", "dropped", _FORMAT)
    if kind == "ngram-simple":
        _ngram(spec, books)
    elif spec.model is not None:
        _model(books, "speculation.model", spec.model, ("spec-draft-model", "spec-draft-hf"))
    elif kind in WITH_MODEL:
        raise needs_draft(method)
    if kind.startswith("draft") and (how := books.draft_option("draft_sample_method")):
        name = "speculation.options.draft_sample_method"
        if how == "greedy":
            books.say(name, "llama-server's own way")
        else:
            books.put(name, how, "spec-draft-sampling")


def _ngram(spec: Speculation, books: Ledger) -> None:
    longest = spec.options.get("prompt_lookup_max")
    books.values |= {
        "spec-ngram-simple-size-n": longest or 5,
        "spec-ngram-simple-size-m": spec.num_speculative_tokens,
        "spec-ngram-simple-min-hits": 1,
    }
    if longest is None:
        reason = Sentence("the preset leaves it open; {value}, vLLM's own, is written", value=5)
        books.lose("speculation.options.prompt_lookup_max", "approximated", reason)
    else:
        books.say("speculation.options.prompt_lookup_max", "spec-ngram-simple-size-n")
    if spec.options.get("prompt_lookup_min") is not None:
        reason = Sentence("ngram-simple matches one length only, the longest: it drafts less often")
        books.lose("speculation.options.prompt_lookup_min", "dropped", reason)
    if spec.options.get("match") is not None:
        reason = Sentence("which match is taken cannot be said: other tokens may be drafted; the output is the same")
        books.lose("speculation.options.match", "approximated", reason)
    if spec.model is not None:
        books.lose("speculation.model", "dropped", Sentence("{method} drafts without a model", method="ngram-simple"))
