"""Loading an EAGLE-3 head for a loaded target: it shares the target's embeddings, device and number format.

Knows heads and targets, nothing of runs.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from playground.decoding.eagle3 import Eagle3Head, Eagle3Session
from playground.decoding.hidden import HiddenStates
from playground.engines._loading import Loaded
from playground.errors import PlaygroundError
from playground.headfiles import head_config, read_shape
from playground.headweights import read_head
from playground.sentence import Sentence


@dataclass(frozen=True, slots=True)
class LoadedHead:
    """A head ready to draft for one target."""

    name: str
    path: str
    head: Eagle3Head

    def hidden(self) -> HiddenStates:
        """Where one run's target leaves the hidden states that the head reads."""
        return HiddenStates(self.head.shape.taps)


def load_head(name: str, path: str, target: Loaded) -> LoadedHead | None:
    """The head in a folder; None where the folder holds no head.

    Raises:
        PlaygroundError: it is a head, but not whole, not of a kind we run, or not for this target.
    """
    config = head_config(Path(path))
    if config is None:
        return None
    module = target.model.module
    text = module.config.get_text_config(decoder=True)
    shape = read_shape(name, config, int(text.num_hidden_layers))
    for what, needs, has in (
        (Sentence("hidden states of width"), shape.target_hidden_size, int(text.hidden_size)),
        (Sentence("a vocabulary of"), shape.vocab_size, target.logit_rows),
    ):
        if needs != has:
            raise PlaygroundError(
                Sentence(
                    "The head “{name}” was made for a target with {what} {needs:,}; {target} has {has:,}.",
                    name=name,
                    what=what,
                    needs=needs,
                    target=target.name,
                    has=has,
                ),
                Sentence(
                    "A head drafts only for the model it was trained on; choose that target, or train a head for "
                    "this one."
                ),
                code="incompatible_pair",
            )
    embeddings, output = module.get_input_embeddings().weight, module.get_output_embeddings()
    head = read_head(name, Path(path), shape, embeddings.detach(), _weight(output))
    _warm(head)
    return LoadedHead(name, path, head)


def check_kind(method: str, accepts: frozenset[str], name: str, path: str) -> None:
    """Raises PlaygroundError where a method drafts with a model and is given a head, or the other way round."""
    found = "model" if head_config(Path(path)) is None else "head"
    if found not in accepts:
        wants = (
            Sentence("an EAGLE-3 head") if "head" in accepts else Sentence("a draft model with the target's tokenizer")
        )
        given = Sentence("no head") if found == "model" else Sentence("a head")
        other = "draft_model" if found == "model" else "eagle3"
        raise PlaygroundError(
            Sentence(
                "The method {method} drafts with {wanted}; {name} is {given}.",
                method=method,
                wanted=wants,
                name=name,
                given=given,
            ),
            Sentence("Choose another draft, or the method {other}.", other=other),
            code="bad_config",
        )


def _weight(output: Any) -> torch.Tensor | None:
    weight = getattr(output, "weight", None)
    return weight.detach() if isinstance(weight, torch.Tensor) else None


def _warm(head: Eagle3Head) -> None:
    """The shapes of a step: what was accepted is read together, then one token after another is drafted."""
    session = Eagle3Session(head)
    for count in (2, 1, 3, 1):
        ids = torch.zeros(count, dtype=torch.long, device=head.device)
        fused = head.fc.weight.new_zeros(count, head.shape.target_hidden_size * len(head.shape.taps))
        float(head.logits(session.feed(ids, head.fuse(fused)))[0, 0])
