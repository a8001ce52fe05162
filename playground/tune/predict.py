"""What each candidate would have done on the answers that were recorded: acceptance exactly, speed from step times.

Knows samples of runs, walks and times; measures nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from playground.bench.statistics import Interval, interval
from playground.events import Event, RunFinished, RunStarted, Step
from playground.tune.space import Candidate, TunePlan
from playground.tune.times import StepTimes, step_walls, usual
from playground.tune.walk import Answer, Recorded, Walked, answer_of, looked_up, recorded_of, together, walk

Drafting = tuple[str, str | None]
"""(method, model): what a step's time depends on besides its width."""


@dataclass(slots=True)
class Recording:
    """One recorded run: a baseline (`candidate` None) or a candidate's, reduced to what prediction needs."""

    item: int
    candidate: int | None
    answer: Answer
    recorded: Recorded | None
    walls: list[tuple[int, float]]
    ttft: float | None
    exact_end: bool

    @classmethod
    def of(cls, item: int, candidate: int | None, events: Sequence[Event], max_tokens: int) -> "Recording":
        started = next((e for e in events if isinstance(e, RunStarted)), RunStarted(()))
        steps = [e for e in events if isinstance(e, Step)]
        finish = next((e for e in events if isinstance(e, RunFinished)), None)
        counters = finish.engine_counters if finish else None
        delivered = [token.id for step in steps for token in step.tokens]
        answer = answer_of(started.prompt_token_ids, delivered, counters, max_tokens)
        whole = bool(answer.tail) or (finish is not None and finish.reason == "length")
        ttft = steps[0].at if steps else None
        return cls(item, candidate, answer, recorded_of(counters), step_walls(steps), ttft, whole)


@dataclass(frozen=True, slots=True)
class Prediction:
    """Of one candidate: its steps on all recorded answers, its speed-up, and the seconds of a run.

    `exact`: whether the acceptance is what would really be measured (temperature 0; float32 besides).
    """

    walked: Walked
    speedup: Interval
    seconds: float
    exact: bool


@dataclass(slots=True)
class Predictor:
    """Collects recordings; then predicts."""

    plan: TunePlan
    recordings: list[Recording] = field(default_factory=list)
    known: dict[int, list[tuple[Recording, Recorded]]] = field(default_factory=dict)
    """Variant -> the recorded answers with its curves, once `predictions` has found them."""

    def add(self, recording: Recording) -> None:
        self.recordings.append(recording)

    def baseline_step(self) -> float | None:
        """Seconds of a decode step without speculation."""
        return usual(seconds for r in self._baselines() for _, seconds in r.walls)

    def ttft(self) -> float:
        return usual(r.ttft for r in self._baselines() if r.ttft is not None) or 0.0

    def times(self) -> Mapping[Drafting, StepTimes]:
        """Step times of each way of drafting that was timed."""
        baseline = self.baseline_step()
        if baseline is None:
            return {}
        candidates = self.plan.candidates
        walls: dict[Drafting, list[tuple[int, float]]] = {}
        for r in self.recordings:
            if r.candidate is not None:
                walls.setdefault(drafting(candidates[r.candidate]), []).extend(r.walls)
        return {key: StepTimes(found, baseline) for key, found in walls.items()}

    def predictions(self) -> dict[int, Prediction]:
        """Candidate -> prediction, of those that can be predicted."""
        times, step = self.times(), self.baseline_step()
        if step is None:
            return {}
        found: dict[int, Prediction] = {}
        for variant in range(len(self.plan.variants)):
            mine = [c for c in self.plan.candidates if c.variant == variant]
            known = self.known[variant] = self._curves(mine)
            timed = times.get(drafting(mine[0]))
            if known and timed is not None and timed.measured:
                found |= {c.index: self._predicted(c, known, timed, step) for c in mine if _covers(known, c.k)}
        return found

    def steps_of(self, candidate: Candidate, item: int) -> Walked | None:
        """What one candidate would have done on one recorded answer; None where that is not known."""
        for recording, recorded in self.known.get(candidate.variant, ()):
            if recording.item == item and (curve := recorded.at(candidate.k)) is not None:
                return walk(recording.answer, curve, candidate.k)
        return None

    def _predicted(
        self, candidate: Candidate, known: Sequence[tuple[Recording, Recorded]], times: StepTimes, step: float
    ) -> Prediction:
        walks, ratios, seconds = [], [], []
        for recording, recorded in known:
            curve = recorded.at(candidate.k)
            assert curve is not None
            walked = walk(recording.answer, curve, candidate.k)
            walks.append(walked)
            decode = times.total(walked.widths)
            seconds.append(decode + self.ttft())
            if decode > 0 and walked.num_decode_tokens:
                ratios.append([walked.num_decode_tokens * step / decode])
        exact = all(recording.exact_end for recording, _ in known)
        return Prediction(together(walks), interval(ratios), sum(seconds) / len(seconds), exact)

    def _curves(self, mine: Sequence[Candidate]) -> list[tuple[Recording, Recorded]]:
        """Each recorded answer with its curves, for one way of drafting."""
        speculation = mine[0].speculation
        if self.plan.looked_up(speculation):
            ks = [c.k for c in mine]
            return [(r, looked_up(r.answer, speculation, ks)) for r in self._baselines() if r.answer.num_positions]
        indices = {c.index for c in mine}
        return [(r, r.recorded) for r in self.recordings if r.candidate in indices and r.recorded is not None]

    def _baselines(self) -> list[Recording]:
        return [r for r in self.recordings if r.candidate is None]


def drafting(candidate: Candidate) -> Drafting:
    return candidate.speculation.method, candidate.speculation.model


def _covers(known: Sequence[tuple[Recording, Recorded]], k: int) -> bool:
    return all(recorded.at(k) is not None for _, recorded in known)
