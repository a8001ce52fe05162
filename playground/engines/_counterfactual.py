"""What drafts of other lengths would have given, recorded once: at every position of a greedy answer, how many tokens
would have been drafted there and how many of them are the answer's.

At temperature 0 the answer does not depend on the drafts, so every k walks through the same ids: from a position t it
drafts D(t) tokens, L(t) are accepted, and it goes on at t + L(t) + 1. With D and L at every position, not only where a
step happened to begin, each k's steps follow by arithmetic (playground/tune/walk.py). Exact in float32; in bfloat16 a
step of several tokens rounds otherwise than one of one.

Runs in the engine's torch thread, after the answer is there: the run's own times are not touched.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from playground.config import RunConfig, checked
from playground.decoding.draft_run import DraftRun
from playground.decoding.law import History, SamplingLaw
from playground.decoding.model import ModelSession
from playground.drafters import Drafter, draft_model
from playground.engines import _run
from playground.engines._heads import LoadedHead
from playground.engines._loading import Loaded
from playground.engines._models import Models, method
from playground.engines.embedded import EmbeddedOptions
from playground.events import Event, RunFinished, RunStarted, Step
from playground.sentence import Sentence

CHUNK = 256
"""Positions judged at once."""

Curve = tuple[list[int], list[int]]
"""(drafted, accepted) at each position where a step may begin: the first is after one delivered token."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A greedy answer: prompt, delivered ids, and what the target would have gone on with past its end."""

    prompt: list[int]
    delivered: list[int]
    tail: list[int]

    @property
    def ids(self) -> list[int]:
        return [*self.prompt, *self.delivered, *self.tail]

    @property
    def positions(self) -> range:
        """Lengths of context at which a decode step may begin."""
        return range(len(self.prompt) + 1, len(self.prompt) + len(self.delivered))


def run(models: Models, config: RunConfig, prompt: str, aborted: Callable[[], bool]) -> Iterator[Event]:
    """Every event of one run; where the option `counterfactual` asks for it, with the record in its RunFinished."""
    options = checked(EmbeddedOptions, config.engine_options, where=Sentence("the embedded engine's options"))
    events = _run.run(models, config, prompt, aborted)
    if not options.counterfactual or not config.sampling.greedy:
        yield from events
        return
    asked: list[int] = []
    delivered: list[int] = []
    for event in events:
        match event:
            case RunStarted():
                asked = list(event.prompt_token_ids)
            case Step():
                delivered += [token.id for token in event.tokens]
            case RunFinished() if event.reason in ("stop", "length") and delivered:
                found = record(models, config, asked, delivered, event.reason == "stop", aborted)
                event = replace(event, engine_counters={**(event.engine_counters or {}), "counterfactual": found})
        yield event


@torch.inference_mode()
def record(
    models: Models,
    config: RunConfig,
    prompt: list[int],
    delivered: list[int],
    stopped: bool,
    aborted: Callable[[], bool],
) -> dict[str, Any]:
    """JSON: `tail` (ids past the answer's end, none where max_tokens ended it), `budget`, and `curves`: k -> (drafted,
    accepted) per position; with `stable` the curve of the largest k holds for all smaller ones.

    The tail is needed because a draft that goes on past EOS is judged like any other.
    """
    options = checked(EmbeddedOptions, config.engine_options)
    ks = sorted(set(options.counterfactual))
    law = _run._law(config, models.target)
    budget, _ = _run._budget(config, options, models.target, prompt)
    tail = _tail(models.target, law, prompt, delivered, ks[-1]) if stopped else []
    answer = Answer(prompt, delivered, tail)
    found: dict[str, Any] = {"tail": tail, "budget": budget, "curves": {}, "stable": True}
    if config.speculation is None:
        return found
    kind, chosen = method(config.speculation)
    draft = models.draft(config.speculation)
    if kind is draft_model.Drafter and chosen.draft_p_min == 0.0 and isinstance(draft, Loaded):
        curve = _by_hits(draft, models.target, law, answer, ks[-1])
        return found | {"curves": {str(ks[-1]): curve}}
    # Suffix decoding weighs whole continuations of k tokens against each other: a shorter one is no beginning of it.
    stable = not hasattr(chosen, "suffix_decoding_max_spec_factor") or getattr(chosen, "lookup", "") == "ngram"
    curves = _by_proposing(models, config, law, answer, ks[-1:] if stable else ks, aborted)
    return found | {"curves": curves, "stable": stable}


def _tail(target: Loaded, law: SamplingLaw, prompt: list[int], delivered: list[int], count: int) -> list[int]:
    """What the target goes on with, greedily, as if nothing had ended it; fewer ids where its context ends."""
    device = target.model.device
    session = ModelSession(target.model, target.vocab_size, len(prompt) + len(delivered) + count)
    history = History(law, prompt, target.vocab_size, device)
    history.append(delivered)
    ids, new = [*prompt, *delivered], list[int]()
    logits = _fed(session, ids, device)
    while len(new) < count:
        new.append(int(law.scores(logits, history).argmax()))
        history.append(new[-1:])
        if session.length >= target.model.max_positions or len(new) == count:
            break
        logits = session.feed(torch.tensor(new[-1:], dtype=torch.long, device=device), keep=1)
    return new


def _by_hits(draft: Loaded, target: Loaded, law: SamplingLaw, answer: Answer, k: int) -> Curve:
    """For a draft model that takes its best token: one pass over the whole answer gives every position.

    As long as its tokens are the answer's, what it drafts next is what it says after the answer itself; so L(t) is the
    number of positions in a row, from t on, at which its best token is the answer's.
    """
    ids, first, window = answer.ids, len(answer.prompt) + 1, draft.model.max_positions
    device = draft.model.device
    session = ModelSession(draft.model, target.vocab_size, min(len(ids), window))
    history = History(law, answer.prompt, target.vocab_size, device)
    history.append(ids[len(answer.prompt) : first])
    if first > window or len(ids) <= first:
        return [0 for _ in answer.positions], [0 for _ in answer.positions]
    _fed(session, ids[: first - 1], device)
    hits: list[bool] = []
    rows = torch.tensor(ids, dtype=torch.long, device=device)
    for start in range(first - 1, min(len(ids) - 1, window), CHUNK):
        end = min(start + CHUNK, len(ids) - 1, window)
        logits = session.feed(rows[start:end], keep=end - start)
        following = rows[start + 1 : end + 1]
        best = law.scores(logits, history, following).argmax(-1)
        hits += (best == following).tolist()
        history.append(following.tolist())
    hits += [False] * (len(ids) - first - len(hits))
    drafted = [max(0, min(k, window - t + 1)) for t in answer.positions]
    runs = _runs(hits)
    return drafted, [min(d, runs[t - first]) for d, t in zip(drafted, answer.positions, strict=True)]


def _runs(hits: Sequence[bool]) -> list[int]:
    """At each place: how many hits in a row begin there."""
    counts = [0] * (len(hits) + 1)
    for place in range(len(hits) - 1, -1, -1):
        counts[place] = counts[place + 1] + 1 if hits[place] else 0
    return counts


def _by_proposing(
    models: Models, config: RunConfig, law: SamplingLaw, answer: Answer, ks: list[int], aborted: Callable[[], bool]
) -> dict[str, Curve]:
    """For any drafter: asked at every position, for each k."""
    drafter = _drafter(models, config, law, answer)
    ids = answer.ids
    curves: dict[str, Curve] = {str(k): ([], []) for k in ks}
    drafter.propose(answer.prompt, 0)
    for t in answer.positions:
        if aborted():
            break
        context = ids[:t]
        for k in ks:
            proposed = drafter.propose(context, k).token_ids.tolist()
            drafted, accepted = curves[str(k)]
            drafted.append(len(proposed))
            accepted.append(matched(proposed, ids[t : t + k]))
    return curves


def matched(proposed: Sequence[int], actual: Sequence[int]) -> int:
    """How many ids at the beginning are the same."""
    return next(
        (i for i, (p, a) in enumerate(zip(proposed, actual, strict=False)) if p != a), min(len(proposed), len(actual))
    )


def _drafter(models: Models, config: RunConfig, law: SamplingLaw, answer: Answer) -> Drafter:
    """A fresh one; for a head with the target's states at every position of the answer."""
    assert config.speculation is not None
    target, draft = models.target, models.draft(config.speculation)
    kind, chosen = method(config.speculation)
    hidden = None
    if isinstance(draft, LoadedHead):
        hidden = draft.hidden()
        session = ModelSession(target.model, target.vocab_size, len(answer.ids), hidden.taps)
        for chunk in torch.tensor(answer.ids, dtype=torch.long, device=target.model.device).split(CHUNK):
            session.feed(chunk, keep=1)
            hidden.append(session.tapped)
    drafter: Drafter = kind(
        chosen,
        DraftRun(
            device=target.model.device,
            vocab_size=target.vocab_size,
            law=law,
            prompt_length=len(answer.prompt),
            generator=None,
            model=draft.model if isinstance(draft, Loaded) else None,
            expected_length=len(answer.ids),
            head=draft.head if isinstance(draft, LoadedHead) else None,
            hidden=hidden,
        ),
    )
    return drafter


def _fed(session: ModelSession, ids: Sequence[int], device: torch.device) -> torch.Tensor:
    """The logits after all of `ids`, float32 [1, V]; nothing to feed gives [0, V]."""
    logits = torch.empty(0, session.vocab_size, device=device)
    for chunk in torch.tensor(ids, dtype=torch.long, device=device).split(CHUNK):
        if len(chunk):
            logits = session.feed(chunk, keep=1)
    return logits
