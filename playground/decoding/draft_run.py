"""What a drafter is given for one run: the loaded draft model where it needs one, and the law to draft by."""

from dataclasses import dataclass, field

import torch

from playground.decoding.eagle3 import Eagle3Head
from playground.decoding.hidden import HiddenStates
from playground.decoding.law import SamplingLaw
from playground.decoding.model import CausalModel


@dataclass(frozen=True, slots=True)
class DraftRun:
    """One run, as a drafter sees it.

    Attributes:
        device: where `Draft` tensors must lie.
        vocab_size: ids from here on are padding and must never be drafted.
        law: the target's sampling law; a draft with a law of its own must use the same.
        prompt_length: how many ids at the start of the context are the prompt (penalties tell them apart).
        generator: source of randomness of this run; None at temperature 0.
        model: the loaded draft model, without cache; None for methods that need none.
        expected_length: how long the context may grow, to size caches once.
        head, hidden: the loaded EAGLE-3 head and the target's hidden states; None for methods that need none.
    """

    device: torch.device
    vocab_size: int
    law: SamplingLaw = field(default_factory=SamplingLaw)
    prompt_length: int = 0
    generator: torch.Generator | None = None
    model: CausalModel | None = None
    expected_length: int = 0
    head: Eagle3Head | None = None
    hidden: HiddenStates | None = None
