"""Tiny EAGLE-3 heads for tiny targets, and a drafter with its target read along. Helpers for tests, no tests."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from playground.decoding.eagle3 import Eagle3Head, Eagle3Shape
from playground.decoding.hidden import HiddenStates
from playground.decoding.model import CausalModel, ModelSession
from playground.drafters import Draft
from playground.headweights import write_head
from tests import tiny

DRAFT_VOCAB = 200


def shape_for(model: Any, draft_vocab_size: int = DRAFT_VOCAB, **overrides: Any) -> Eagle3Shape:
    """A head's shape for a tiny Llama: its sizes, the states before its first and its last layer."""
    config = model.config
    sizes: dict[str, Any] = {
        "hidden_size": config.hidden_size,
        "target_hidden_size": config.hidden_size,
        "intermediate_size": config.intermediate_size,
        "num_attention_heads": config.num_attention_heads,
        "num_key_value_heads": config.num_key_value_heads,
        "head_dim": config.hidden_size // config.num_attention_heads,
        "vocab_size": config.vocab_size,
        "draft_vocab_size": draft_vocab_size,
        "taps": (0, config.num_hidden_layers - 1),
        "rms_norm_eps": config.rms_norm_eps,
    }
    return Eagle3Shape(**{**sizes, **overrides})


def random_head(model: Any, *, seed: int = 0, targets: Sequence[int] | None = None, **overrides: Any) -> Eagle3Head:
    """A head with random weights; by default it knows the first `DRAFT_VOCAB` ids from UNK on."""
    torch.manual_seed(seed)
    known = torch.tensor(list(targets) if targets is not None else range(2, 2 + DRAFT_VOCAB))
    shape = shape_for(model, len(known), **overrides)
    head = Eagle3Head(shape, model.get_input_embeddings().weight.detach(), known)
    for name, weight in head.named_parameters():
        if weight.dim() > 1:
            torch.nn.init.normal_(weight, std=0.3)
        elif "norm" in name:
            torch.nn.init.uniform_(weight, 0.5, 1.5)
    return head.eval().requires_grad_(False)


def make_head(folder: Path, target: Path, *, like_target: bool = False, **settings: Any) -> Path:
    """Writes a random head for the model in `target`; `like_target` makes its output layer the target's, so that it is
    sometimes right.
    """
    model = AutoModelForCausalLM.from_pretrained(target, dtype=torch.float32)
    head = random_head(model, **settings)
    if like_target:
        with torch.no_grad():
            size = model.config.hidden_size
            head.fc.weight.zero_()
            head.fc.weight[:, -size:] = torch.eye(size)
            head.norm.copy_(model.model.norm.weight)
            head.lm_head.weight.copy_(model.get_output_embeddings().weight[head.targets])
            for part in (head.o_proj, head.down_proj):
                part.weight.mul_(0.1)
    write_head(folder, head, {})
    return folder


class WithTarget:
    """A drafter whose target reads every context first, as the step loop has it; rewinds both for any context."""

    def __init__(self, drafter: Any, model: CausalModel, hidden: HiddenStates) -> None:
        self._drafter = drafter
        self._hidden = hidden
        self._session = ModelSession(model, tiny.VOCAB, taps=hidden.taps)
        self._read: list[int] = []

    def propose(self, context: Sequence[int], k: int) -> Draft:
        wanted = list(context[:-1])
        same = next((i for i, (a, b) in enumerate(zip(self._read, wanted, strict=False)) if a != b), None)
        kept = max((min(len(self._read), len(wanted)) if same is None else same) - 1, 0)
        self._session.rewind(kept)
        self._hidden.rewind(kept)
        if new := wanted[kept:]:
            self._session.feed(torch.tensor(new), keep=0)
            self._hidden.append(self._session.tapped)
        self._read = wanted
        draft: Draft = self._drafter.propose(context, k)
        return draft
