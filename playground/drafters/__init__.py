"""Drafting methods of the embedded engine. One file = one method; this file is only their protocol.

A file must be light to import (torch where it is used): the page reads `Options` and `NEEDS_MODEL` in a process that
never touches the device.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pydantic import BaseModel

if TYPE_CHECKING:
    import torch

PACKAGE = __name__


@dataclass(frozen=True, slots=True)
class Draft:
    """A proposal of k' tokens, 0 <= k' <= k.

    `token_ids`: int64 [k'] on the target's device. `probs`: float32 [k', V], the law each id was sampled from (after
    temperature and filters), or None for a one-hot law (n-gram, greedy drafts).
    """

    token_ids: "torch.Tensor"
    probs: "torch.Tensor | None" = None
    logits: "torch.Tensor | None" = None
    """float32 [k', V] raw logits, for the inspector; None where the method has no law of its own."""


class Drafter(Protocol):
    """What every file of this package defines under the name `Drafter`: one instance per run."""

    Options: type[BaseModel]
    """Checks `Speculation.options`; its fields are the method's controls, flags and stored config."""

    NEEDS_MODEL: bool
    """Whether `Speculation.model` must be given."""

    DRAFTS_WITH: frozenset[Literal["model", "head"]]
    """What `Speculation.model` may be: a causal language model, an EAGLE-3 head for the target; empty without one."""

    def __init__(self, options: BaseModel, run: Any) -> None:
        """`run` (decoding's `DraftRun`) gives the loaded draft model where needed, device, and the sampling law."""

    def propose(self, context: Sequence[int], k: int) -> Draft:
        """Draft up to k tokens after `context` (all ids so far, growing by appending between calls).

        Stateless to callers: it rewinds its own state to the prefix it shares with `context`.
        """
