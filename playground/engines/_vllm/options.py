"""What can be chosen for vLLM: engine options and each drafting method's own, under vLLM's exact names.

Static, so that the page shows them without vLLM; `schema.py` brings them in line with the vLLM that is installed.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from playground.sentence import Sentence

Mode = Literal["trace", "headline"]


class VllmOptions(BaseModel):
    """Options of the vLLM engine. Names that vLLM knows mean what vLLM means by them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: Mode = Field(
        "trace",
        title="Mode",
        description="trace: every draft token by name; headline: vLLM's own defaults, drafts perhaps by count only.",
    )
    tensor_parallel_size: int = Field(
        1, ge=1, le=64, title="Tensor parallel size", description="Devices that share every layer."
    )
    pipeline_parallel_size: int = Field(
        1, ge=1, le=64, title="Pipeline parallel size", description="Groups of devices that share the layers out."
    )
    data_parallel_size: int = Field(
        1, ge=1, le=64, title="Data parallel size", description="Copies of the model that share the requests out."
    )
    distributed_executor_backend: Literal["mp", "ray"] | None = Field(
        None,
        title="Executor backend",
        description="mp: this machine; ray: vLLM's own Ray backend for a model too big for it; empty: vLLM chooses.",
    )
    quantization: str | None = Field(
        None, min_length=1, max_length=64, title="Quantization", description="Of the target; empty: as the model says."
    )
    max_model_len: int | None = Field(
        None, ge=16, title="Context limit", description="Prompt and answer together, in tokens; empty: the model's own."
    )
    gpu_memory_utilization: float = Field(
        0.9, gt=0.0, le=1.0, title="GPU memory share", description="Of the whole GPU, for weights, KV cache and graphs."
    )
    max_num_seqs: int = Field(
        8, ge=1, le=1024, title="Runs at once", description="Requests computed together; more than these wait."
    )
    enforce_eager: bool | None = Field(
        None, title="Eager", description="No compilation, no CUDA graphs; empty: eager on a CPU, compiled on a GPU."
    )
    kv_cache_dtype: str = Field(
        "auto", min_length=1, max_length=32, title="KV cache dtype", description="auto: as the model; or fp8, ..."
    )
    candidates: int = Field(
        0, ge=0, le=20, title="Candidates", description="The target's best tokens per position; 0 keeps vLLM's speed."
    )
    max_num_speculative_tokens: int = Field(
        0,
        ge=0,
        le=64,
        title="Largest k loaded",
        description="Load for this k, so that a smaller one needs no restart; 0: for exactly the k of the run.",
    )


class NgramOptions(BaseModel):
    """Prompt lookup. vLLM takes the earliest match of the longest n-gram."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompt_lookup_max: int = Field(
        4, ge=1, le=32, title="Longest n-gram", description="Tokens that must match, at most; tried first."
    )
    prompt_lookup_min: int = Field(
        2, ge=1, le=32, title="Shortest n-gram", description="Tokens that must match, at least; fewer draft nothing."
    )

    @model_validator(mode="after")
    def _min_within_max(self) -> "NgramOptions":
        if self.prompt_lookup_min > self.prompt_lookup_max:
            raise ValueError(
                Sentence(
                    "prompt_lookup_min ({least}) must not exceed prompt_lookup_max ({most})",
                    least=self.prompt_lookup_min,
                    most=self.prompt_lookup_max,
                )
            )
        return self


class SuffixOptions(BaseModel):
    """Suffix decoding (Oliaro et al. 2024): drafts as long as what matched promises. Needs `arctic-inference`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    suffix_decoding_max_tree_depth: int = Field(
        24, ge=1, le=1024, title="Tree depth", description="Tokens of match and draft together, at most."
    )
    suffix_decoding_max_cached_requests: int = Field(
        0,
        ge=0,
        title="Cached answers",
        description="Past answers to draft from, vLLM's default 10000; 0 keeps runs independent, so comparisons fair.",
    )
    suffix_decoding_max_spec_factor: float = Field(
        1.0, ge=0.0, le=64.0, title="Draft factor", description="Draft tokens per matched token, at most."
    )
    suffix_decoding_min_token_prob: float = Field(
        0.1, ge=0.0, le=1.0, title="Least probability", description="Draft only tokens at least this likely by count."
    )


class WeightsOptions(BaseModel):
    """What every method that drafts with weights of its own can be told."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    draft_sample_method: Literal["greedy", "probabilistic"] = Field(
        "greedy",
        title="Draft sampling",
        description="greedy: the draft's best token; probabilistic: drawn from its law, and judged by it.",
    )
    rejection_sample_method: Literal["standard", "block"] = Field(
        "standard",
        title="Acceptance test",
        description="standard: token by token; block: the draft as a whole (Sun et al. 2024; newer model runner only).",
    )
    draft_tensor_parallel_size: int | None = Field(
        None, ge=1, le=64, title="Draft tensor parallel size", description="1 or the target's; empty: the target's."
    )
    quantization: str | None = Field(
        None, min_length=1, max_length=64, title="Draft quantization", description="Empty: as the draft model says."
    )
    max_model_len: int | None = Field(
        None, ge=16, title="Draft context limit", description="Tokens the draft reads; empty: its own limit."
    )
    kv_cache_dtype: str | None = Field(
        None, min_length=1, max_length=32, title="Draft KV cache dtype", description="Empty: as the target's."
    )
    attention_backend: str | None = Field(
        None, min_length=1, max_length=64, title="Draft attention backend", description="Empty: vLLM chooses."
    )


class DraftModelOptions(WeightsOptions):
    """A smaller model with the target's vocabulary drafts token by token."""

    parallel_drafting: bool = Field(
        False,
        title="Parallel drafting",
        description="All draft tokens in one pass (PARD); the draft must be trained so.",
    )
    use_heterogeneous_vocab: bool = Field(
        False, title="Different vocabularies", description="Draft only tokens both models have; greedy drafts only."
    )


class EagleOptions(WeightsOptions):
    """A head on the target's hidden states (Li et al. 2024; EAGLE-3: Li et al. 2025)."""

    parallel_drafting: bool = Field(
        False, title="Parallel drafting", description="All draft tokens in one pass; the head must be trained so."
    )
    disable_padded_drafter_batch: bool = Field(
        False, title="Unpadded drafts", description="Sequences of a batch may draft different lengths."
    )
    use_local_argmax_reduction: bool = Field(
        False, title="Local argmax", description="Less traffic between tensor-parallel drafts; greedy drafts only."
    )


class MtpOptions(WeightsOptions):
    """The multi-token-prediction layers some targets bring along (DeepSeek-V3, Qwen3-Next, ...); no draft model."""


class MedusaOptions(BaseModel):
    """Extra heads that guess the next k tokens at once (Cai et al. 2024)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    draft_tensor_parallel_size: int | None = Field(
        None, ge=1, le=64, title="Draft tensor parallel size", description="1 or the target's; empty: the target's."
    )


METHODS: dict[str, type[BaseModel]] = {
    "draft_model": DraftModelOptions,
    "ngram": NgramOptions,
    "suffix": SuffixOptions,
    "eagle": EagleOptions,
    "eagle3": EagleOptions,
    "mtp": MtpOptions,
    "medusa": MedusaOptions,
}
"""Methods we know, shown with or without vLLM."""

NEED_MODEL = ("draft_model", "eagle", "eagle3", "medusa", "mlp_speculator", "dflash", "dspark")
"""Methods that cannot draft without `Speculation.model`."""

FIXED_K = ("suffix", "medusa", "custom_class")
"""Methods whose proposers insist on the k they were loaded with; others may draft fewer, request by request."""

ONE_HOT = ("ngram", "ngram_gpu", "suffix")
"""Methods whose drafts have no law of their own."""
