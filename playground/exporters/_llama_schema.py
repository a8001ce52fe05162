"""What `llama-server` takes, as far as presets reach: long flag names, types, bounds and the rules across them.

Our own reading of llama.cpp b11434; the program itself checks far less (a top-p of 3 starts, and values of a preset
file are only seen when its model is loaded). The same keys are flags of the command line and keys of the preset file.
"""

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from playground.sentence import Sentence

VERSIONS = Sentence("llama.cpp b10434 and later")
VERSIONS_SAMPLED_DRAFTS = Sentence("llama.cpp b11434 and later")

Positive = Annotated[int, Field(ge=1)]
Text = Annotated[str, Field(min_length=1)]

TYPES: dict[str, str] = {
    "draft_model": "draft-simple",
    "eagle3": "draft-eagle3",
    "mtp": "draft-mtp",
    "dflash": "draft-dflash",
    "dspark": "draft-dspark",
    "ngram": "ngram-simple",
}
"""Drafting method -> spec-type."""

WITH_MODEL = ("draft-simple", "draft-eagle3", "draft-dflash", "draft-dspark")

WINDOW = 131_072
"""repeat-last-n: penalties look at everything, as presets are measured. -1, once "everything", is refused by now."""

ORDER = "etmkp"
"""sampler-seq: penalties, temperature, min-p, top-k, top-p, the order presets are measured with."""


def dashed(name: str) -> str:
    return name.replace("_", "-")


class Serve(BaseModel):
    """Flags of one model."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, alias_generator=dashed, validate_by_alias=True)

    model: Text | None = None
    hf_repo: Text | None = None
    ctx_size: int | None = Field(None, ge=0)
    parallel: Positive | None = None
    cache_prompt: bool | None = None
    temp: float = Field(ge=0)
    top_k: int = Field(ge=0)
    top_p: float = Field(gt=0, le=1)
    min_p: float = Field(ge=0, le=1)
    repeat_penalty: float = Field(gt=0)
    repeat_last_n: int = Field(ge=0)
    presence_penalty: float = Field(ge=-2, le=2)
    frequency_penalty: float = Field(ge=-2, le=2)
    sampler_seq: Literal["etmkp"]
    seed: int | None = Field(None, ge=0, lt=2**32)
    n_predict: Positive
    ignore_eos: Literal[True] | None = None
    reverse_prompt: list[Text] | None = None
    spec_type: Literal[tuple(TYPES.values())] | None = None  # type: ignore[valid-type]
    spec_draft_model: Text | None = None
    spec_draft_hf: Text | None = None
    spec_draft_n_max: Positive | None = None
    spec_draft_n_min: int | None = Field(None, ge=0)
    spec_draft_p_min: float | None = Field(None, ge=0, le=1)
    spec_draft_sampling: Literal["greedy", "probabilistic"] | None = None
    spec_ngram_simple_size_n: Annotated[int, Field(ge=1, le=1024)] | None = None
    spec_ngram_simple_size_m: Annotated[int, Field(ge=1, le=1024)] | None = None
    spec_ngram_simple_min_hits: Annotated[int, Field(ge=1, le=1024)] | None = None

    @model_validator(mode="after")
    def _rules(self) -> "Serve":
        if (self.model is None) == (self.hf_repo is None):
            raise ValueError("one of model and hf-repo must be given")
        drafts = self.spec_draft_model is not None or self.spec_draft_hf is not None
        if self.spec_type is None:
            if drafts:
                raise ValueError("spec-type is missing: the draft would be loaded and never used")
            return self
        if self.spec_type in WITH_MODEL and not drafts:
            raise ValueError(f"{self.spec_type} needs spec-draft-model or spec-draft-hf")
        if None in (self.spec_draft_n_max, self.spec_draft_n_min, self.spec_draft_p_min):
            raise ValueError("spec-draft-n-max, -n-min and -p-min must all be written: their defaults moved")
        if (self.spec_draft_n_min or 0) > (self.spec_draft_n_max or 0):
            raise ValueError("spec-draft-n-min must not exceed spec-draft-n-max")
        if self.spec_type == "ngram-simple" and self.spec_ngram_simple_size_n is None:
            raise ValueError("spec-ngram-simple-size-n is missing")
        return self


def written(model: BaseModel) -> dict[str, Any]:
    """The keys and values to write."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def escaped(text: str, *, comments: bool = True) -> str:
    r"""A stop string as llama-server unescapes it: line ends and backslashes, and in the preset file also `;`, `#`,
    spaces at the ends and control characters, which would end or change the value.

    Args:
        comments: False where `;` and `#` begin none, as on a command line.
    """
    free = "" if comments else ";#"
    kept = "".join(
        c if c in free else _ESCAPES[c] if c in _ESCAPES else c if c.isprintable() else _hex(c) for c in text
    )
    stripped = kept.strip(" ")
    left, right = len(kept) - len(kept.lstrip(" ")), len(kept) - len(kept.rstrip(" "))
    if stripped.startswith("-") and not left:
        stripped = "\\x2d" + stripped[1:]  # or else it looks like the next flag
    return "\\x20" * left + stripped + "\\x20" * (right if stripped else 0)


def unescaped(text: str) -> str:
    """What llama-server makes of a stop string. Bytes that are no UTF-8 become the replacement character."""
    pieces = re.split(r"(\\(?:x[0-9a-fA-F]{1,2}|.))", text, flags=re.DOTALL)
    raw = b"".join(_byte(piece) if piece.startswith("\\") else piece.encode() for piece in pieces)
    return raw.decode("utf-8", "replace")


_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\", ";": "\\x3b", "#": "\\x23", "'": "'", '"': '"'}
_SIMPLE = {"n": b"\n", "r": b"\r", "t": b"\t", "\\": b"\\", "'": b"'", '"': b'"'}


def _hex(character: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in character.encode())


def _byte(piece: str) -> bytes:
    if piece[1] == "x" and len(piece) > 2:
        return bytes([int(piece[2:], 16)])
    return _SIMPLE.get(piece[1:], piece.encode())
