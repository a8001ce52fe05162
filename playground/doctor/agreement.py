"""How far a draft agrees with its target, and what that is worth: one fold over the events of ordinary greedy runs.

The draft's greedy continuation of any output position is the target's for as long as its single next token is, so one
flag per position ("the draft's token here is the target's") gives the agreement on 1, 2, ... tokens from every one.
A step shows that flag for each token it accepted (yes) and for the one it recovered (no); the bonus token's is unknown
and is left out. Knows events and arithmetic; loads and runs nothing.
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from playground.events import Candidate, RunFinished, RunStarted, Step
from playground.metrics import RunResult

FIRST = 5
"""The rule of thumb speaks of this many tokens."""

THRESHOLD = 0.75
"""Agreement on the first five tokens (the mean over the five positions) from which a pair is worth loading."""

ENOUGH = 200
"""Positions below which a share is too uncertain to build on (its 95 % interval is wider than +-7 points)."""

ENOUGH_TIMED = 3
"""Prompts with times, the first after a load not counted, below which no verdict is given."""

Judgement = Literal["worth it", "marginal", "not worth it", "unknown"]


@dataclass(frozen=True, slots=True)
class Point:
    """What k tokens a step would bring.

    Attributes:
        expected_tokens_per_step: 1 + the sum of the agreements on 1..k tokens. formula: METRICS' own,
            (1 - alpha^(k+1)) / (1 - alpha), alpha the share of single tokens agreed on.
        draft_seconds, verify_seconds: of one step, medians, interpolated between the k that ran; None without times.
        predicted_speedup: expected_tokens_per_step x baseline TPOT / (draft + verify), each prompt's steps against its
            own baseline. measured_speedup: median over the prompts that ran with this k, baseline TPOT / speculative
            TPOT; n: those prompts.
    """

    num_speculative_tokens: int
    expected_tokens_per_step: float | None
    formula: float | None
    draft_seconds: float | None = None
    verify_seconds: float | None = None
    predicted_speedup: float | None = None
    measured_speedup: float | None = None
    n: int = 0


@dataclass(frozen=True, slots=True)
class Agreement:
    """The result so far.

    Attributes:
        agreement: per i = 1, 2, ...: how often the draft's first i tokens are all the target's (greedy). positions:
            per i, the output positions that could tell.
        overlap: (lowest, highest) mean overlap of the two distributions, sum of min(target, draft) over tokens, at
            temperature 1; an interval, since an engine reports the best tokens of each only. None without any.
        alpha: share of single tokens agreed on. curve: k = 1, 2, ...
        target_seconds: baseline TPOT, median over prompts. prompts: how many are done, of `of` prompts; timed: those
            that give times, which the first after a load does not.
        identical: of them, those whose outputs are the same with and without speculation.
    """

    agreement: tuple[float | None, ...] = ()
    positions: tuple[int, ...] = ()
    overlap: tuple[float, float] | None = None
    overlap_positions: int = 0
    alpha: float | None = None
    curve: tuple[Point, ...] = ()
    target_seconds: float | None = None
    prompts: int = 0
    timed: int = 0
    of: int = 0
    identical: int = 0
    cancelled: bool = False

    @property
    def first_five(self) -> float | None:
        """The rule of thumb's number: the mean over the first five positions."""
        known = [share for share in self.agreement[:FIRST] if share is not None]
        return sum(known) / FIRST if len(known) == FIRST else None

    @property
    def best(self) -> Point | None:
        """The k with the highest predicted speed-up; None without times."""
        timed = [point for point in self.curve if point.predicted_speedup is not None]
        return max(timed, key=lambda point: point.predicted_speedup or 0.0, default=None)

    @property
    def judgement(self) -> Judgement:
        """By the predicted speed, never by agreement alone: a cheap draft may disagree often and still pay."""
        best = self.best
        if best is None or best.predicted_speedup is None or self.timed < ENOUGH_TIMED:
            return "unknown"
        if best.predicted_speedup >= 1.1:
            return "worth it"
        return "marginal" if best.predicted_speedup > 1.0 else "not worth it"

    def as_dict(self) -> dict[str, Any]:
        """JSON values only, with METRICS' names."""
        best = self.best
        return {
            "agreement": list(self.agreement),
            "positions": list(self.positions),
            "first_five": self.first_five,
            "rule_of_thumb": {"threshold": THRESHOLD, "holds": _at_least(self.first_five, THRESHOLD)},
            "overlap": list(self.overlap) if self.overlap else None,
            "overlap_positions": self.overlap_positions,
            "alpha": self.alpha,
            "curve": [{name: getattr(p, name) for name in Point.__slots__} for p in self.curve],
            "target_tpot": self.target_seconds,
            "best_num_speculative_tokens": best.num_speculative_tokens if best else None,
            "predicted_speedup": best.predicted_speedup if best else None,
            "judgement": self.judgement,
            "prompts": self.prompts,
            "timed": self.timed,
            "of": self.of,
            "identical": self.identical,
            "cancelled": self.cancelled,
        }


@dataclass(slots=True)
class _Run:
    """One run as it comes."""

    k: int
    result: RunResult = field(default_factory=RunResult)
    flags: list[bool | None] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    times: list[tuple[int, float, float]] = field(default_factory=list)

    @property
    def cold(self) -> bool:
        """The first run after a load warms caches for those after it."""
        return self.result.environment.get("runs_since_load") == 0

    @property
    def sound(self) -> bool:
        return self.result.status in ("stop", "length") and self.result.valid


class Fold:
    """Collects the events of pairs of runs of the same prompts; `agreement` at any time is what is known so far.

    Args:
        of: prompts to come. longest: the largest k of the curve.
    """

    def __init__(self, of: int, longest: int) -> None:
        self._of, self._longest = of, longest
        self._pairs: dict[str, dict[str, _Run]] = {}
        self._low = self._high = 0.0
        self._overlaps = 0
        self.cancelled = False

    def add(self, pair: str, arm: str, k: int, event: Any) -> None:
        """One event of a run: of which prompt (any name), "baseline" or "speculative", with which k."""
        run = self._pairs.setdefault(pair, {}).setdefault(arm, _Run(k))
        if not isinstance(event, (RunStarted, Step, RunFinished)):
            return
        run.result = run.result.add(event)
        if isinstance(event, Step):
            run.ids += [token.id for token in event.tokens]
            run.flags += flags_of(event)
            self._add_overlaps(event)
            if not event.is_prefill and event.draft_seconds is not None and event.verify_seconds is not None:
                run.times.append((event.num_draft_tokens, event.draft_seconds, event.verify_seconds))

    def _add_overlaps(self, step: Step) -> None:
        judged = min(step.num_accepted_tokens + 1, step.num_draft_tokens)
        for ours, theirs in zip(step.target_candidates[:judged], step.draft_candidates[:judged], strict=False):
            low, high = overlap_bounds(ours, theirs)
            self._low, self._high, self._overlaps = self._low + low, self._high + high, self._overlaps + 1

    @property
    def agreement(self) -> Agreement:
        done = [
            p for p in self._pairs.values() if all(arm in p and p[arm].sound for arm in ("baseline", "speculative"))
        ]
        drafting = [p["speculative"] for p in self._pairs.values() if "speculative" in p]
        shares, counts = survival([run.flags for run in drafting], self._longest)
        flags = [flag for run in drafting for flag in run.flags if flag is not None]
        alpha = sum(flags) / len(flags) if flags else None
        tpot = _median([t for p in done if not p["baseline"].cold and (t := p["baseline"].result.tpot)])
        n = self._overlaps
        return Agreement(
            agreement=shares,
            positions=counts,
            overlap=(self._low / n, self._high / n) if n else None,
            overlap_positions=n,
            alpha=alpha,
            curve=_curve(shares, alpha, tpot, _costs(done), done),
            target_seconds=tpot,
            prompts=len(done),
            timed=sum(not p["baseline"].cold and not p["speculative"].cold for p in done),
            of=self._of,
            identical=sum(p["baseline"].ids == p["speculative"].ids for p in done),
            cancelled=self.cancelled,
        )


def flags_of(step: Step) -> list[bool | None]:
    """Per delivered token of a step: whether the draft's token there was the target's; None where none was judged."""
    accepted = min(step.num_accepted_tokens, len(step.tokens))
    more = len(step.tokens) - accepted
    after = False if step.num_accepted_tokens < step.num_draft_tokens else None
    return [True] * accepted + [after] * more


def survival(runs: Sequence[Sequence[bool | None]], longest: int) -> tuple[tuple[float | None, ...], tuple[int, ...]]:
    """(share of positions whose next i flags are all true, positions that tell) for i = 1..longest.

    A product of conditional shares (Kaplan and Meier's estimate), since an unknown flag or the end of the text cuts
    some positions short without speaking against them.
    """
    told, agreed = [0] * longest, [0] * longest
    for flags in runs:
        for length, ends_false in _stretches(flags):
            # A stretch of `length` trues: its positions see 1, 2, ... `length` of them before what ends it.
            for seen in range(1, length + 1):
                for i in range(min(seen, longest)):
                    told[i] += 1
                    agreed[i] += 1
            if ends_false:
                for seen in range(min(length + 1, longest)):
                    told[seen] += 1
    shares: list[float | None] = []
    product = 1.0
    for i in range(longest):
        product = product * agreed[i] / told[i] if told[i] else product
        shares.append(product if told[i] else None)
    return tuple(shares), tuple(told)


def _stretches(flags: Iterable[bool | None]) -> Iterable[tuple[int, bool]]:
    """(number of trues in a row, whether a false ended them) for each row, empty ones before a false included."""
    length = 0
    for flag in flags:
        if flag:
            length += 1
        else:
            yield length, flag is False
            length = 0
    yield length, False


def overlap_bounds(target: Sequence[Candidate], draft: Sequence[Candidate]) -> tuple[float, float]:
    """The least and the most that sum of min(target, draft) can be, from the best tokens of each.

    A token one list lacks has at most that list's smallest probability; what neither names is at most what is left.
    """
    ours, theirs = ({c.id: c.prob for c in found} for found in (target, draft))
    low = sum(min(ours[i], theirs[i]) for i in ours.keys() & theirs.keys())
    floors = min(ours.values(), default=1.0), min(theirs.values(), default=1.0)
    one_sided = sum(min(p, floors[1]) for i, p in ours.items() if i not in theirs)
    one_sided += sum(min(q, floors[0]) for i, q in theirs.items() if i not in ours)
    left = min(max(0.0, 1 - sum(ours.values())), max(0.0, 1 - sum(theirs.values())))
    return min(1.0, low), min(1.0, low + one_sided + left)


def expected_tokens(alpha: float, k: int) -> float:
    """METRICS: (1 - alpha^(k+1)) / (1 - alpha), k + 1 where alpha = 1 (Leviathan et al. 2023)."""
    return float(k + 1) if alpha >= 1.0 else (1 - alpha ** (k + 1)) / (1 - alpha)


def _costs(done: Iterable[Mapping[str, _Run]]) -> dict[int, tuple[float, float]]:
    """k -> (drafting, verifying) of a step in units of the baseline's TPOT, medians over prompts.

    Each prompt's steps are compared with its own baseline, which ran right before: what else the machine is doing
    changes slowly, and so cancels out.
    """
    found: dict[int, list[tuple[float, float]]] = {}
    for pair in done:
        base = pair["baseline"]
        tpot = base.result.tpot
        if base.cold or pair["speculative"].cold or not tpot:
            continue
        for run in pair.values():
            # Near its end a run drafts less; those few steps would bend the line.
            steps = [(draft if k else 0.0, verify) for k, draft, verify in run.times if k == run.k]
            if steps:
                draft, verify = (statistics.median(column) for column in zip(*steps, strict=True))
                found.setdefault(run.k, []).append((draft / tpot, verify / tpot))
    return {k: (statistics.median(d for d, _ in c), statistics.median(v for _, v in c)) for k, c in found.items()}


def _curve(
    shares: Sequence[float | None],
    alpha: float | None,
    tpot: float | None,
    costs: Mapping[int, tuple[float, float]],
    done: Sequence[Mapping[str, _Run]],
) -> tuple[Point, ...]:
    points, expected = [], 1.0
    for k, share in enumerate(shares, 1):
        if share is None:
            break
        expected += share
        cost = _interpolated(costs, k)
        speedup = expected / sum(cost) if cost and sum(cost) > 0 else None
        ratios = _measured(done, k)
        points.append(
            Point(
                k,
                expected,
                None if alpha is None else expected_tokens(alpha, k),
                draft_seconds=cost[0] * tpot if cost and tpot else None,
                verify_seconds=cost[1] * tpot if cost and tpot else None,
                predicted_speedup=speedup,
                measured_speedup=_median(ratios),
                n=len(ratios),
            )
        )
    return tuple(points)


def _measured(done: Sequence[Mapping[str, _Run]], k: int) -> list[float]:
    ratios = []
    for pair in done:
        base, spec = pair["baseline"], pair["speculative"]
        if spec.k == k and not base.cold and not spec.cold and base.result.tpot and spec.result.tpot:
            ratios.append(base.result.tpot / spec.result.tpot)
    return ratios


def _interpolated(costs: Mapping[int, tuple[float, float]], k: int) -> tuple[float, float] | None:
    """On the straight line between the nearest k that ran; nothing beyond the largest, nothing without two."""
    if k in costs:
        return costs[k]
    below, above = max((n for n in costs if n < k), default=None), min((n for n in costs if n > k), default=None)
    if below is None or above is None:
        return None
    part = (k - below) / (above - below)
    (d0, v0), (d1, v1) = costs[below], costs[above]
    return d0 + part * (d1 - d0), v0 + part * (v1 - v0)


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def _at_least(value: float | None, threshold: float) -> bool | None:
    return None if value is None else value >= threshold
