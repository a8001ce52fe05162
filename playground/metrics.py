"""Every metric, derived from stored integers and times in one fold: the same for live runs, replays and benchmarks.

`RunResult.add(event)` costs the same at token 4,000 as at token 1. A value that is 0/0 is None, shown as "n/a", never
as 0 or 100 %. Knows events, nothing else.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from playground.events import Event, GpuSample, RunFinished, RunStarted, Step
from playground.sentence import Sentence

FOLD_VERSION = 1
"""Changes when a definition changes; cached columns of an older fold are then recomputed from the steps."""

BUSY = 0.1
"""Share of the decode time that other programs may hold the processor before a measured speed is not the machine's."""

LIVE_WINDOW = 2.0
"""Seconds over which the live tokens/s is taken."""


REPORTED = ("num_steps", "num_drafting_steps", "num_draft_tokens", "num_accepted_tokens", "num_judged_tokens")
REPORTED_AT = ("accepted_at", "drafted_at", "judged_at")
"""What `RunFinished.engine_counters` may say in place of steps that do not tell it; the latter as lists."""


class Metric(NamedTuple):
    """How a metric is shown: unit, formula (plain text), remark."""

    title: str
    unit: str
    formula: str
    remark: str = ""


METRICS: dict[str, Metric] = {
    "draft_acceptance_rate": Metric(
        "acceptance", "%", "sum a / sum k over steps with k ≥ 1", "excludes the bonus token"
    ),
    "mean_acceptance_length": Metric(
        "mean acceptance length", "tokens", "1 + sum a / S", "includes the bonus or recovered token"
    ),
    "tokens_per_step": Metric(
        "tokens/step",
        "tokens",
        "delivered decode tokens / all target decode steps",
        "steps without drafts included, the prefill's token excluded; this bounds the speed",
    ),
    "draft_share_of_output": Metric("draft share", "%", "delivered accepted tokens / delivered tokens"),
    "wasted_draft_fraction": Metric("wasted drafts", "%", "1 − delivered accepted tokens / sum k"),
    "ttft": Metric("TTFT", "s", "first delivered token − submission", "load and queue excluded"),
    "tpot": Metric("TPOT", "s", "(last token − first token) / (delivered − 1)", "per token, never per chunk"),
    "tokens_per_second": Metric("decode speed", "tok/s", "(delivered − 1) / (last token − first token)"),
    "tokens_per_second_end_to_end": Metric("end-to-end speed", "tok/s", "delivered / (last token − submission)"),
    "joules_per_token": Metric("energy", "J/tok", "energy counter difference / delivered", "where NVML has it"),
    "processor_wait": Metric(
        "processor waited for",
        "%",
        "longest time a computing thread was ready and had to wait, with what the host took / decode time",
        "other programs ran meanwhile; above 10 % a speed is not this machine's; n/a where the system does not say",
    ),
    "expected_tokens_per_step": Metric(
        "expected tokens/step",
        "tokens",
        "(1 − α^(k+1)) / (1 − α), α = sum a / sum min(a + 1, k)",
        "theory (Leviathan et al. 2023), for the what-if curve only",
    ),
    "speedup": Metric("speed-up", "×", "baseline TPOT / speculative TPOT", "decode, same prompt, paired"),
    "speedup_end_to_end": Metric(
        "end-to-end speed-up", "×", "speculative tok/s end to end / baseline tok/s end to end"
    ),
    "predicted_speedup": Metric(
        "predicted speed-up", "×", "tokens/step × baseline TPOT / mean (draft + verify)", "over decode steps"
    ),
}


@dataclass(frozen=True, slots=True)
class RunResult:
    """The state of one run after some of its events. Start from `RunResult()`; every property follows METRICS.

    Positions are 1-based in the field's language; tuples here are indexed from 0 (position i at [i - 1]).
    """

    status: str = "waiting"
    """waiting, loading, running, then the RunFinished reason."""
    num_prompt_tokens: int = 0
    num_delivered: int = 0
    num_delivered_accepted: int = 0
    num_decode_tokens: int = 0
    num_steps: int = 0
    """All decode steps, k = 0 included."""
    num_drafting_steps: int = 0
    """S: steps with k >= 1."""
    num_draft_tokens: int = 0
    num_accepted_tokens: int = 0
    num_judged_tokens: int = 0
    """sum min(a + 1, k): drafts the target really judged."""
    accepted_at: tuple[int, ...] = ()
    """Per position i: steps with a >= i."""
    drafted_at: tuple[int, ...] = ()
    """Per position i: steps with k >= i."""
    judged_at: tuple[int, ...] = ()
    """Per position i: steps with a >= i - 1 and k >= i."""
    first_at: float | None = None
    last_at: float | None = None
    draft_seconds: float | None = 0.0
    verify_seconds: float | None = 0.0
    energy_first: tuple[tuple[str, float], ...] = ()
    energy_last: tuple[tuple[str, float], ...] = ()
    recent: tuple[tuple[float, int], ...] = ()
    processor_wait: float | None = None
    reconciled: bool | None = None
    problems: tuple[str, ...] = ()
    error: str = ""
    hint: str = ""
    environment: dict[str, Any] = field(default_factory=dict)

    def add(self, event: Event) -> "RunResult":
        """The state after one more event; unknown kinds change nothing."""
        match event:
            case Step():
                return self._step(event)
            case GpuSample():
                return self._sample(event)
            case RunStarted():
                return replace(
                    self,
                    status="running",
                    num_prompt_tokens=len(event.prompt_token_ids),
                    environment=event.environment,
                )
            case RunFinished():
                return self._finish(event)
            case _:
                return replace(self, status="loading") if self.status == "waiting" else self

    @classmethod
    def of(cls, events: Iterable[Event]) -> "RunResult":
        result = cls()
        for event in events:
            result = result.add(event)
        return result

    def _step(self, step: Step) -> "RunResult":
        n = len(step.tokens)
        k, a = step.num_draft_tokens, step.num_accepted_tokens
        accepted = sum(token.origin == "accepted" for token in step.tokens)
        recent = (*(pair for pair in self.recent if step.at - pair[0] <= LIVE_WINDOW), (step.at, n))
        first = step.at if self.first_at is None and n else self.first_at
        changes: dict[str, Any] = {
            "num_delivered": self.num_delivered + n,
            "num_delivered_accepted": self.num_delivered_accepted + accepted,
            "first_at": first,
            "last_at": step.at if n else self.last_at,
            "recent": recent,
        }
        if not step.is_prefill:
            changes |= {
                "num_steps": self.num_steps + ("steps" not in self.untold),
                "num_decode_tokens": self.num_decode_tokens + n,
                "draft_seconds": _plus(self.draft_seconds, step.draft_seconds),
                "verify_seconds": _plus(self.verify_seconds, step.verify_seconds),
            }
            if k:
                changes |= {
                    "num_drafting_steps": self.num_drafting_steps + 1,
                    "num_draft_tokens": self.num_draft_tokens + k,
                    "num_accepted_tokens": self.num_accepted_tokens + a,
                    "num_judged_tokens": self.num_judged_tokens + min(a + 1, k),
                    "accepted_at": _count_up_to(self.accepted_at, a, k),
                    "drafted_at": _count_up_to(self.drafted_at, k, k),
                    "judged_at": _count_up_to(self.judged_at, min(a + 1, k), k),
                }
        return replace(self, **changes)

    def _sample(self, sample: GpuSample) -> "RunResult":
        if sample.energy is None or sample.at < 0 or self.status not in ("running", "waiting", "loading"):
            return self
        first, last = dict(self.energy_first), dict(self.energy_last)
        first.setdefault(sample.device, sample.energy)
        last[sample.device] = sample.energy
        return replace(self, energy_first=tuple(first.items()), energy_last=tuple(last.items()))

    def _finish(self, event: RunFinished) -> "RunResult":
        return self._completed(event)._ended(event)

    def _completed(self, event: RunFinished) -> "RunResult":
        """With the totals that the engine reports at the end in place of what its steps left untold."""
        counters, changes = event.engine_counters or {}, dict[str, Any]()
        if "drafts" in self.untold:
            changes |= {name: counters[name] for name in REPORTED if _is_count(counters.get(name))}
            for name in REPORTED_AT:
                found = counters.get(name)
                if isinstance(found, list) and all(map(_is_count, found)):
                    changes[name] = tuple(found)
        if "counts" in self.untold:
            if (delivered := event.usage_completion_tokens) is None:
                changes["last_at"] = None  # nobody has counted: no speed
            else:
                changes |= {"num_delivered": delivered, "num_decode_tokens": max(0, delivered - 1)}
        if not self.num_prompt_tokens and _is_count(counters.get("num_prompt_tokens")):
            changes["num_prompt_tokens"] = counters["num_prompt_tokens"]
        if isinstance(wait := counters.get("processor_wait"), int | float):
            changes["processor_wait"] = float(wait)
        if isinstance(notes := counters.get("notes"), list):
            warnings = self.environment.get("warnings")
            known = warnings if isinstance(warnings, list) else []
            changes["environment"] = {
                **self.environment,
                "warnings": [*known, *(n if isinstance(n, str) else str(n) for n in notes)],
            }
        return replace(self, **changes) if changes else self

    def _ended(self, event: RunFinished) -> "RunResult":
        problems = list(event.problems)
        if event.usage_completion_tokens is not None and event.usage_completion_tokens != self.num_delivered:
            problems.append(
                Sentence(
                    "The engine counted {counted} delivered tokens, the steps hold {held}.",
                    counted=event.usage_completion_tokens,
                    held=self.num_delivered,
                )
            )
        for name, value in (event.engine_counters or {}).items():
            ours = getattr(self, name, None)
            if isinstance(value, int) and ours is not None and ours != value:
                problems.append(
                    Sentence(
                        "The engine counted {name} = {counted}, the steps hold {held}.",
                        name=name,
                        counted=value,
                        held=ours,
                    )
                )
        reconciled = False if problems else event.reconciled
        return replace(
            self,
            status=event.reason,
            reconciled=reconciled,
            problems=tuple(problems),
            error=event.error,
            hint=event.hint,
        )

    @property
    def finished(self) -> bool:
        return self.status not in ("waiting", "loading", "running")

    @property
    def untold(self) -> frozenset[str]:
        """What this run's engine cannot tell: topics of `RunStarted.environment["untold"]`."""
        found = self.environment.get("untold")
        return frozenset(found) if isinstance(found, Mapping) else frozenset()

    @property
    def valid(self) -> bool:
        """False for a run whose counters do not reconcile: shown, never ranked."""
        return self.reconciled is not False

    @property
    def disturbed(self) -> bool:
        """Whether other programs held the processor for more of the decode time than a speed can bear."""
        return self.processor_wait is not None and self.processor_wait > BUSY

    @property
    def draft_acceptance_rate(self) -> float | None:
        return _ratio(self.num_accepted_tokens, self.num_draft_tokens)

    @property
    def mean_acceptance_length(self) -> float | None:
        share = _ratio(self.num_accepted_tokens, self.num_drafting_steps)
        return None if share is None else 1 + share

    @property
    def tokens_per_step(self) -> float | None:
        return _ratio(self.num_decode_tokens, self.num_steps)

    @property
    def draft_share_of_output(self) -> float | None:
        if not self.untold.isdisjoint(("steps", "counts")):
            return None
        return _ratio(self.num_delivered_accepted, self.num_delivered)

    @property
    def wasted_draft_fraction(self) -> float | None:
        if not self.untold.isdisjoint(("steps", "counts")):
            return None
        share = _ratio(self.num_delivered_accepted, self.num_draft_tokens)
        return None if share is None else 1 - share

    @property
    def survival(self) -> tuple[float | None, ...]:
        """Per position i: steps with a >= i / steps with k >= i (vLLM's per-position rate at fixed k)."""
        return tuple(_ratio(a, k) for a, k in zip(self.accepted_at, self.drafted_at, strict=True))

    @property
    def conditional_acceptance(self) -> tuple[float | None, ...]:
        """Per position i: steps with a >= i / steps with a >= i - 1 and k >= i (EAGLE's alpha)."""
        return tuple(_ratio(a, j) for a, j in zip(self.accepted_at, self.judged_at, strict=True))

    @property
    def ttft(self) -> float | None:
        return self.first_at

    @property
    def decode_seconds(self) -> float | None:
        if self.first_at is None or self.last_at is None or self.num_delivered < 2:
            return None
        return self.last_at - self.first_at

    @property
    def tpot(self) -> float | None:
        seconds = self.decode_seconds
        return None if seconds is None else _ratio(seconds, self.num_delivered - 1)

    @property
    def tokens_per_second(self) -> float | None:
        seconds = self.decode_seconds
        return None if seconds is None else _ratio(self.num_delivered - 1, seconds)

    @property
    def tokens_per_second_end_to_end(self) -> float | None:
        return None if self.last_at is None else _ratio(self.num_delivered, self.last_at)

    @property
    def live_tokens_per_second(self) -> float | None:
        """Over the last LIVE_WINDOW seconds of engine time."""
        if len(self.recent) < 2 or "counts" in self.untold:
            return None
        return _ratio(sum(n for _, n in self.recent[1:]), self.recent[-1][0] - self.recent[0][0])

    @property
    def joules(self) -> float | None:
        last = dict(self.energy_last)
        spans = [last[device] - joules for device, joules in self.energy_first]
        return sum(spans) if spans and sum(spans) > 0 else None

    @property
    def joules_per_token(self) -> float | None:
        joules = self.joules
        return None if joules is None else _ratio(joules, self.num_delivered)

    @property
    def mean_draft_tokens(self) -> float | None:
        """Mean k over drafting steps: what was really drafted, not what was asked for."""
        return _ratio(self.num_draft_tokens, self.num_drafting_steps)

    @property
    def mean_draft_seconds(self) -> float | None:
        return None if self.draft_seconds is None else _ratio(self.draft_seconds, self.num_steps)

    @property
    def mean_verify_seconds(self) -> float | None:
        return None if self.verify_seconds is None else _ratio(self.verify_seconds, self.num_steps)

    @property
    def alpha(self) -> float | None:
        """Per-token acceptance: sum a / sum min(a + 1, k) over steps with k >= 1."""
        return _ratio(self.num_accepted_tokens, self.num_judged_tokens)

    @property
    def expected_tokens_per_step(self) -> float | None:
        """What theory gives at the mean k of this run."""
        k = self.mean_draft_tokens
        return None if self.alpha is None or k is None else expected_tokens_per_step(self.alpha, k)

    def metrics(self) -> dict[str, Any]:
        """METRICS names (and the integers they come from) -> values; the JSON of every face of the product."""
        names = [name for name in METRICS if hasattr(type(self), name)]
        counts = (
            "num_prompt_tokens",
            "num_delivered",
            "num_delivered_accepted",
            "num_steps",
            "num_drafting_steps",
            "num_draft_tokens",
            "num_accepted_tokens",
        )
        return {
            **{name: getattr(self, name) for name in names},
            "survival": list(self.survival),
            "conditional_acceptance": list(self.conditional_acceptance),
            **{name: getattr(self, name) for name in counts},
            "mean_draft_seconds": self.mean_draft_seconds,
            "mean_verify_seconds": self.mean_verify_seconds,
            "status": self.status,
            "reconciled": self.reconciled,
            "problems": list(self.problems),
        }


def expected_tokens_per_step(alpha: float, k: float) -> float:
    """(1 - alpha^(k+1)) / (1 - alpha), k + 1 where alpha = 1 (Leviathan et al. 2023, eq. 1)."""
    return k + 1 if math.isclose(alpha, 1.0) else (1 - alpha ** (k + 1)) / (1 - alpha)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole > 0 else None


def _plus(total: float | None, seconds: float | None) -> float | None:
    return None if total is None or seconds is None else total + seconds


def _count_up_to(counts: tuple[int, ...], n: int, width: int) -> tuple[int, ...]:
    """`counts` with one more in its first n places, at least `width` places long."""
    padded = counts + (0,) * (width - len(counts))
    return tuple(c + (i < n) for i, c in enumerate(padded))
