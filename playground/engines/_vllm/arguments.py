"""A configuration in vLLM's terms: the engine arguments, and the environment variables vLLM reads at its import.

Knows vLLM's names, never imports it.
"""

import os
from pathlib import Path
from typing import Any

import psutil

from playground import models
from playground.config import RunConfig, Speculation, checked
from playground.engines import EngineContext
from playground.engines._vllm import schema
from playground.engines._vllm.options import FIXED_K, NEED_MODEL, VllmOptions
from playground.errors import PlaygroundError
from playground.sentence import Sentence

_PACKAGE = "playground.engines._vllm"

LOGPROBS_MODE = "processed_logprobs"
"""Probabilities after temperature and filters, as the acceptance test used them; without candidates vLLM's default."""

TRACED = ("0.32",)
"""Releases (major.minor) whose private scheduler interface the trace was tried with; others get a warning."""

REPAIRED_CPU_BUILDS = ("0.32.0",)
"""CPU builds that sample wrongly under speculation, for which the law was checked with our repair in place."""

CPU_KV_CACHE_BYTES = 1 << 30
"""Of KV cache on a CPU, where VLLM_CPU_KVCACHE_SPACE (GiB) says nothing else."""


def checked_options(config: RunConfig) -> VllmOptions:
    """Raises PlaygroundError naming a bad key."""
    return checked(VllmOptions, config.engine_options, where=Sentence("the vLLM engine's options"))


def checked_speculation(config: RunConfig) -> tuple[Speculation, dict[str, Any]] | None:
    """The speculation and its method's options, those left empty left out; None for a baseline.

    Raises:
        PlaygroundError: no such method in this vLLM, a bad option, or no draft model where one is needed.
    """
    speculation = config.speculation
    if speculation is None:
        return None
    methods = schema.methods()
    if speculation.method not in methods:
        raise PlaygroundError(
            Sentence("vLLM has no drafting method called “{method}”.", method=speculation.method),
            Sentence("Choose one of: {known}.", known=", ".join(methods)),
            code="unknown_method",
        )
    options = checked(
        methods[speculation.method],
        speculation.options,
        where=Sentence("the options of {method}", method=speculation.method),
    )
    if speculation.method in NEED_MODEL and not speculation.model:
        raise PlaygroundError(
            Sentence("The method {method} needs a draft model.", method=speculation.method),
            Sentence("Name one, or choose a method without a model such as ngram."),
            code="bad_config",
        )
    return speculation, options.model_dump(exclude_none=True)


def loaded_k(config: RunConfig) -> int:
    """The k an engine for this configuration is loaded with: its own, or more where a run may ask for fewer."""
    if config.speculation is None:
        return 0
    options, k = checked_options(config), config.speculation.num_speculative_tokens
    if options.mode == "headline" or config.speculation.method in FIXED_K:
        return k
    return max(k, options.max_num_speculative_tokens)


def on_cpu(context: EngineContext) -> bool:
    return schema.is_cpu_build() or context.device == "cpu"


def in_one_process(options: VllmOptions, context: EngineContext) -> bool:
    """Whether vLLM's scheduler and its one worker live in our child: on a CPU three processes only load three times."""
    parallel = options.tensor_parallel_size, options.pipeline_parallel_size, options.data_parallel_size
    return on_cpu(context) and max(parallel) == 1 and options.distributed_executor_backend is None


def environment(config: RunConfig, context: EngineContext) -> dict[str, str]:
    """Variables to be set before vLLM is imported; what the operator has set stays."""
    options = checked_options(config)
    wanted = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "VLLM_LOGGING_LEVEL": "INFO", "NO_COLOR": "1"}
    if context.offline:
        wanted["HF_HUB_OFFLINE"] = "1"
    if options.mode == "trace":
        wanted["VLLM_USE_V2_MODEL_RUNNER"] = "0"  # the newer runner drafts on the device and tells nobody the ids
    if on_cpu(context):
        wanted |= {"OMP_WAIT_POLICY": "PASSIVE", "OMP_NUM_THREADS": str(_cpu_threads())}
    forced = {"OMP_NUM_THREADS": str(context.threads)} if context.threads else {}
    if in_one_process(options, context):
        forced["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
    if context.device.startswith("cuda:") and "CUDA_VISIBLE_DEVICES" not in os.environ:
        forced["CUDA_VISIBLE_DEVICES"] = context.device.removeprefix("cuda:")
    return {name: value for name, value in wanted.items() if name not in os.environ} | forced


def engine_arguments(config: RunConfig, context: EngineContext) -> dict[str, Any]:
    """Keyword arguments of vLLM's `EngineArgs`.

    Raises:
        PlaygroundError: the models are not here, or cannot be loaded safely.
    """
    options = checked_options(config)
    arguments: dict[str, Any] = {
        "model": model_path(config.target, context),
        "dtype": _dtype(config, context),
        "load_format": "safetensors",  # never a pickle
        "trust_remote_code": context.trust_remote_code,
        "seed": 0,
        "max_model_len": options.max_model_len or -1,  # -1: the model's own, or as much as the memory holds
        "gpu_memory_utilization": options.gpu_memory_utilization,
        "max_num_seqs": options.max_num_seqs,
        "kv_cache_dtype": options.kv_cache_dtype,
        "enforce_eager": on_cpu(context) if options.enforce_eager is None else options.enforce_eager,
        "enable_prefix_caching": False,  # the second of two equal prompts must not be quicker
        "disable_log_stats": True,
        "scheduler_cls": f"{_PACKAGE}.trace.TraceScheduler",
        **{name: value for name in _PARALLEL if (value := getattr(options, name)) not in (None, 1)},
    }
    if options.mode == "trace":
        arguments["async_scheduling"] = False
    if options.quantization:
        arguments["quantization"] = options.quantization
    if options.candidates:
        arguments["logprobs_mode"] = LOGPROBS_MODE
    if on_cpu(context) and "VLLM_CPU_KVCACHE_SPACE" not in os.environ:
        arguments["kv_cache_memory_bytes"] = CPU_KV_CACHE_BYTES
    return arguments | _speculative_arguments(config, context)


_PARALLEL = (
    "tensor_parallel_size",
    "pipeline_parallel_size",
    "data_parallel_size",
    "distributed_executor_backend",
)


def _speculative_arguments(config: RunConfig, context: EngineContext) -> dict[str, Any]:
    found = checked_speculation(config)
    if found is None:
        return {}
    speculation, chosen = found
    drafting = {"method": speculation.method, "num_speculative_tokens": loaded_k(config), **chosen}
    if speculation.model and not speculation.method.startswith(("ngram", "suffix")):
        drafting["model"] = model_path(speculation.model, context, whole=speculation.method == "draft_model")
    arguments: dict[str, Any] = {"speculative_config": drafting, "per_request_spec_decode_metrics": "detailed"}
    if schema.is_cpu_build() and version() in REPAIRED_CPU_BUILDS:
        arguments["worker_extension_cls"] = f"{_PACKAGE}.cpu_repair.Repair"
    return arguments


def refuse_unchecked_sampling(config: RunConfig) -> None:
    """Raises PlaygroundError where a CPU build's sampling under speculation was never checked (and may be wrong)."""
    sampled = config.speculation is not None and not config.sampling.greedy
    if sampled and schema.is_cpu_build() and version() not in REPAIRED_CPU_BUILDS:
        raise PlaygroundError(
            Sentence(
                "vLLM {version} on a CPU may sample wrongly while it speculates: version 0.32.0 does, and this "
                "one was not checked.",
                version=version(),
            ),
            Sentence(
                "Set the temperature to 0, or install vLLM {repaired}, which is repaired here.",
                repaired=REPAIRED_CPU_BUILDS[-1],
            ),
            code="unchecked_version",
        )


def model_path(name: str, context: EngineContext, *, whole: bool = True) -> str:
    """Where vLLM finds the model called `name`.

    Args:
        whole: it must have a tokenizer; a head on the target's states has none.

    Raises:
        PlaygroundError: it is not here, not whole, or not safe to open.
    """
    path = models.resolve(name, context.model_paths or {}, offline=context.offline)
    place = Path(path)
    if not place.exists():
        return path  # a hub id
    if place.suffix == ".gguf":
        raise PlaygroundError(
            Sentence("vLLM does not load the GGUF file “{name}”.", name=name),
            Sentence("Give a safetensors folder; the embedded engine reads GGUF files."),
            code="bad_model",
        )
    problem = models.inspect(name, place).problem
    if problem and (whole or "tokenizer" not in problem):
        what, fix = models.cause_and_fix(problem)
        raise PlaygroundError(
            Sentence("The model “{name}” cannot be loaded. {what}", name=name, what=what),
            (fix or Sentence("Give another folder.")),
            code="bad_model",
        )
    return path


def _dtype(config: RunConfig, context: EngineContext) -> str:
    """On a CPU "auto" is what the embedded engine takes there; elsewhere what the model says."""
    if config.dtype != "auto" or not on_cpu(context):
        return config.dtype
    import torch

    from playground.engines._device import pick_dtype

    return str(pick_dtype("auto", torch.device("cpu"))).removeprefix("torch.")


def version() -> str:
    """Of the installed vLLM, without its build's tag; "" where there is none."""
    found = schema.distribution()
    return "" if found is None else found[1].split("+")[0]


def _cpu_threads() -> int:
    """The physical cores this process may use."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(allowed, psutil.cpu_count(logical=False) or allowed))
