"""A preset in vLLM's words: the values of its serve file, where every field of the preset went, and what was lost.

Knows names and meanings, no file formats.
"""

from typing import Any

from playground.config import Preset, RunConfig, SamplingParams, Speculation, checked
from playground.errors import PlaygroundError
from playground.exporters._ledger import (
    NO_DEFAULT,
    ONLY_REQUESTS,
    Ledger,
    measured_dtype,
    needs_draft,
    no_such_method,
    put_engine,
    put_model,
)
from playground.exporters._server import SAME_NAME
from playground.exporters._vllm_schema import (
    ADAPTIVE,
    ENGINE_OPTIONS,
    METHOD_OPTIONS,
    METHODS,
    MODEL_METHODS,
    OLD_RUNNER_METHODS,
    ServeConfig,
    dashed,
)
from playground.sentence import Sentence

SUFFIX_PACKAGE = "arctic-inference==0.1.1"
"""What method suffix needs beside vLLM; newer ones are not taken."""

GPU_MEMORY_UTILIZATION = 0.92
"""vLLM's own default since 0.32; written out because it was another before."""

LEAST_TEMPERATURE = 0.01
"""vLLM raises smaller ones to it, 0 apart."""

_GGUF = Sentence("vLLM's GGUF support is experimental: name a safetensors model in its place")


def checked_serve(books: Ledger) -> ServeConfig:
    return checked(ServeConfig, books.values, where=Sentence("the vLLM configuration of this preset"))


def translate(preset: Preset, *, cap_max_tokens: bool = False) -> Ledger:
    """Every field of the preset's config either written or lost, never silently dropped.

    Raises:
        PlaygroundError: vLLM has no such method, or cannot run this at all.
    """
    config, out = preset.config, Ledger(preset, "vLLM")
    _engine(config, out)
    put_model(out, "target", config.target, "model", _GGUF)
    out.put("dtype", measured_dtype(preset), "dtype")
    # Otherwise the model's own generation_config.json decides what a request leaves open.
    out.values["generation-config"] = "vllm"
    _sampling(config.sampling, out, cap_max_tokens)
    _prompt(config, out)
    if config.speculation is None:
        out.written["speculation"] = "no speculative-config"
    else:
        _speculation(config.speculation, config, out)
    out.settle()
    return out


def _engine(config: RunConfig, out: Ledger) -> None:
    put_engine(out, "vllm")
    for name, value in config.engine_options.items():
        if name in ENGINE_OPTIONS and value is not None:
            out.put(f"engine_options.{name}", value, dashed(name))
        elif value is None:
            out.written[f"engine_options.{name}"] = "left to the server"
        else:
            reason = Sentence("a setting of the measurement, or one that vLLM's serve file has not")
            out.lose(f"engine_options.{name}", "dropped", reason)
    out.values.setdefault("tensor-parallel-size", 1)
    out.values.setdefault("gpu-memory-utilization", GPU_MEMORY_UTILIZATION)
    out.values.setdefault("seed", 0)


def _sampling(sampling: SamplingParams, out: Ledger, cap_max_tokens: bool) -> None:
    if sampling.temperature > 2:
        raise PlaygroundError(
            Sentence(
                "vLLM takes no temperature above 2, and this preset's is {temperature:g}.",
                temperature=sampling.temperature,
            ),
            Sentence("Lower it."),
            code="not_expressible",
        )
    if 0 < sampling.temperature < LEAST_TEMPERATURE:
        out.lose(
            "sampling.temperature",
            "approximated",
            Sentence("vLLM takes {least} for anything between 0 and that", least=LEAST_TEMPERATURE),
        )
    for name in SAME_NAME:
        out.put(f"sampling.{name}", getattr(sampling, name), f"override-generation-config.{name}")
    if cap_max_tokens:
        out.put("sampling.max_tokens", sampling.max_tokens, "override-generation-config.max_new_tokens")
        out.lose(
            "sampling.max_tokens",
            "changes-output",
            Sentence("caps every request of this server, also one that asks for more"),
        )
    else:
        out.lose(
            "sampling.max_tokens",
            "dropped",
            Sentence(
                "a server can only cap all requests (the vLLM export has that choice, cap_max_tokens); as a default "
                "{only}",
                only=ONLY_REQUESTS,
            ),
        )
    unset = {"min_tokens": 0, "seed": None, "stop": (), "ignore_eos": False}
    for name, neutral in unset.items():
        if getattr(sampling, name) == neutral:
            out.written[f"sampling.{name}"] = "not used"
        else:
            out.lose(f"sampling.{name}", "dropped", NO_DEFAULT)


def _prompt(config: RunConfig, out: Ledger) -> None:
    if config.chat:
        out.written["chat"] = "requests to /v1/chat/completions"
    else:
        reason = Sentence("raw prompts: send requests to /v1/completions, as the request file does")
        out.lose("chat", "dropped", reason)
    if config.system_prompt:
        out.lose("system_prompt", "dropped", NO_DEFAULT)
    else:
        out.written["system_prompt"] = "not used"


def _speculation(spec: Speculation, config: RunConfig, out: Ledger) -> None:
    method = "draft_model" if spec.method == "pard" else spec.method
    if method not in METHODS:
        raise no_such_method("vLLM", spec.method, METHODS)
    key = "speculative-config"
    out.put("speculation.method", method, f"{key}.method")
    if spec.method == "pard":
        out.values[key]["parallel_drafting"] = True
    out.put("speculation.num_speculative_tokens", spec.num_speculative_tokens, f"{key}.num_speculative_tokens")
    _draft(spec, method, out)
    for name, value in spec.options.items():
        _option(name, value, method, out)
    if method.startswith("ngram"):
        _lookup_range(out)
    _parallel_draft(method, out)
    _old_runner(method, config, out)
    if method == "suffix":
        # Measured by what a run's own prompt and answer repeat; vLLM would also draft from 10,000 other answers.
        out.values[key].setdefault("suffix_decoding_max_cached_requests", 0)


def _draft(spec: Speculation, method: str, out: Ledger) -> None:
    if spec.model is None:
        if method in MODEL_METHODS:
            raise needs_draft(spec.method)
        out.written["speculation.model"] = "not used"
    elif method in MODEL_METHODS or method == "mtp":
        put_model(out, "speculation.model", spec.model, "speculative-config.model", _GGUF)
    else:
        out.lose("speculation.model", "dropped", Sentence("{method} drafts without a model", method=spec.method))


def _option(name: str, value: Any, method: str, out: Ledger) -> None:
    full, lookup = f"speculation.options.{name}", name in ("prompt_lookup_min", "prompt_lookup_max")
    if value is None:
        out.written[full] = "left to the server"
    elif name == "match" and method.startswith("ngram"):
        if str(value) == "earliest":
            out.written[full] = "vLLM's own way"
        else:
            out.lose(
                full,
                "approximated",
                Sentence("vLLM takes the earliest match, so other tokens are drafted; the output is the same"),
            )
    elif name == "enable_adaptive_verification" and (value is False or method not in ADAPTIVE):
        # Off is vLLM's default; on it is documented for these methods alone.
        if value is False:
            out.written[full] = "vLLM's own default"
        else:
            out.lose(full, "dropped", Sentence("vLLM's {method} has no such option", method=method))
    elif name not in METHOD_OPTIONS and out.neutral(full):
        out.written[full] = "not used"
    elif name not in METHOD_OPTIONS or (lookup and not method.startswith("ngram")):
        out.lose(full, "dropped", Sentence("vLLM's {method} has no such option", method=method))
    else:
        out.put(full, value, f"speculative-config.{name}")


def _lookup_range(out: Ledger) -> None:
    """Both ends are written: vLLM's minimum defaults to its maximum, not to 1."""
    spec = out.values["speculative-config"]
    missing = [name for name in ("prompt_lookup_max", "prompt_lookup_min") if name not in spec]
    spec.setdefault("prompt_lookup_max", max(5, spec.get("prompt_lookup_min", 5)))
    spec.setdefault("prompt_lookup_min", spec["prompt_lookup_max"])
    for name in missing:
        out.lose(
            f"speculation.options.{name}",
            "approximated",
            Sentence("the preset leaves it open; {value}, vLLM's own, is written", value=spec[name]),
        )


def _parallel_draft(method: str, out: Ledger) -> None:
    spec, name = out.values["speculative-config"], "draft_tensor_parallel_size"
    wanted, target = spec.get(name), out.values["tensor-parallel-size"]
    if wanted is None:
        return
    full = f"speculation.options.{name}"
    if wanted == target:
        del spec[name]
        out.written[full] = "vLLM's own default"
    elif method in ("draft_model", "mlp_speculator"):
        del spec[name], out.written[full]
        reason = (
            Sentence("in vLLM a draft model must run on as many devices as the target, so {n} is left out", n=wanted)
            if method == "draft_model"
            else Sentence("in vLLM a draft of method {method} always runs on one device", method=method)
        )
        out.lose(full, "approximated", reason)


def _old_runner(method: str, config: RunConfig, out: Ledger) -> None:
    parallel = out.values["speculative-config"].get("parallel_drafting")
    if config.sampling.min_p > 0 and (method in OLD_RUNNER_METHODS or (parallel and method == "draft_model")):
        out.lose(
            "sampling.min_p",
            "changes-output",
            Sentence(
                "vLLM runs method {method} on its older model runner, which does not honour min_p while it speculates",
                method=method,
            ),
        )
