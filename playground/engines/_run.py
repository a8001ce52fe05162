"""One run on loaded models, from prompt to plan: checks, budget, law, drafter, what the run says of itself.

Runs in the engine's torch thread; the step loop is in _generation.py. Knows nothing of queues or of loading.
"""

import secrets
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
import transformers

from playground import __version__
from playground.config import RunConfig, checked
from playground.decoding.draft_run import DraftRun
from playground.decoding.law import SamplingLaw
from playground.drafters import Drafter
from playground.engines._generation import ROOM, Generation, Plan
from playground.engines._heads import LoadedHead
from playground.engines._loading import Loaded
from playground.engines._models import Models, method, must_rewind
from playground.engines._prompt import render
from playground.engines.embedded import EmbeddedOptions
from playground.errors import PlaygroundError
from playground.events import Event, RunStarted
from playground.sentence import Sentence


@torch.inference_mode()
def run(models: Models, config: RunConfig, prompt: str, aborted: Callable[[], bool]) -> Iterator[Event]:
    """Every event of one run. Raises PlaygroundError where it cannot start or go on."""
    options = checked(EmbeddedOptions, config.engine_options, where=Sentence("the embedded engine's options"))
    yield from models.ready(config)
    origin = time.perf_counter()
    target, draft, speculation = models.target, models.draft(config.speculation), config.speculation
    hidden = draft.hidden() if isinstance(draft, LoadedHead) else None
    ids, text, warnings = render(config, prompt, target.tokenizer)
    budget, notes = _budget(config, options, target, ids)
    warnings += notes
    seed = config.sampling.seed if config.sampling.seed is not None else secrets.randbits(48)
    law = _law(config, target)
    generator = None if law.greedy else torch.Generator(target.model.device).manual_seed(seed)
    drafter: Drafter | None = None
    if speculation is not None:
        must_rewind(target, Sentence("Run it without speculation, or choose a target with attention layers only."))
        kind, chosen = method(speculation)
        drafter = kind(
            chosen,
            DraftRun(
                device=target.model.device,
                vocab_size=target.vocab_size,
                law=law,
                prompt_length=len(ids),
                generator=generator,
                model=draft.model if isinstance(draft, Loaded) else None,
                expected_length=len(ids) + min(budget, ROOM),
                head=draft.head if isinstance(draft, LoadedHead) else None,
                hidden=hidden,
            ),
        )
    if isinstance(draft, Loaded):
        warnings += _draft_warnings(target, draft, len(ids), budget)
    environment = _environment(models, config, draft)
    yield RunStarted(tuple(ids), text, {**environment, "seed": seed, "warnings": warnings})
    plan = Plan(
        target=target,
        prompt=ids,
        sampling=config.sampling,
        law=law,
        budget=budget,
        generator=generator,
        drafter=drafter,
        k=0 if speculation is None else speculation.num_speculative_tokens,
        candidates=options.candidates,
        chunk=options.prefill_chunk,
        aborted=aborted,
        origin=origin,
        hidden=hidden,
    )
    yield from Generation(plan).events()


def is_fatal(error: BaseException) -> bool:
    """Whether the process cannot go on: a fault inside an accelerator poisons it for good."""
    fault = getattr(torch, "AcceleratorError", None)
    return fault is not None and isinstance(error, fault) and not isinstance(error, torch.OutOfMemoryError)


def _budget(config: RunConfig, options: EmbeddedOptions, target: Loaded, ids: list[int]) -> tuple[int, list[str]]:
    """Tokens this run may deliver: max_tokens, or what the context leaves, with a note."""
    if max(ids) >= target.logit_rows:
        raise PlaygroundError(
            Sentence(
                "The tokenizer gives id {id}, the target model knows {rows} ids.", id=max(ids), rows=target.logit_rows
            ),
            Sentence("Tokenizer and model do not belong together; download the model again."),
            code="bad_model",
        )
    limit = min(options.max_model_len or target.model.max_positions, target.model.max_positions)
    room, wanted = limit - len(ids), config.sampling.max_tokens
    if room < 1:
        raise PlaygroundError(
            Sentence(
                "The prompt has {n:,} tokens, the context of {target} holds {limit:,} with the answer.",
                n=len(ids),
                target=config.target,
                limit=limit,
            ),
            Sentence("Shorten the prompt, or choose a model with a longer context."),
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


def _law(config: RunConfig, target: Loaded) -> SamplingLaw:
    sampling = config.sampling
    stop_ids = [] if sampling.ignore_eos else sorted(target.eos_ids)
    return SamplingLaw(
        temperature=sampling.temperature,
        top_k=sampling.top_k,
        top_p=sampling.top_p,
        min_p=sampling.min_p,
        repetition_penalty=sampling.repetition_penalty,
        presence_penalty=sampling.presence_penalty,
        frequency_penalty=sampling.frequency_penalty,
        min_tokens=sampling.min_tokens,
        stop_ids=tuple(i for i in stop_ids if i < target.vocab_size),
    )


def _draft_warnings(target: Loaded, draft: Loaded, prompt: int, budget: int) -> list[str]:
    warnings: list[str] = []
    window = draft.model.max_positions
    if window < prompt:
        warnings.append(
            Sentence(
                "The draft model reads {window:,} tokens, the prompt has {prompt:,}: nothing is drafted.",
                window=window,
                prompt=prompt,
            )
        )
    elif window < prompt + budget - 1:
        warnings.append(
            Sentence("The draft model reads {window:,} tokens: nothing is drafted past that.", window=window)
        )
    if draft.logit_rows != target.logit_rows:
        warnings.append(Sentence("Target and draft differ in padding of the vocabulary only."))
    if draft.tokenizer.chat_template != target.tokenizer.chat_template:
        warnings.append(Sentence("The draft has another chat template (or none); the target's is used for both."))
    if draft.tokenizer.bos_token_id != target.tokenizer.bos_token_id:
        warnings.append(Sentence("The draft has another BOS token; the target's is used for both."))
    return warnings


def _environment(models: Models, config: RunConfig, draft: Loaded | LoadedHead | None) -> dict[str, Any]:
    """What decides speed and text besides the configuration: JSON values only, nothing of torch's own types."""
    target = models.target
    models.runs += 1
    return {
        "engine": "embedded",
        "engine_path": f"forward pass {target.forward}, attention {target.attention}",
        "device": target.device,
        "hardware": models.hardware,
        "dtype": target.dtype,
        "threads": torch.get_num_threads(),
        "greedy": config.sampling.greedy,
        "target_path": target.path,
        "draft_path": None if draft is None else draft.path,
        "runs_since_load": models.runs - 1,
        "versions": {
            "draftboard": __version__,
            "torch": str(torch.__version__),
            "transformers": str(transformers.__version__),
        },
    }
