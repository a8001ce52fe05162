"""What SGLang's `--config` takes, as far as presets reach: names, types, bounds and the rules across keys.

Our own reading of SGLang 0.5.23, stricter where its parser accepts what its start then refuses: keys with dashes only,
all three numbers of a draft or none, and a verified length of k + 1 for a chain.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from playground.sentence import Sentence

VERSIONS = Sentence("SGLang 0.5.23")

Positive = Annotated[int, Field(ge=1)]

ALGORITHMS: dict[str, str] = {
    "draft_model": "STANDALONE",
    "eagle": "EAGLE",
    "eagle3": "EAGLE3",
    "mtp": "NEXTN",
    "ngram": "NGRAM",
    "dflash": "DFLASH",
    "dspark": "DSPARK",
}
"""Drafting method -> speculative-algorithm."""

CHAINS = ("STANDALONE", "EAGLE", "EAGLE3", "NEXTN")
"""Algorithms told by steps, top-k and draft tokens."""

REJECTION = ("EAGLE", "EAGLE3", "NEXTN")
"""Algorithms that can be told to use rejection sampling."""

WITH_MODEL = ("STANDALONE", "EAGLE", "EAGLE3", "DFLASH", "DSPARK")


def dashed(name: str) -> str:
    return name.replace("_", "-")


class Preferred(BaseModel):
    """`preferred-sampling-params`: what a request to the native /generate leaves open."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    temperature: float | None = Field(None, ge=0)
    top_p: float | None = Field(None, gt=0, le=1)
    top_k: int | None = None
    min_p: float | None = Field(None, ge=0, le=1)
    repetition_penalty: float | None = Field(None, gt=0, le=2)
    presence_penalty: float | None = Field(None, ge=-2, le=2)
    frequency_penalty: float | None = Field(None, ge=-2, le=2)
    min_new_tokens: int | None = Field(None, ge=0)
    max_new_tokens: Positive | None = None
    stop: list[str] | None = None
    ignore_eos: bool | None = None
    sampling_seed: int | None = Field(None, ge=-(2**63), lt=2**63)

    @model_validator(mode="after")
    def _all_tokens(self) -> "Preferred":
        if self.top_k is not None and self.top_k != -1 and self.top_k < 1:
            raise ValueError("top_k must be -1 (all) or at least 1")
        return self


class Serve(BaseModel):
    """The flat file. Keys are written with dashes; with underscores SGLang refuses them."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, alias_generator=dashed, validate_by_alias=True)

    model_path: str = Field(min_length=1)
    dtype: Literal["auto", "half", "float16", "bfloat16", "float", "float32"]
    quantization: str | None = Field(None, min_length=1)
    kv_cache_dtype: str | None = Field(None, min_length=1)
    tp_size: Positive
    pp_size: Positive | None = None
    dp_size: Positive | None = None
    context_length: Positive | None = None
    max_running_requests: Positive | None = None
    mem_fraction_static: float | None = Field(None, gt=0, lt=1)
    random_seed: int | None = Field(None, ge=0)
    disable_cuda_graph: Literal[True] | None = None
    disable_radix_cache: Literal[True] | None = None
    sampling_defaults: Literal["openai", "model"]
    preferred_sampling_params: Preferred
    speculative_algorithm: Literal[tuple(ALGORITHMS.values())] | None = None  # type: ignore[valid-type]
    speculative_draft_model_path: str | None = Field(None, min_length=1)
    speculative_draft_model_revision: str | None = Field(None, min_length=1)
    speculative_draft_model_quantization: str | None = Field(None, min_length=1)
    speculative_draft_attention_backend: str | None = Field(None, min_length=1)
    speculative_draft_kv_cache_dtype: Literal["auto", "fp8_e5m2", "fp8_e4m3", "bf16", "bfloat16"] | None = None
    speculative_num_steps: Positive | None = None
    speculative_eagle_topk: Positive | None = None
    speculative_num_draft_tokens: Annotated[int, Field(ge=2)] | None = None
    speculative_dspark_block_size: Positive | None = None
    speculative_ngram_min_bfs_breadth: Positive | None = None
    speculative_ngram_max_bfs_breadth: Positive | None = None
    speculative_ngram_max_trie_depth: Positive | None = None
    speculative_accept_threshold_single: float | None = Field(None, ge=0, le=1)
    speculative_accept_threshold_acc: float | None = Field(None, ge=0, le=1)
    speculative_use_rejection_sampling: Literal[True] | None = None
    speculative_use_block_verification: Literal[True] | None = None

    @model_validator(mode="after")
    def _rules(self) -> "Serve":
        algorithm = self.speculative_algorithm
        if algorithm is None:
            return self
        if self.max_running_requests is None:
            raise ValueError("max-running-requests is missing: with speculation it would be 48")
        if algorithm in WITH_MODEL and self.speculative_draft_model_path is None:
            raise ValueError(f"{algorithm} needs speculative-draft-model-path")
        three = (self.speculative_num_steps, self.speculative_eagle_topk, self.speculative_num_draft_tokens)
        if algorithm in CHAINS:
            if None in three:
                raise ValueError("speculative-num-steps, -eagle-topk and -num-draft-tokens must all be written")
            if three[1] == 1 and three[2] != (three[0] or 0) + 1:
                raise ValueError("in a chain speculative-num-draft-tokens must be speculative-num-steps + 1")
        elif algorithm == "NGRAM" and self.speculative_num_draft_tokens is None:
            raise ValueError("speculative-num-draft-tokens is missing: it would be 12")
        if self.speculative_use_rejection_sampling and (algorithm not in REJECTION or three[1] != 1):
            raise ValueError(f"{algorithm} has no rejection sampling")
        return self


def written(model: BaseModel) -> dict[str, Any]:
    """The keys and values to write."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)
