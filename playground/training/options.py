"""What one training is to do. Pydantic, since people write it: its fields are flags and controls."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from playground.config import Dtype

Temperature = Annotated[float, Field(ge=0.0, le=2.0)]


class TrainOptions(BaseModel):
    """One training. `out` and `target` decide whose head it is; the rest is the recipe."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    target: str = Field(
        "smollm2-135m", min_length=1, title="Target model", description="The model to train a draft head for."
    )
    prompts: Path | None = Field(
        None,
        title="Prompts file",
        description="Your own prompts (JSON lines, CSV, text), beside those the target writes itself.",
    )
    data: tuple[Path, ...] = Field(
        (),
        title="Exchanges",
        description="Exchanges written before (exchanges.jsonl of another training), used before any are written.",
    )
    start_from: Path | None = Field(
        None,
        title="Begin with",
        description="Folder of a head for the same target whose weights, layers and vocabulary are taken over.",
    )
    temperatures: tuple[Temperature, ...] = Field(
        (0.0, 0.7),
        min_length=1,
        max_length=8,
        title="Temperatures",
        description="Answers are sampled at these, in equal parts: those the head will be used at.",
    )
    tokens: int = Field(
        2_000_000,
        ge=100,
        le=10**10,
        title="Tokens",
        description="Answer tokens to train on; more and more varied is better.",
    )
    max_length: int = Field(
        1024,
        ge=16,
        le=32_768,
        title="Longest exchange",
        description="Prompt and answer together, in tokens; cut there.",
    )
    max_answer: int = Field(512, ge=4, le=16_384, title="Longest answer", description="Tokens written per answer.")
    generate_batch: int = Field(32, ge=1, le=1024, title="Written at once", description="Answers sampled in one batch.")
    draft_vocab_size: int = Field(
        8192,
        ge=16,
        le=262_144,
        title="Draft vocabulary",
        description="The most frequent tokens, which the head can draft.",
    )
    taps: tuple[Annotated[int, Field(ge=0, le=1000)], ...] = Field(
        (), max_length=8, title="Hidden states", description="Before which target layers; empty: low, middle and high."
    )
    unroll_steps: int = Field(
        4,
        ge=1,
        le=8,
        title="Unrolled steps",
        description="Positions that the head is trained to guess one after another.",
    )
    step_weight: float = Field(
        0.8, gt=0.0, le=1.0, title="Step weight", description="Each further position counts this much less."
    )
    passes: float = Field(6.0, gt=0.0, le=1000.0, title="Passes", description="Over all exchanges, at most.")
    batch_tokens: int = Field(4096, ge=16, le=10**6, title="Batch", description="Tokens per optimiser step.")
    learning_rate: float = Field(1e-3, gt=0.0, le=1.0, title="Learning rate", description="Of AdamW, at its highest.")
    weight_decay: float = Field(0.01, ge=0.0, le=1.0, title="Weight decay", description="Of AdamW.")
    evaluations: int = Field(
        4, ge=1, le=1000, title="Evaluations", description="On held-out exchanges, per pass; each is a checkpoint too."
    )
    patience: int = Field(
        6, ge=1, le=1000, title="Patience", description="Stop after so many evaluations without a gain."
    )
    checkpoint_seconds: float = Field(
        300.0, gt=0.0, le=86_400.0, title="Checkpoint every", description="Seconds that a kill loses at most."
    )
    states: Literal["auto", "disk", "none"] = Field(
        "auto",
        title="Hidden states kept",
        description="disk: computed once; none: in every pass anew; auto: disk where there is room.",
    )
    dtype: Dtype = Field(
        "auto", title="dtype", description="Of the target; weights of the head are trained in float32."
    )
    seed: int = Field(0, ge=0, lt=2**31, title="Seed", description="Of everything drawn.")


FREE = frozenset({"passes", "patience", "evaluations", "checkpoint_seconds", "states", "generate_batch"})
"""Options that may change when a training is resumed."""
