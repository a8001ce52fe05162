"""What a tuning has measured: runs by their place in it, and the ratios to their own baselines.

Knows samples and links; nothing of which candidate is tried next.
"""

from dataclasses import dataclass, field

from playground.bench.samples import Sample
from playground.bench.statistics import Interval, interval
from playground.tune.space import Objective
from storage import Store
from storage.benchmarks import RunLink


@dataclass(frozen=True, slots=True)
class Key:
    """One run's place. `candidate` None is the baseline; `wave`, `place`: runs of a wave are in flight together."""

    phase: str
    item: int
    candidate: int | None = None
    condition: int = 0
    level: int = 1
    wave: int | None = None
    place: int = 0


@dataclass(slots=True)
class Taken:
    """Runs by key; of a place that was run again, the last."""

    samples: dict[Key, Sample] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    """By phase what all runs took that were made, also those run again."""
    runs: dict[str, int] = field(default_factory=dict)

    def take(self, key: Key, sample: Sample, seconds: float | None = None) -> None:
        """`seconds`: what it took with all around it; else its engine's time."""
        self.samples[key] = sample
        if seconds is None:
            seconds = (sample.finish.at if sample.finish else 0.0) / key.level
        self.seconds[key.phase] = self.seconds.get(key.phase, 0.0) + seconds
        self.runs[key.phase] = self.runs.get(key.phase, 0) + 1

    def ratios(self, condition: int, candidate: int, objective: Objective, phases: tuple[str, ...] = ()) -> Interval:
        """How many times better than the baseline that ran next to it, over prompts (or waves)."""
        by_item: dict[int, list[float]] = {}
        for key, sample in self.samples.items():
            wanted = key.phase in phases if phases else key.phase not in ("warm-up", "grid")
            if key.candidate == candidate and key.condition == condition and wanted and key.level == 1:
                value = self._ratio(key, sample, objective)
                if value is not None:
                    by_item.setdefault(key.item, []).append(value)
        groups = list(by_item.values()) + [[ratio] for ratio in self._waves(condition, candidate)]
        return interval(groups)

    def _ratio(self, key: Key, sample: Sample, objective: Objective) -> float | None:
        # A calibration ran beside the recorded baseline of its prompt.
        phase = "record" if key.phase == "calibrate" else key.phase
        base = self.samples.get(Key(phase, key.item, None, key.condition))
        if base is None or not (base.measured and sample.measured):
            return None
        if objective == "joules_per_token":
            ours, theirs = sample.result.joules_per_token, base.result.joules_per_token
        else:
            ours, theirs = sample.result.tpot, base.result.tpot
        return theirs / ours if ours and theirs else None

    def _waves(self, condition: int, candidate: int) -> list[float]:
        """Throughput over the baseline's, wave by wave."""
        speeds: dict[tuple[int | None, int], float] = {}
        for arm in (None, candidate):
            waves: dict[int, list[Sample]] = {}
            for key, sample in self.samples.items():
                if key.candidate == arm and key.condition == condition and key.wave is not None:
                    waves.setdefault(key.wave, []).append(sample)
            for wave, together in waves.items():
                wall = together[0].link.wall_seconds
                if wall and len(together) == together[0].link.level and all(s.measured for s in together):
                    speeds[arm, wave] = sum(s.result.num_delivered for s in together) / wall
        both = {wave for arm, wave in speeds if arm is None} & {wave for arm, wave in speeds if arm is not None}
        return [speeds[candidate, wave] / speeds[None, wave] for wave in sorted(both)]

    def of(self, condition: int, candidate: int | None, phases: tuple[str, ...] = ()) -> list[Sample]:
        """The measured runs of a candidate under a condition."""
        return [
            sample
            for key, sample in self.samples.items()
            if key.candidate == candidate
            and key.condition == condition
            and sample.measured
            and (key.phase in phases if phases else key.phase not in ("warm-up", "grid"))
        ]


def link_of(run_id: str, key: Key) -> RunLink:
    arm = "baseline" if key.candidate is None else "speculative"
    return RunLink(run_id, key.phase, key.item, key.place, arm, key.condition, key.candidate, key.level, key.wave)


def read_back(store: Store, tune_id: str) -> Taken:
    """What the store holds of a tuning."""
    taken = Taken()
    for link in store.benchmarks.links(tune_id):
        sample = Sample.of(link, store.replay(link.run_id))
        key = Key(link.phase, link.item, link.candidate, link.repeat, link.level, link.wave, link.turn)
        taken.take(key, sample)
    return taken
