"""SGLang: the YAML of `--config` (keys with dashes), the same as a command line, and a request with the rest."""

import json
import shlex

import yaml

from playground.config import Preset, Speculation, checked
from playground.exporters import Export
from playground.exporters._ledger import (
    PENALTIES,
    Ledger,
    measured_dtype,
    method_of,
    needs_draft,
    no_such_method,
    put_engine,
    put_model,
)
from playground.exporters._server import Server, flags, head, request, server_export, shell
from playground.exporters._sglang_schema import ALGORITHMS, CHAINS, REJECTION, VERSIONS, WITH_MODEL, Serve, written
from playground.exporters._yaml import WIDE, to_yaml
from playground.sentence import Sentence

TITLE = "SGLang"

IMAGE = "lmsysorg/sglang:v0.5.23"
PORT = 30000
PROGRAM = ("python3", "-m", "sglang.launch_server")

RUNNING = 48
"""What SGLang itself falls back to while it speculates; written, since without speculation it is another."""

_PREFERRED = "preferred-sampling-params"
_RELATIVES = {
    "max_num_batched_tokens": "chunked-prefill-size",
    "kv_cache_dtype": "speculative-draft-kv-cache-dtype",
    "max_model_len": "speculative-draft-window-size",
}
_GGUF = Sentence("name the safetensors model in its place, or add load-format: gguf")
_NATIVE = Sentence("as a default it reaches only the native /generate; requests to the OpenAI endpoints must send it")


def export(preset: Preset) -> Export:
    """See `Exporter`. Raises PlaygroundError where SGLang cannot run the preset at all."""
    made = server(preset)
    opening, stem = head(preset, VERSIONS, made.losses), preset.name
    serve = _serve(preset)[0]
    # As text: SGLang's own reader of the file makes `{'a': 1}` of a mapping in some versions, which is no JSON.
    serve[_PREFERRED] = json.dumps(serve[_PREFERRED])
    text = opening + to_yaml(serve, width=WIDE)
    assert yaml.safe_load(text) == serve, "the file says something else"
    files = {
        f"{stem}.sglang.yaml": text,
        f"{stem}.sglang.sh": shell(PROGRAM, made.arguments, opening),
        f"{stem}.request.json": made.request,
    }
    return server_export(preset, made, files, shlex.join([*PROGRAM, "--config", f"{stem}.sglang.yaml"]))


def server(preset: Preset) -> Server:
    """What container exports wrap."""
    serve, books = _serve(preset)
    on = {key: value for key, value in serve.items() if value is not True}
    switches = tuple((f"--{key}",) for key, value in serve.items() if value is True)
    return Server(
        program=PROGRAM,
        arguments=(*flags(on), *switches),
        image=IMAGE,
        versions=VERSIONS,
        port=PORT,
        devices=int(str(serve["tp-size"])) * int(str(serve.get("pp-size", 1))) * int(str(serve.get("dp-size", 1))),
        losses=tuple(books.losses),
        written=books.written,
        request=request(preset.config, top_k_off=-1),
    )


def _serve(preset: Preset) -> tuple[dict[str, object], Ledger]:
    books = translate(preset)
    return written(checked(Serve, books.values, where=Sentence("the SGLang configuration of this preset"))), books


def translate(preset: Preset) -> Ledger:
    """Raises PlaygroundError for a method SGLang has not."""
    config, books = preset.config, Ledger(preset, "SGLang", _RELATIVES)
    put_engine(books)
    put_model(books, "target", config.target, "model-path", _GGUF)
    books.put("dtype", measured_dtype(preset), "dtype")
    books.values["tp-size"] = 1
    books.take(
        [
            ("tensor_parallel_size", "tp-size"), ("pipeline_parallel_size", "pp-size"),
            ("data_parallel_size", "dp-size"), ("quantization", "quantization"), ("kv_cache_dtype", "kv-cache-dtype"),
            ("max_model_len", "context-length"), ("seed", "random-seed"),
        ]
    )  # fmt: skip
    _engine(books)
    _sampling(books)
    if config.speculation is None:
        books.say("speculation", "no speculative-algorithm")
    else:
        _speculation(config.speculation, books)
    books.settle()
    return books


def _engine(books: Ledger) -> None:
    name = "engine_options.max_num_seqs"
    if (running := books.option("max_num_seqs")) is not None:
        books.put(name, running, "max-running-requests")
    elif books.config.speculation is not None:
        books.values["max-running-requests"] = RUNNING
        books.lose(
            name,
            "approximated",
            Sentence("the preset leaves it open; {n}, SGLang's own with speculation, is written", n=RUNNING),
        )
    if (share := books.option("gpu_memory_utilization")) is not None:
        books.lose(
            "engine_options.gpu_memory_utilization",
            "approximated",
            Sentence(
                "{share:g} was a share for everything; SGLang's mem-fraction-static is for weights and KV cache alone: "
                "it is left to SGLang's own estimate",
                share=share,
            ),
        )
    for option, when, key in (
        ("enforce_eager", True, "disable-cuda-graph"),
        ("enable_prefix_caching", False, "disable-radix-cache"),
    ):
        if (value := books.option(option)) is when:
            books.put(f"engine_options.{option}", True, key)
        elif value is not None:
            books.say(f"engine_options.{option}", "SGLang's own way")


def _sampling(books: Ledger) -> None:
    """The model's own generation_config.json stays out; defaults of our own reach only half of the endpoints."""
    sampling = books.config.sampling
    books.values["sampling-defaults"] = "openai"
    names = {"temperature": "temperature", "top_p": "top_p", "min_p": "min_p", "top_k": "top_k"}
    names |= {name: name for name in PENALTIES} | {"max_tokens": "max_new_tokens"}
    if sampling.repetition_penalty > 2:
        reason = Sentence("SGLang takes none above 2: 2 is written")
        books.lose("sampling.repetition_penalty", "approximated", reason)
    for name, key in names.items():
        value = getattr(sampling, name)
        value = min(value, 2.0) if name == "repetition_penalty" else value
        books.put(f"sampling.{name}", -1 if key == "top_k" and not value else value, f"preferred-sampling-params.{key}")
        if (value, name) not in ((1.0, "temperature"), (1.0, "top_p"), (0.0, "min_p"), (0, "top_k")) and not (
            name in PENALTIES and value in (1.0 if name == "repetition_penalty" else 0.0,)
        ):
            books.lose(f"sampling.{name}", "approximated", _NATIVE)
    for name, key, value in (
        ("min_tokens", "min_new_tokens", sampling.min_tokens or None),
        ("stop", "stop", list(sampling.stop) or None),
        ("ignore_eos", "ignore_eos", sampling.ignore_eos or None),
        ("seed", "sampling_seed", sampling.seed),
    ):
        if value is not None:
            books.put(f"sampling.{name}", value, f"preferred-sampling-params.{key}")
            books.lose(f"sampling.{name}", "approximated", _NATIVE)


def _speculation(spec: Speculation, books: Ledger) -> None:
    method = method_of(spec)
    if method not in ALGORITHMS:
        raise no_such_method("SGLang", method, ALGORITHMS)
    algorithm, k = ALGORITHMS[method], spec.num_speculative_tokens
    books.put("speculation.method", algorithm, "speculative-algorithm")
    if spec.model is not None and algorithm != "NGRAM":
        put_model(books, "speculation.model", spec.model, "speculative-draft-model-path", _GGUF)
    elif spec.model is not None:
        books.lose("speculation.model", "dropped", Sentence("{method} drafts without a model", method="NGRAM"))
    elif algorithm in WITH_MODEL:
        raise needs_draft(method)
    if algorithm in CHAINS:
        # What is verified is the chain and the token before it: k + 1.
        books.values |= {"speculative-num-steps": k, "speculative-eagle-topk": 1}
    if algorithm == "DSPARK":
        books.put("speculation.num_speculative_tokens", k, "speculative-dspark-block-size")
    else:
        books.put("speculation.num_speculative_tokens", k + 1, "speculative-num-draft-tokens")
    if algorithm == "NGRAM":
        _ngram(spec, books)
    else:
        _draft(books)
    _verification(algorithm, books)


def _draft(books: Ledger) -> None:
    books.take(
        [
            ("quantization", "speculative-draft-model-quantization"),
            ("revision", "speculative-draft-model-revision"),
            ("attention_backend", "speculative-draft-attention-backend"),
        ],
        "speculation.options.",
    )
    if books.draft_option("kv_cache_dtype") in ("auto", "fp8_e5m2", "fp8_e4m3", "bf16", "bfloat16"):
        books.take([("kv_cache_dtype", "speculative-draft-kv-cache-dtype")], "speculation.options.")


def _ngram(spec: Speculation, books: Ledger) -> None:
    name, longest = "speculation.options.prompt_lookup_max", spec.options.get("prompt_lookup_max")
    books.put(name, (longest or 5) + spec.num_speculative_tokens, "speculative-ngram-max-trie-depth")
    if longest is None:
        del books.written[name]
        books.lose(
            name, "approximated", Sentence("the preset leaves it open; {value}, vLLM's own, is written", value=5)
        )
    # Breadth 1: a chain, as it was measured; its default is a tree.
    books.values |= {"speculative-ngram-min-bfs-breadth": 1, "speculative-ngram-max-bfs-breadth": 1}
    if spec.options.get("prompt_lookup_min") is not None:
        reason = Sentence("NGRAM has no shortest match any more")
        books.lose("speculation.options.prompt_lookup_min", "dropped", reason)
    books.lose(
        "speculation.method",
        "approximated",
        Sentence(
            "NGRAM drafts from a trie over the texts it has generated, not by lookup in the prompt: acceptance differs"
        ),
    )


def _verification(algorithm: str, books: Ledger) -> None:
    name, given = "speculation.options.rejection_sample_method", books.draft_option("rejection_sample_method")
    wanted = "standard" if given is None and books.config.engine == "embedded" else given  # that engine has no other
    if books.config.sampling.greedy:
        pass  # at temperature 0 every way comes to the same: nothing is written
    elif wanted == "standard" and algorithm in REJECTION:
        books.values["speculative-use-rejection-sampling"] = True
        if given is not None:
            books.say(name, "speculative-use-rejection-sampling")
    elif wanted == "block" and algorithm in (*REJECTION, "DFLASH", "DSPARK"):
        books.put(name, True, "speculative-use-block-verification")
    for option in ("speculative_accept_threshold_single", "speculative_accept_threshold_acc"):
        if (value := books.draft_option(option)) is not None:
            books.put(f"speculation.options.{option}", value, option.replace("_", "-"))
            if value < 1:
                reason = Sentence("accepts tokens that the target would not choose")
                books.lose(f"speculation.options.{option}", "changes-output", reason)
