"""The models one engine holds: the target, the draft models asked for so far, and the shapes they are warm for.

Everything here runs in the engine's torch thread. Knows loading and which method needs a model; nothing of runs.
"""

import os
from collections.abc import Iterator
from typing import Any

import torch

from playground import drafters
from playground.config import Dtype, RunConfig, Speculation, checked
from playground.decoding.model import ModelSession
from playground.engines import EngineContext
from playground.engines._heads import LoadedHead, check_kind, load_head
from playground.engines._loading import Loaded, load
from playground.engines._threads import set_threads
from playground.engines.embedded import EmbeddedOptions
from playground.errors import PlaygroundError
from playground.events import Loading
from playground.gpu import describe
from playground.models import resolve
from playground.pairs import check_vocabulary
from playground.registry import extension
from playground.sentence import Sentence

WARM_K = 5
"""Shapes warmed up when the first run drafts nothing: a baseline is usually followed by its other arm."""

DRAFTS_KEPT = 2
"""Draft models kept loaded: comparing two stays quick, trying many does not fill the device."""


class Models:
    """Loads on demand. `target` and `hardware` are there after `load`."""

    target: Loaded
    hardware: str
    runs = 0
    """Started since loading."""

    def __init__(self, config: RunConfig, context: EngineContext) -> None:
        self._config = config
        self._context = context
        self._options = checked(EmbeddedOptions, config.engine_options, where=Sentence("the embedded engine's options"))
        self._drafts: dict[str, Loaded | LoadedHead] = {}

    @torch.inference_mode()
    def load(self) -> Iterator[Loading]:
        """The target, warmed up. Raises PlaygroundError when it cannot."""
        config = self._config
        yield Loading("weights", Sentence("Loading {target}.", target=config.target))
        set_threads(self._context)
        self.target = self._load(config.target, config.dtype)
        self.hardware = _hardware(self.target.model.device)
        k = config.speculation.num_speculative_tokens if config.speculation else WARM_K
        yield Loading("warm-up", Sentence("Warming up."))
        _warm(self.target, k + 1)

    @torch.inference_mode()
    def ready(self, config: RunConfig) -> Iterator[Loading]:
        """Whatever this configuration needs beyond the target. Raises PlaygroundError when it cannot be had."""
        speculation = config.speculation
        if speculation is None:
            return
        kind, _ = method(speculation)
        if kind.NEEDS_MODEL:
            if not speculation.model:
                raise PlaygroundError(
                    Sentence("The method {method} needs a draft model.", method=speculation.method),
                    Sentence("Choose one."),
                    code="bad_config",
                )
            path = resolve(speculation.model, self._context.model_paths or {}, offline=self._context.offline)
            check_kind(speculation.method, kind.DRAFTS_WITH, speculation.model, path)
            yield from self._ready_draft(speculation.model, path, config)
        count = min(speculation.num_speculative_tokens + 1, _warmable(self.target))
        if count > max(self.target.warmed, default=0):
            yield Loading("warm-up", Sentence("Warming up for {n} draft tokens.", n=count - 1))
            _warm(self.target, count)

    def draft(self, speculation: Speculation | None) -> Loaded | LoadedHead | None:
        """The draft model or head that `ready` prepared; None for methods that need none."""
        if speculation is None or not method(speculation)[0].NEEDS_MODEL:
            return None
        return self._drafts[speculation.model or ""]

    def _load(self, name: str, dtype: Dtype) -> Loaded:
        options = self._options
        return load(name, dtype, options.attn_implementation, self._context, options.forward_pass)

    def _ready_draft(self, name: str, path: str, config: RunConfig) -> Iterator[Loading]:
        if name in self._drafts:
            self._drafts[name] = self._drafts.pop(name)  # the last one used is the last one dropped
            return
        if path == self.target.path:
            self._drafts[name] = self.target
            return
        yield Loading("draft", Sentence("Loading the draft model {name}.", name=name))
        while len(self._drafts) >= DRAFTS_KEPT:
            del self._drafts[next(iter(self._drafts))]
        if (head := load_head(name, path, self.target)) is not None:
            self._drafts[name] = head
            return
        draft = self._load(name, config.dtype)
        check_vocabulary(self.target.tokenizer, draft.tokenizer, self.target.logit_rows, draft.logit_rows)
        must_rewind(draft, Sentence("Choose a draft model with attention layers only."))
        yield Loading("warm-up", Sentence("Warming up {name}.", name=name))
        _warm(draft, 2)
        self._drafts[name] = draft


def method(speculation: Speculation) -> tuple[Any, Any]:
    """(Drafter class, its checked options)."""
    kind = extension(drafters.PACKAGE, speculation.method, Sentence("drafting method")).Drafter
    return kind, checked(
        kind.Options, speculation.options, where=Sentence("the options of {method}", method=speculation.method)
    )


def must_rewind(loaded: Loaded, hint: str) -> None:
    """Raises PlaygroundError for a model that speculation cannot take back."""
    if not loaded.model.rewindable:
        raise PlaygroundError(
            Sentence(
                "{model} keeps a state that cannot be rewound (linear attention or Mamba layers).", model=loaded.name
            ),
            hint,
            code="not_rewindable",
        )


def _warmable(loaded: Loaded) -> int:
    return loaded.model.max_positions - 2


def _warm(loaded: Loaded, count: int) -> None:
    """Run every number of tokens a step may feed, so that the first run a person sees is a fair one."""
    model = loaded.model
    for size in range(1, min(count, _warmable(loaded)) + 1):
        if size not in loaded.warmed:
            session = ModelSession(model, loaded.vocab_size)
            session.feed(torch.zeros(2, dtype=torch.long, device=model.device), keep=1)
            # Reading a number waits for an accelerator.
            float(session.feed(torch.zeros(size, dtype=torch.long, device=model.device), keep=size)[0, 0])
            loaded.warmed.add(size)


def _hardware(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return str(describe()[-1]["name"]) if device.type == "cpu" else f"Apple {os.uname().machine}"
