"""What a tuning tries: every k of every way of drafting, under every condition. Pydantic, because it is stored.

Knows configurations and suites; nothing of measuring.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from playground.config import RunConfig, Speculation
from playground.errors import PlaygroundError
from playground.live import engine_class
from playground.sentence import Sentence
from playground.suites import Suite
from playground.tune.walk import looks_up

Objective = Literal["tokens_per_second", "throughput", "joules_per_token"]

KS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16)
"""Tried where nobody says otherwise: every small k, then wider apart, since the curve is flat there."""

FINALISTS = 4
MOST_CANDIDATES = 512

K = Annotated[int, Field(ge=1, le=64)]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One configuration of speculation that is tried. `variant`: which of the plan's ways of drafting, from 0."""

    index: int
    variant: int
    speculation: Speculation

    @property
    def k(self) -> int:
        return self.speculation.num_speculative_tokens


@dataclass(frozen=True, slots=True)
class Condition:
    """What a recommendation holds for: a temperature, and so many requests at once."""

    temperature: float
    level: int


class TunePlan(BaseModel):
    """A tuning, whole."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    config: RunConfig
    """What is tuned; its speculation is only where the plan was made from."""
    suite: Suite
    variants: tuple[Speculation, ...] = Field(min_length=1, max_length=64)
    """Ways of drafting; their own k does not count."""
    ks: tuple[K, ...] = Field(KS, min_length=1, max_length=64, title="k", description="Which k are tried.")
    temperatures: tuple[Annotated[float, Field(ge=0, le=5)], ...] = Field((), max_length=8, title="Temperatures")
    levels: tuple[Annotated[int, Field(ge=1, le=1024)], ...] = Field((1,), min_length=1, max_length=8, title="At once")
    objective: Objective = Field("tokens_per_second", title="Ranked by", description="What the best one is best at.")
    finalists: int = Field(FINALISTS, ge=1, le=64, title="Finalists", description="How many are measured, at most.")
    full_grid: bool = Field(False, title="Full grid", description="Also measure everything, to check the short way.")
    one_load: bool = True

    @model_validator(mode="after")
    def _sensible(self) -> "TunePlan":
        count = len(self.variants) * len(set(self.ks))
        if count > MOST_CANDIDATES:
            raise ValueError(Sentence("{count} combinations are more than {most}", count=count, most=MOST_CANDIDATES))
        if self.objective == "throughput" and max(self.levels) < 2:
            raise ValueError(Sentence("throughput is ranked at a number of requests at once: give a level above 1"))
        return self

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        pairs = itertools.product(enumerate(self.variants), sorted(set(self.ks)))
        return tuple(
            Candidate(index, variant, speculation.model_copy(update={"num_speculative_tokens": k}))
            for index, ((variant, speculation), k) in enumerate(pairs)
        )

    @property
    def conditions(self) -> tuple[Condition, ...]:
        temperatures = self.temperatures or (self.config.sampling.temperature,)
        return tuple(Condition(t, n) for t in dict.fromkeys(temperatures) for n in dict.fromkeys(self.levels))

    def looked_up(self, speculation: Speculation) -> bool:
        """Whether what a way of drafting would propose follows from the text of an answer."""
        return looks_up(speculation.method) and not getattr(engine_class(self.config.engine), "CANNED", False)

    @property
    def title(self) -> str:
        methods = ", ".join(dict.fromkeys(v.method for v in self.variants))
        return f"{self.config.target}, {methods}, {self.suite.name}"

    def as_dict(self) -> dict[str, Any]:
        return self.model_dump(mode="json")


def variants_of(speculation: Speculation, options: Mapping[str, Sequence[Any]]) -> tuple[Speculation, ...]:
    """`speculation` with every combination of the options' values. Judged when it is run, as any option is."""
    names = list(options)
    return tuple(
        speculation.model_copy(update={"options": speculation.options | dict(zip(names, values, strict=True))})
        for values in itertools.product(*options.values())
    )


def check_plan(plan: TunePlan) -> None:
    """Raises PlaygroundError where the engine lacks a method, a model or concurrency that the plan needs."""
    from playground.runner import check

    if hasattr(engine_class(plan.config.engine), "stored_baseline"):
        raise PlaygroundError(
            Sentence(
                "With the engine {engine} k is decided where the server is started, so there is none to tune.",
                engine=plan.config.engine,
            ),
            Sentence("Tune with an engine on this machine, and take the preset to the server."),
            code="not_tunable",
        )
    if max(plan.levels) > 1 and not getattr(engine_class(plan.config.engine), "CONCURRENT", False):
        raise PlaygroundError(
            Sentence(
                "The engine {engine} runs one request at a time, so there is no concurrency to tune for.",
                engine=plan.config.engine,
            ),
            Sentence("Leave the levels out, or choose an engine that serves several, such as vllm."),
            code="not_concurrent",
        )
    for candidate in plan.candidates:
        check(plan.config.model_copy(update={"speculation": candidate.speculation}))
