"""WHAT runs: sampling, speculation, the run, the preset. Pydantic, because people and files write these.

Field titles, descriptions and bounds are the single source of the page's controls, the command line's flags and the
errors. Knows nothing of where it runs (settings.py) or of how (engines, drafters check their own `options`).
"""

import re
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from playground.errors import PlaygroundError
from playground.faults import faults
from playground.sentence import Sentence

Dtype = Literal["auto", "bfloat16", "float16", "float32"]

M = TypeVar("M", bound=BaseModel)

MAX_TEXT = 1_000_000  # characters of a prompt or system prompt: a page is no file server


class SamplingParams(BaseModel):
    """How the target's law is turned into tokens. Names and meanings are vLLM's `SamplingParams`.

    All of it is applied to target and draft alike before the accept test.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    temperature: float = Field(
        0.0, ge=0.0, le=5.0, title="Temperature", description="0 is greedy: always the most likely token."
    )
    top_p: float = Field(
        1.0, gt=0.0, le=1.0, title="Top-p", description="Keep the smallest set of tokens with this total probability."
    )
    top_k: int = Field(0, ge=0, title="Top-k", description="Keep the k most likely tokens; 0 keeps all.")
    min_p: float = Field(
        0.0, ge=0.0, le=1.0, title="Min-p", description="Drop tokens below this share of the most likely one."
    )
    repetition_penalty: float = Field(
        1.0, gt=0.0, le=3.0, title="Repetition penalty", description="Above 1 discourages tokens already seen."
    )
    presence_penalty: float = Field(
        0.0, ge=-2.0, le=2.0, title="Presence penalty", description="Subtracted once from tokens already generated."
    )
    frequency_penalty: float = Field(
        0.0, ge=-2.0, le=2.0, title="Frequency penalty", description="Subtracted for each time a token was generated."
    )
    min_tokens: int = Field(
        0, ge=0, title="Min tokens", description="No end-of-sequence or stop string before this many tokens."
    )
    max_tokens: int = Field(256, ge=1, le=131_072, title="Max tokens", description="Stop after this many new tokens.")
    seed: int | None = Field(
        None, ge=0, lt=2**63, title="Seed", description="Same seed, same text; empty draws a new one each run."
    )
    stop: tuple[Annotated[str, Field(min_length=1, max_length=200)], ...] = Field(
        (), max_length=16, title="Stop strings", description="Generation ends before the first of these."
    )
    ignore_eos: bool = Field(
        False, title="Ignore EOS", description="Keep going past the end-of-sequence token (for timing)."
    )

    @field_validator("stop", mode="before")
    @classmethod
    def _one_stop_is_a_list(cls, value: object) -> object:
        return (value,) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _min_within_max(self) -> "SamplingParams":
        if self.min_tokens > self.max_tokens:
            raise ValueError(
                Sentence(
                    "min_tokens ({least}) must not exceed max_tokens ({most})",
                    least=self.min_tokens,
                    most=self.max_tokens,
                )
            )
        return self

    @property
    def greedy(self) -> bool:
        return self.temperature == 0.0


class Speculation(BaseModel):
    """A way of drafting. `method` is a drafter's name (a file of `playground/drafters/`) or the engine's own."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    method: str = Field("ngram", min_length=1, max_length=64, title="Method", description="How tokens are drafted.")
    num_speculative_tokens: int = Field(
        5, ge=1, le=64, title="num_speculative_tokens", description="k: tokens drafted per step, at most."
    )
    model: str | None = Field(
        None, title="Draft model", description="Name, folder, GGUF file or hub id; only for methods that need one."
    )
    options: dict[str, Any] = Field(default_factory=dict, title="Options", description="The method's own options.")


class Message(BaseModel):
    """One earlier message of a conversation."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    role: Literal["user", "assistant"]
    content: str = Field(max_length=MAX_TEXT)


class RunConfig(BaseModel):
    """Everything that decides what one run does, except the prompt. `speculation=None` IS the baseline."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    engine: str = Field("embedded", title="Engine", description="What runs the models.")
    engine_options: dict[str, Any] = Field(
        default_factory=dict, title="Engine options", description="The engine's own options."
    )
    target: str = Field(
        "smollm2-135m",
        min_length=1,
        title="Target model",
        description="The model whose output is wanted: name, folder, GGUF file or hub id.",
    )
    dtype: Dtype = Field("auto", title="dtype", description="Number format of weights and arithmetic.")
    speculation: Speculation | None = Field(default_factory=Speculation, title="Speculation")
    sampling: SamplingParams = Field(default_factory=SamplingParams, title="Sampling")
    chat: bool = Field(True, title="Chat template", description="Wrap the prompt in the target's own chat template.")
    system_prompt: str = Field(
        "", max_length=MAX_TEXT, title="System prompt", description="Only with a chat template; empty leaves it out."
    )
    history: tuple[Message, ...] = Field(
        (),
        max_length=64,
        title="History",
        description="What was said before the prompt, in a conversation.",
        exclude_if=lambda history: not history,  # most runs are no conversation, and no preset is
    )

    def baseline(self) -> "RunConfig":
        """The same run without speculation: every other setting equal, the one fair comparison."""
        return self.model_copy(update={"speculation": None})


class Evidence(BaseModel):
    """What was measured for a preset, where and with which versions. Free-form within, so that old files still load."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    run_ids: tuple[str, ...] = ()
    date: str = ""
    metrics: dict[str, Any] = Field(default_factory=dict)
    hardware: dict[str, Any] = Field(default_factory=dict)
    versions: dict[str, str] = Field(default_factory=dict)


class Preset(BaseModel):
    """A named, shareable `RunConfig` with the evidence for it. Stored as YAML in `presets/`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    description: str = Field("", max_length=2000)
    config: RunConfig
    evidence: Evidence | None = None

    @field_validator("name")
    @classmethod
    def _in_words(cls, name: str) -> str:
        if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,63}", name):
            raise ValueError(
                Sentence(
                    "{name} is no name for a preset: up to 64 of a-z, 0-9, dot, dash and underscore, with a letter or "
                    "digit first",
                    name=repr(name[:64]),
                )
            )
        return name


def checked(model: type[M], data: object, *, where: str = "") -> M:
    """`data` as a `model`, or one sentence naming every bad key.

    Args:
        where: what is being read ("presets/fast.yaml", "the n-gram options"); opens the sentence.

    Raises:
        PlaygroundError: with code "bad_config".
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise config_error(error, where) from None


def config_error(error: ValidationError, where: str = "") -> PlaygroundError:
    """A pydantic error as our one sentence and its fix."""
    found = faults(error)
    said = (
        Sentence("In {where}: {faults}.", where=where, faults=found) if where else Sentence("{faults}.", faults=found)
    )
    return PlaygroundError(said, Sentence("Correct the named value and try again."), code="bad_config")
