"""What `trtllm-serve --config` takes, as far as presets reach: names, types, bounds and the rules across keys.

Our own reading of TensorRT-LLM's `TorchLlmArgs` in two dialects, 1.2 and 1.3 and later (PyTorch backend). Every model
refuses unknown keys, as TensorRT-LLM's own do: one stops the server.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from playground.sentence import Sentence

Dialect = Literal["1.3+", "1.2"]
VERSIONS: dict[str, Sentence] = {
    "1.3+": Sentence("TensorRT-LLM 1.3 and later (PyTorch backend)"),
    "1.2": Sentence("TensorRT-LLM 1.2 (PyTorch backend)"),
}
Positive = Annotated[int, Field(ge=1)]
Text = Annotated[str, Field(min_length=1)]

DECODING: dict[str, str] = {
    "draft_model": "Draft_Target",
    "eagle3": "Eagle3",
    "mtp": "MTP",
    "ngram": "NGram",
    "suffix": "SA",
    "pard": "PARD",
    "dflash": "DFlash",
    "dspark": "DSpark",
}
"""Drafting method -> decoding_type."""

OLD = ("draft_model", "eagle3", "mtp", "ngram")
"""Methods that 1.2 has already."""

WITH_MODEL = ("draft_model", "eagle3", "pard", "dflash", "dspark")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class _Penalised(_Strict):
    """1.3 and later can be told to take requests with a penalty."""

    enable_penalty: Literal[True] | None = None


class _Decoding(_Penalised):
    max_draft_len: Positive
    use_rejection_sampling: bool | None = None


class _WithModel(_Decoding):
    speculative_model: Text


class DraftTarget(_WithModel):
    decoding_type: Literal["Draft_Target"]


class Eagle3(_WithModel):
    decoding_type: Literal["Eagle3"]


class Pard(_WithModel):
    decoding_type: Literal["PARD"]


class DFlash(_WithModel):
    decoding_type: Literal["DFlash"]


class DSpark(_WithModel):
    decoding_type: Literal["DSpark"]
    block_size: Positive

    @model_validator(mode="after")
    def _block(self) -> "DSpark":
        if self.block_size != self.max_draft_len:
            raise ValueError("block_size must equal max_draft_len")
        return self


class OldNGram(_Strict):
    decoding_type: Literal["NGram"]
    max_draft_len: Positive
    max_matching_ngram_size: Positive
    is_keep_all: bool
    is_use_oldest: bool
    is_public_pool: bool


class NGram(OldNGram, _Penalised):
    pass


class SuffixAutomaton(_Penalised):
    decoding_type: Literal["SA"]
    max_draft_len: Positive
    max_matching_ngram_size: int = -1

    @model_validator(mode="after")
    def _size(self) -> "SuffixAutomaton":
        if self.max_matching_ngram_size != -1 and self.max_matching_ngram_size < 1:
            raise ValueError("max_matching_ngram_size must be -1 (the longest) or at least 1")
        return self


class _Relaxed(_Strict):
    use_relaxed_acceptance_for_thinking: bool | None = None
    relaxed_topk: Positive | None = None
    relaxed_delta: float | None = Field(None, ge=0)


class Mtp(_Relaxed, _Penalised):
    decoding_type: Literal["MTP"]
    max_draft_len: Positive
    use_rejection_sampling: bool | None = None


class OldMtp(_Relaxed):
    """In 1.2 another key says k; max_draft_len is overwritten by it."""

    decoding_type: Literal["MTP"]
    num_nextn_predict_layers: Positive


class OldDraftTarget(_Strict):
    decoding_type: Literal["Draft_Target"]
    max_draft_len: Positive
    speculative_model: Text


class OldEagle3(_Strict):
    decoding_type: Literal["Eagle3"]
    max_draft_len: Positive
    speculative_model: Text


class KvCache(_Strict):
    free_gpu_memory_fraction: float = Field(ge=0, le=1)
    dtype: Literal["auto", "fp8", "nvfp4"] | None = None
    enable_block_reuse: bool | None = None


class _Serve(_Strict):
    dtype: Literal["auto", "float16", "bfloat16", "float32"]
    tensor_parallel_size: Positive
    pipeline_parallel_size: Positive | None = None
    max_batch_size: Positive
    max_seq_len: Positive | None = None
    max_num_tokens: Positive
    kv_cache_config: KvCache
    speculative_config: Any = None

    @model_validator(mode="after")
    def _room_for_drafts(self) -> "_Serve":
        spec = self.speculative_config
        k = 0 if spec is None else getattr(spec, "max_draft_len", getattr(spec, "num_nextn_predict_layers", 0))
        if self.max_num_tokens < self.max_batch_size * (k + 1):
            raise ValueError("max_num_tokens must hold max_batch_size x (draft tokens + 1)")
        return self


class ServeNew(_Serve):
    """1.3 and later."""

    speculative_config: (
        Annotated[
            DraftTarget | Eagle3 | NGram | SuffixAutomaton | Mtp | Pard | DFlash | DSpark,
            Field(discriminator="decoding_type"),
        ]
        | None
    ) = None


class Serve12(_Serve):
    """1.2: no rejection sampling, no suffix automaton, no parallel drafts."""

    speculative_config: (
        Annotated[OldDraftTarget | OldEagle3 | OldNGram | OldMtp, Field(discriminator="decoding_type")] | None
    ) = None


SCHEMAS: dict[str, type[_Serve]] = {"1.3+": ServeNew, "1.2": Serve12}


def written(model: BaseModel) -> dict[str, Any]:
    """The keys and values to write; what kind of speculation comes first."""
    values = model.model_dump(mode="json", exclude_none=True)
    if spec := values.get("speculative_config"):
        values["speculative_config"] = {"decoding_type": spec["decoding_type"]} | spec
    return values
