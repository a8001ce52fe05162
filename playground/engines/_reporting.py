"""What a step tells of itself: tokens with their origins and probabilities, the best candidates of both models.

Knows the outcome of a verification and events; decides nothing.
"""

from typing import Any

import torch
from torch import Tensor

from playground.decoding.candidates import top_candidates
from playground.decoding.law import History, SamplingLaw
from playground.decoding.verify import Verdict
from playground.detokenise import Vocabulary
from playground.drafters import Draft
from playground.errors import PlaygroundError
from playground.events import Candidate, Candidates, Origin, Token
from playground.sentence import Sentence

_NO_LOGIT = -1e30
"""Below this a logit stands for "impossible" and is not a number to show."""


class Reporter:
    """Collects the tensors of a step that go to the host, and reads them back as events' parts.

    Args:
        count: how many candidates per position; 0 for none.
    """

    def __init__(self, vocabulary: Vocabulary, law: SamplingLaw, count: int) -> None:
        self._vocabulary = vocabulary
        self._law = law
        self._count = count

    def tensors(self, verdict: Verdict, draft: Draft, history: History) -> dict[str, Tensor]:
        """Everything the host needs, by name."""
        wanted = {name: getattr(verdict, name) for name in Verdict.__slots__} | {"draft_ids": draft.token_ids}
        if draft.logits is not None and len(draft.token_ids):
            wanted |= self._of_draft(draft, draft.logits, history)
        return wanted

    def _of_draft(self, draft: Draft, logits: Tensor, history: History) -> dict[str, Tensor]:
        """The draft's own law at its own positions: for display; the accept test has already used `draft.probs`."""
        scores = self._law.scores(logits, history, draft.token_ids)
        probs = self._law.probs(scores) if draft.probs is None else draft.probs
        found = {"draft_sound": torch.isfinite(probs[:, 0]).all()}
        if self._law.greedy:
            # Both laws are shown as softmax of the scores, as the target's is.
            found["draft_probs"] = probs.gather(-1, draft.token_ids.unsqueeze(-1)).squeeze(-1)
        if self._count:
            _, ids = top_candidates(scores, self._count)
            found["draft_best_ids"] = ids
            found["draft_best_probs"] = probs.gather(-1, ids)
            found["draft_best_logits"] = logits.gather(-1, ids)
        return found

    def check(self, host: dict[str, Any]) -> None:
        """Raises PlaygroundError where a model gave no numbers."""
        for name, who in (("sound", "target"), ("draft_sound", "draft")):
            if not host.get(name, True):
                raise PlaygroundError(
                    Sentence("The {who} model gave logits that are not numbers (NaN or infinite).", who=who),
                    Sentence("Try dtype float32; if it stays, the model's weights are damaged."),
                    code="bad_logits",
                )

    def emitted(self, host: dict[str, Any]) -> list[Token]:
        """The accepted draft tokens and the one after them, without texts."""
        accepted, drafted = int(host["num_accepted"]), host["draft_ids"]
        last: Origin = "target" if not drafted else "bonus" if accepted == len(drafted) else "recovered"
        tokens = [
            Token(drafted[i], "", "accepted", host["draft_target_probs"][i], host["draft_probs"][i])
            for i in range(accepted)
        ]
        return [*tokens, Token(int(host["next_id"]), "", last, host["next_prob"])]

    def rejected(self, host: dict[str, Any]) -> tuple[Token, ...]:
        """The refused draft token and those behind it, which the target never judged."""
        accepted, drafted = int(host["num_accepted"]), host["draft_ids"]
        return tuple(
            Token(
                drafted[i],
                self._vocabulary.readable(drafted[i]),
                "rejected",
                host["draft_target_probs"][i] if i == accepted else None,
                host["draft_probs"][i],
            )
            for i in range(accepted, len(drafted))
        )

    def candidates(self, host: dict[str, Any], prefix: str, rows: int) -> Candidates:
        """The first `rows` positions' best, where they were collected."""
        if not self._count or f"{prefix}_ids" not in host:
            return ()
        table = zip(host[f"{prefix}_ids"], host[f"{prefix}_probs"], host[f"{prefix}_logits"], strict=True)
        read = self._vocabulary.readable
        return tuple(
            tuple(
                Candidate(id_, read(id_), prob, logit if logit > _NO_LOGIT else None)
                for id_, prob, logit in zip(*row, strict=True)
            )
            for row, _ in zip(table, range(rows), strict=False)
        )
