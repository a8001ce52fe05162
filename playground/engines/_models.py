"""The models one engine holds, and the life of one run on them: checks, prompt, environment, then the step loop.

Everything here runs in the engine's torch thread. Knows loading and drafters; nothing of queues.
"""

import os
import secrets
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
import transformers

from playground import __version__, drafters
from playground.config import RunConfig, Speculation, checked
from playground.decoding.draft_run import DraftRun
from playground.decoding.law import SamplingLaw
from playground.decoding.model import ModelSession
from playground.drafters import Drafter
from playground.engines import EngineContext
from playground.engines._generation import ROOM, Generation, Plan
from playground.engines._loading import Loaded, load
from playground.engines._prompt import render
from playground.engines.embedded import EmbeddedOptions
from playground.errors import PlaygroundError
from playground.events import Event, Loading, RunStarted
from playground.gpu import describe
from playground.pairs import check_vocabulary
from playground.registry import extension

WARM_K = 5
"""Shapes warmed up when the first run drafts nothing: a baseline is usually followed by its other arm."""


def is_fatal(error: BaseException) -> bool:
    """Whether the process cannot go on: a fault inside an accelerator poisons it for good."""
    fault = getattr(torch, "AcceleratorError", None)
    return fault is not None and isinstance(error, fault) and not isinstance(error, torch.OutOfMemoryError)


class Models:
    """The target, the draft models met so far, and everything they are warm for."""

    def __init__(self, config: RunConfig, context: EngineContext) -> None:
        self._config = config
        self._context = context
        self._options = checked(EmbeddedOptions, config.engine_options, where="the embedded engine's options")
        self._drafts: dict[str, Loaded] = {}
        self._hardware = ""
        self._runs = 0

    @torch.inference_mode()
    def load(self) -> Iterator[Loading]:
        config = self._config
        yield Loading("weights", f"Loading {config.target}.")
        self._target = load(config.target, config.dtype, self._options.attn_implementation, self._context)
        self._hardware = _hardware(self._target.model.device)
        k = config.speculation.num_speculative_tokens if config.speculation else WARM_K
        yield Loading("warm-up", "Warming up.")
        self._warm(self._target, k + 1)

    def run(self, config: RunConfig, prompt: str, aborted: Callable[[], bool]) -> Iterator[Event]:
        """Every event of one run. Raises PlaygroundError where it cannot run or go on."""
        # Not as a decorator: a generator would leave inference mode with its first event.
        yield from _in_inference_mode(self._run(config, prompt, aborted))

    def _run(self, config: RunConfig, prompt: str, aborted: Callable[[], bool]) -> Iterator[Event]:
        options = checked(EmbeddedOptions, config.engine_options, where="the embedded engine's options")
        yield from self._ready_draft(config)
        if config.speculation:
            yield from self._ready_shapes(config.speculation.num_speculative_tokens + 1)
        origin = time.perf_counter()
        ids, text, warnings = render(config, prompt, self._target.tokenizer)
        self._check_ids(ids)
        budget, notes = self._budget(config, options, len(ids))
        seed = config.sampling.seed if config.sampling.seed is not None else secrets.randbits(48)
        law = self._law(config)
        generator = None if law.greedy else torch.Generator(self._target.model.device).manual_seed(seed)
        drafter, more = self._drafter(config, law, generator, len(ids), budget)
        warnings += notes + more
        yield RunStarted(tuple(ids), text, self._environment(config, seed, warnings))
        plan = Plan(
            target=self._target,
            prompt=ids,
            sampling=config.sampling,
            law=law,
            budget=budget,
            generator=generator,
            drafter=drafter,
            k=config.speculation.num_speculative_tokens if config.speculation else 0,
            candidates=options.candidates,
            chunk=options.prefill_chunk,
            aborted=aborted,
            origin=origin,
        )
        self._runs += 1
        yield from Generation(plan).events()

    def _check_ids(self, ids: list[int]) -> None:
        worst = max(ids)
        if worst >= self._target.logit_rows:
            raise PlaygroundError(
                f"The tokenizer gives id {worst}, the target model knows {self._target.logit_rows} ids.",
                "Tokenizer and model do not belong together; download the model again.",
                code="bad_model",
            )

    def _budget(self, config: RunConfig, options: EmbeddedOptions, prompt: int) -> tuple[int, list[str]]:
        """Tokens this run may deliver: max_tokens, or what the context leaves."""
        limit = min(options.max_model_len or self._target.model.max_positions, self._target.model.max_positions)
        room = limit - prompt
        if room < 1:
            raise PlaygroundError(
                f"The prompt has {prompt:,} tokens, the context of {config.target} holds {limit:,} with the answer.",
                "Shorten the prompt, or choose a model with a longer context.",
                code="prompt_too_long",
            )
        wanted = config.sampling.max_tokens
        if wanted <= room:
            return wanted, []
        return room, [f"The context of {limit:,} tokens leaves {room:,} for the answer, not {wanted:,}."]

    def _law(self, config: RunConfig) -> SamplingLaw:
        sampling = config.sampling
        stop_ids = () if sampling.ignore_eos else tuple(sorted(self._target.eos_ids))
        return SamplingLaw(
            temperature=sampling.temperature,
            top_k=sampling.top_k,
            top_p=sampling.top_p,
            min_p=sampling.min_p,
            repetition_penalty=sampling.repetition_penalty,
            presence_penalty=sampling.presence_penalty,
            frequency_penalty=sampling.frequency_penalty,
            min_tokens=sampling.min_tokens,
            stop_ids=tuple(i for i in stop_ids if i < self._target.vocab_size),
        )

    def _drafter(
        self, config: RunConfig, law: SamplingLaw, generator: torch.Generator | None, prompt: int, budget: int
    ) -> tuple[Drafter | None, list[str]]:
        """The drafter of this run and what is to be said about it."""
        speculation = config.speculation
        if speculation is None:
            return None, []
        kind, options = _method(speculation)
        if not self._target.model.rewindable:
            raise PlaygroundError(
                f"{config.target} keeps a state that cannot be rewound (linear attention or Mamba layers).",
                "Run it without speculation, or choose a target with attention layers only.",
                code="not_rewindable",
            )
        draft = self._drafts[speculation.model] if kind.NEEDS_MODEL and speculation.model else None
        run = DraftRun(
            device=self._target.model.device,
            vocab_size=self._target.vocab_size,
            law=law,
            prompt_length=prompt,
            generator=generator,
            model=None if draft is None else draft.model,
            expected_length=prompt + min(budget, ROOM),
        )
        drafter: Drafter = kind(options, run)
        return drafter, [] if draft is None else _draft_warnings(self._target, draft, prompt, budget)

    def _ready_draft(self, config: RunConfig) -> Iterator[Loading]:
        """Loads the draft model of this configuration, if it has one and it is not here yet."""
        if config.speculation is None:
            return
        kind, _ = _method(config.speculation)
        name = config.speculation.model
        if not kind.NEEDS_MODEL:
            return
        if not name:
            raise PlaygroundError(
                f"The method {config.speculation.method} needs a draft model.", "Choose one.", code="bad_config"
            )
        if name in self._drafts:
            return
        yield Loading("draft", f"Loading the draft model {name}.")
        draft = load(name, config.dtype, self._options.attn_implementation, self._context)
        check_vocabulary(self._target.tokenizer, draft.tokenizer, self._target.logit_rows, draft.logit_rows)
        if not draft.model.rewindable:
            raise PlaygroundError(
                f"The draft model {name} keeps a state that cannot be rewound (linear attention or Mamba layers).",
                "Choose a draft model with attention layers only.",
                code="not_rewindable",
            )
        yield Loading("warm-up", f"Warming up {name}.")
        self._warm(draft, 2)
        self._drafts[name] = draft

    def _ready_shapes(self, count: int) -> Iterator[Loading]:
        if count > max(self._target.warmed, default=0):
            yield Loading("warm-up", f"Warming up for {count - 1} draft tokens.")
            self._warm(self._target, count)

    def _warm(self, loaded: Loaded, count: int) -> None:
        """Run every number of tokens a step may feed, so that the first run a person sees is a fair one."""
        model = loaded.model
        count = min(count, model.max_positions - 2)
        for size in range(1, count + 1):
            if size not in loaded.warmed:
                session = ModelSession(model, loaded.vocab_size)
                session.feed(torch.zeros(2, dtype=torch.long, device=model.device), keep=1)
                # Reading a number waits for an accelerator.
                float(session.feed(torch.zeros(size, dtype=torch.long, device=model.device), keep=size)[0, 0])
                loaded.warmed.add(size)

    def _environment(self, config: RunConfig, seed: int, warnings: list[str]) -> dict[str, Any]:
        target = self._target
        draft = self._drafts.get(config.speculation.model or "") if config.speculation else None
        return {
            "engine": "embedded",
            "engine_path": f"transformers, attention {target.attention}",
            "device": target.device,
            "hardware": self._hardware,
            "dtype": target.dtype,
            "threads": torch.get_num_threads(),
            "seed": seed,
            "greedy": config.sampling.greedy,
            "target_path": target.path,
            "draft_path": None if draft is None else draft.path,
            "runs_since_load": self._runs,
            "versions": {
                "draftboard": __version__,
                "torch": str(torch.__version__),
                "transformers": transformers.__version__,
            },
            "warnings": warnings,
        }


def _method(speculation: Speculation) -> tuple[Any, Any]:
    """(Drafter class, its checked options)."""
    kind = extension(drafters.PACKAGE, speculation.method, "drafting method").Drafter
    return kind, checked(kind.Options, speculation.options, where=f"the options of {speculation.method}")


def _draft_warnings(target: Loaded, draft: Loaded, prompt: int, budget: int) -> list[str]:
    warnings = []
    window = draft.model.max_positions
    if window < prompt:
        warnings.append(f"The draft model reads {window:,} tokens, the prompt has {prompt:,}: nothing is drafted.")
    elif window < prompt + budget - 1:
        warnings.append(f"The draft model reads {window:,} tokens: nothing is drafted past that.")
    if draft.logit_rows != target.logit_rows:
        warnings.append("Target and draft differ in padding of the vocabulary only.")
    if draft.tokenizer.chat_template != target.tokenizer.chat_template:
        warnings.append("The draft has another chat template (or none); the target's is used for both.")
    if draft.tokenizer.bos_token_id != target.tokenizer.bos_token_id:
        warnings.append("The draft has another BOS token; the target's is used for both.")
    return warnings


def _in_inference_mode(events: Iterator[Event]) -> Iterator[Event]:
    while True:
        with torch.inference_mode():
            event = next(events, None)
        if event is None:
            return
        yield event


def _hardware(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return str(describe()[-1]["name"]) if device.type == "cpu" else f"Apple {os.uname().machine}"
