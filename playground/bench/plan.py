"""What a benchmark is to measure: pydantic, because it is stored, resumed, and comes from people. Knows no order."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from playground.config import RunConfig
from playground.errors import PlaygroundError
from playground.live import engine_class
from playground.sentence import Sentence
from playground.suites import Suite

THRESHOLD = 2.0

Level = Annotated[int, Field(ge=1, le=1024)]


class BenchPlan(BaseModel):
    """A benchmark, whole: with it and its runs the report can be made again, or the rest be run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    config: RunConfig
    suite: Suite
    threshold: float = Field(THRESHOLD, gt=0, le=100, title="Threshold", description="Speed-up that is asked for.")
    repeats: int = Field(1, ge=1, le=20, title="Repeats", description="How often each prompt is measured.")
    check: bool = Field(
        True, title="A/A check", description="Measure the baseline twice: without a gain, none must be seen."
    )
    levels: tuple[Level, ...] = Field(
        (), max_length=12, title="Concurrency levels", description="Also measure throughput with so many at once."
    )
    one_load: bool = True
    """Whether one loaded engine serves both arms (`Runner.one_load`): what decides the order of runs."""

    @model_validator(mode="after")
    def _speculates(self) -> "BenchPlan":
        if self.config.speculation is None:
            raise ValueError(Sentence("config.speculation: there is nothing to compare without a drafting method"))
        return self

    @property
    def title(self) -> str:
        spec = self.config.speculation
        assert spec is not None
        return f"{self.config.target}, {spec.method} k={spec.num_speculative_tokens}, {self.suite.name}"

    def as_dict(self) -> dict[str, Any]:
        return self.model_dump(mode="json")


def check_plan(plan: BenchPlan) -> None:
    """Raises PlaygroundError for concurrency levels on an engine that runs one request after the other, and where there
    is nothing to measure a baseline on."""
    must_have_baseline(plan.config)
    if any(level > 1 for level in plan.levels) and not getattr(engine_class(plan.config.engine), "CONCURRENT", False):
        raise PlaygroundError(
            Sentence(
                "The engine {engine} runs one request at a time, so there is no concurrency to measure.",
                engine=plan.config.engine,
            ),
            Sentence("Leave the levels out, or choose an engine that serves several, such as vllm."),
            code="not_concurrent",
        )


def must_have_baseline(config: RunConfig) -> None:
    """Raises PlaygroundError where an engine would read a stored run instead of running a baseline now."""
    stored = getattr(engine_class(config.engine), "stored_baseline", None)
    if stored is not None and stored(config):
        raise PlaygroundError(
            Sentence("There is no server without speculation to measure the baseline on, next to the other arm."),
            Sentence("Give its address as baseline_url."),
            code="no_baseline",
        )
