"""An EAGLE-3 head drafts on from the target's own hidden states (Li et al. 2025), as a chain.

The head keeps keys and values of its own: what it made of the target's states stays, what it made of its own guesses is
thrown away after each draft, and a rewind of the target is a rewind here. Outside its reduced vocabulary the head's law
is zero, which the accept test takes like any other law.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from playground.drafters import Draft
from playground.drafters._chain import Chain, ChainOptions
from playground.drafters._context import KnownIds

if TYPE_CHECKING:
    from torch import Tensor

CHUNK = 512
"""Positions of a prompt read at once."""


class Eagle3Options(ChainOptions):
    """How the head chooses its tokens."""


class Drafter:
    """One run's head and its cache. `run.hidden` brings the target's states; without them nothing is drafted."""

    Options = Eagle3Options
    NEEDS_MODEL = True
    DRAFTS_WITH = frozenset({"head"})

    def __init__(self, options: ChainOptions, run: Any) -> None:
        from playground.decoding.eagle3 import Eagle3Session

        self._run = run
        self._session = Eagle3Session(run.head, run.expected_length)
        self._chain = Chain(options, run)
        self._known = KnownIds()
        self._output: Tensor | None = None
        """What the head gave for its last position, [1, hidden size]; None where that is no longer held."""

    def propose(self, context: Sequence[int], k: int) -> Draft:
        """Up to k tokens after `context`, of which the target has read all but the last. k = 0 only reads.

        Position i of the head holds the target's states of token i and the embedding of token i + 1. Nothing is drafted
        while the target's states do not reach so far, or where a context differs from what was read already and the
        target has not read from one token before the difference anew.
        """
        import torch

        kept = self._known.keep(context)
        if kept - 1 < self._session.length:
            # One position is read anew also where the context only lost its end: drafting goes on from its output.
            self._session.rewind(max(min(kept - 1, len(context) - 2), 0))
            self._output = None
        self._read(context)
        read, output = self._session.length, self._output
        if k <= 0 or output is None or read < len(context) - 1:
            return Draft(token_ids=torch.empty(0, dtype=torch.long, device=self._run.device))
        self._chain.count(context, kept)
        draft = self._chain.draft(self._logits(), k, self._feed)
        self._session.rewind(read)
        self._output = output
        return draft

    def _read(self, context: Sequence[int]) -> None:
        """Take in what the target has read since, where it has read all but the context's last token."""
        import torch

        start, end, hidden = self._session.length, len(context) - 1, self._run.hidden
        if not hidden.start <= start < end <= hidden.length:
            return
        self._known.follow(context, len(context))
        rows = hidden.take(end)[start - end :]
        ids = torch.tensor(list(context[start + 1 : end + 1]), dtype=torch.long, device=self._run.device)
        for states, tokens in zip(rows.split(CHUNK), ids.split(CHUNK), strict=True):
            self._output = self._session.feed(tokens, self._run.head.fuse(states))[-1:]

    def _feed(self, ids: "Tensor") -> "Tensor":
        self._output = self._session.feed(ids, self._run.head.following(self._output))
        return self._logits()

    def _logits(self) -> "Tensor":
        from playground.decoding.eagle3 import widened

        head = self._run.head
        return widened(head.logits(self._output), head, self._run.vocab_size)
