"""The counterfactual k-curve: from what was recorded at every position of greedy answers to the steps of any k.

Pure arithmetic over ids and counts (METRICS, "Counterfactual k"); knows no engine and no clock. Lookup methods need no
record: what they would have drafted follows from the ids alone, so all of their options can be tried on one answer.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from playground import drafters
from playground.config import Speculation, checked
from playground.registry import discover
from playground.sentence import Sentence

ANY_ID = 2**62
"""A vocabulary without padding: answers hold no id past the tokenizer."""

Curve = tuple[Sequence[int], Sequence[int]]
"""(drafted, accepted) at each position where a step may begin; the first is after one delivered token."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A greedy answer.

    Attributes:
        tail: what the target would have gone on with past EOS or a stop string; () where that is not known.
        budget: tokens that could have been delivered, by max_tokens and the context.
    """

    prompt: tuple[int, ...]
    delivered: tuple[int, ...]
    tail: tuple[int, ...] = ()
    budget: int = 0

    @property
    def num_positions(self) -> int:
        return max(len(self.delivered) - 1, 0)


@dataclass(frozen=True, slots=True)
class Recorded:
    """The curves of one answer and one way of drafting: k -> curve; where `stable`, the largest k's serves all."""

    curves: Mapping[int, Curve]
    stable: bool = True

    def at(self, k: int) -> Curve | None:
        if k in self.curves:
            return self.curves[k]
        largest = max(self.curves, default=0)
        if not self.stable or largest < k:
            return None
        drafted, accepted = self.curves[largest]
        return [min(d, k) for d in drafted], [min(a, k) for a in accepted]


@dataclass(frozen=True, slots=True)
class Walked:
    """The steps that one k would have made of one or many answers.

    `widths`: drafted tokens in a step -> how many steps; 0 is a step without drafts. Names are METRICS'.
    """

    num_steps: int = 0
    num_drafting_steps: int = 0
    num_draft_tokens: int = 0
    num_accepted_tokens: int = 0
    num_decode_tokens: int = 0
    widths: Counter[int] = field(default_factory=Counter)

    @property
    def draft_acceptance_rate(self) -> float | None:
        return self.num_accepted_tokens / self.num_draft_tokens if self.num_draft_tokens else None

    @property
    def tokens_per_step(self) -> float | None:
        return self.num_decode_tokens / self.num_steps if self.num_steps else None


def walk(answer: Answer, curve: Curve, k: int) -> Walked:
    """The steps of one answer at k: from position t, draft, accept, and go on behind what was delivered."""
    drafted, accepted = curve
    n, t = len(answer.delivered), 1
    steps = drafting = num_drafted = num_accepted = 0
    widths: Counter[int] = Counter()
    while t < n:
        # As the engine: never draft what could not be delivered; after k accepted tokens one more follows.
        width = max(0, min(k, drafted[t - 1], answer.budget - t - 1))
        kept = min(width, accepted[t - 1])
        steps += 1
        drafting += width > 0
        num_drafted += width
        num_accepted += kept
        widths[width] += 1
        t += kept + 1
    return Walked(steps, drafting, num_drafted, num_accepted, max(n - 1, 0), widths)


def together(walks: Iterable[Walked]) -> Walked:
    """Many answers' steps as one."""
    names = ("num_steps", "num_drafting_steps", "num_draft_tokens", "num_accepted_tokens", "num_decode_tokens")
    all_walks = list(walks)
    sums = {name: sum(getattr(walked, name) for walked in all_walks) for name in names}
    widths: Counter[int] = Counter()
    for walked in all_walks:
        widths.update(walked.widths)
    return Walked(**sums, widths=widths)


def answer_of(
    prompt: Sequence[int], delivered: Sequence[int], counters: Mapping[str, Any] | None, max_tokens: int
) -> Answer:
    """An answer as a run's events tell it; the engine's record adds what lies past its end."""
    found = (counters or {}).get("counterfactual") or {}
    tail = tuple(int(i) for i in found.get("tail", ()))
    return Answer(tuple(prompt), tuple(delivered), tail, int(found.get("budget") or max_tokens))


def recorded_of(counters: Mapping[str, Any] | None) -> Recorded | None:
    """The curves that an engine recorded; None where it recorded none."""
    found = (counters or {}).get("counterfactual") or {}
    curves = {int(k): (tuple(curve[0]), tuple(curve[1])) for k, curve in found.get("curves", {}).items()}
    return Recorded(curves, bool(found.get("stable", True))) if curves else None


def looks_up(method: str) -> bool:
    """Whether a method drafts from the text alone, so that its curves follow from the ids."""
    module = discover(drafters.PACKAGE).get(method)
    return module is not None and not module.Drafter.NEEDS_MODEL


def looked_up(answer: Answer, speculation: Speculation, ks: Sequence[int]) -> Recorded:
    """The curves of a lookup method, recomputed; one for each k, since not every method's short draft begins its long
    one."""
    kind = discover(drafters.PACKAGE)[speculation.method].Drafter
    options = checked(
        kind.Options, speculation.options, where=Sentence("the options of {method}", method=speculation.method)
    )
    drafter = kind(options, SimpleNamespace(vocab_size=ANY_ID, device="cpu"))
    context = [*answer.prompt, *answer.delivered[:1]]
    following = [*answer.delivered[1:], *answer.tail]
    curves: dict[int, tuple[list[int], list[int]]] = {k: ([], []) for k in ks}
    for t in range(answer.num_positions):
        for k, (drafted, accepted) in curves.items():
            proposed = drafter.propose(context, k).token_ids.tolist()
            drafted.append(len(proposed))
            accepted.append(_matched(proposed, following[t : t + k]))
        context.append(following[t])
    return Recorded(curves, stable=False)


def _matched(proposed: Sequence[int], actual: Sequence[int]) -> int:
    for place, (drafted, real) in enumerate(zip(proposed, actual, strict=False)):
        if drafted != real:
            return place
    return min(len(proposed), len(actual))
