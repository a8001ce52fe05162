"""What `vllm serve --config` takes, as far as presets reach: names, types, bounds and the rules across keys.

Our own reading of vLLM 0.32 (see `VERSIONS`), stricter where its parser accepts what its engine then refuses. Every
export is parsed back and checked against this before anyone sees it; the importer reads with it. It proves the file's
shape, not that a server of some version starts with it: only vLLM's own parser can say that.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from playground.sentence import Sentence

VERSIONS = Sentence("vLLM 0.32")
"""The release these rules were read from and tried on."""

Positive = Annotated[int, Field(ge=1)]
Dtype = Literal["auto", "half", "float16", "bfloat16", "float", "float32"]

MODEL_METHODS = ("draft_model", "eagle", "eagle3", "medusa", "mlp_speculator", "dflash", "dspark")
"""Methods that draft with weights of their own."""

CACHED_REQUESTS = 10_000
"""vLLM's own default of suffix_decoding_max_cached_requests."""

ADAPTIVE = ("dspark",)
"""Methods that can verify fewer drafts than there are, by how sure the draft is."""

METHODS = ("ngram", "ngram_gpu", "suffix", "mtp", *MODEL_METHODS)

OLD_RUNNER_METHODS = ("suffix", "medusa", "mlp_speculator")
"""Methods that vLLM hands to its older model runner, which drops min_p while it speculates."""


def dashed(name: str) -> str:
    return name.replace("_", "-")


class SpeculativeConfig(BaseModel):
    """The inside of `speculative-config`; keys are written with underscores, as vLLM's own documentation does."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    method: Literal[METHODS]  # type: ignore[valid-type]
    model: str | None = Field(None, min_length=1)
    num_speculative_tokens: Positive | None = None
    draft_tensor_parallel_size: Positive | None = None
    prompt_lookup_min: Positive | None = None
    prompt_lookup_max: Positive | None = None
    quantization: str | None = Field(None, min_length=1)
    revision: str | None = Field(None, min_length=1)
    max_model_len: Positive | None = None
    enforce_eager: bool | None = None
    attention_backend: str | None = Field(None, min_length=1)
    moe_backend: str | None = Field(None, min_length=1)
    kv_cache_dtype: str | None = Field(None, min_length=1)
    suffix_decoding_max_tree_depth: Positive | None = None
    suffix_decoding_max_cached_requests: int | None = Field(None, ge=0)
    suffix_decoding_max_spec_factor: float | None = Field(None, ge=0)
    suffix_decoding_min_token_prob: float | None = Field(None, ge=0, le=1)
    draft_sample_method: Literal["greedy", "probabilistic"] | None = None
    rejection_sample_method: Literal["standard", "block"] | None = None
    parallel_drafting: bool | None = None
    num_speculative_tokens_per_batch_size: list[list[int]] | None = Field(None, min_length=1)
    use_heterogeneous_vocab: bool | None = None
    disable_padded_drafter_batch: bool | None = None
    use_local_argmax_reduction: bool | None = None
    disable_eagle_block_drop: bool | None = None
    enable_adaptive_verification: bool | None = None

    @model_validator(mode="after")
    def _rules(self) -> "SpeculativeConfig":
        if self.num_speculative_tokens is None and self.method != "suffix":
            raise ValueError("num_speculative_tokens is missing")
        if self.method in MODEL_METHODS and self.model is None:
            raise ValueError(f"method {self.method} needs a draft model (model)")
        if self.enable_adaptive_verification and self.method not in ADAPTIVE:
            raise ValueError(f"method {self.method} has no adaptive verification")
        if self.method.startswith("ngram"):
            if self.prompt_lookup_min is None or self.prompt_lookup_max is None:
                raise ValueError("prompt_lookup_min and prompt_lookup_max must both be written: min defaults to max")
            if self.prompt_lookup_min > self.prompt_lookup_max:
                raise ValueError("prompt_lookup_min must not exceed prompt_lookup_max")
        elif self.prompt_lookup_min is not None or self.prompt_lookup_max is not None:
            raise ValueError(f"method {self.method} ignores prompt_lookup_min and prompt_lookup_max")
        if self.method == "suffix" and self.suffix_decoding_max_cached_requests is None:
            raise ValueError("suffix_decoding_max_cached_requests must be written: it defaults to 10000 other answers")
        return self


class GenerationDefaults(BaseModel):
    """`override-generation-config`: the only eight keys a server reads. Defaults of requests, but for the last."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    temperature: float | None = Field(None, ge=0, le=2)
    top_p: float | None = Field(None, gt=0, le=1)
    top_k: int | None = Field(None, ge=-1)
    min_p: float | None = Field(None, ge=0, le=1)
    repetition_penalty: float | None = Field(None, gt=0)
    presence_penalty: float | None = Field(None, ge=-2, le=2)
    frequency_penalty: float | None = Field(None, ge=-2, le=2)
    max_new_tokens: Positive | None = None
    """A hard cap on every request of the server, not a default."""


class ServeConfig(BaseModel):
    """A `vllm serve` YAML file. Keys are written with dashes."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, alias_generator=dashed, populate_by_name=True)

    model: str = Field(min_length=1)
    dtype: Dtype
    seed: int = Field(0, ge=0)
    tensor_parallel_size: Positive = 1
    pipeline_parallel_size: Positive | None = None
    data_parallel_size: Positive | None = None
    distributed_executor_backend: Literal["mp", "ray", "uni", "external_launcher"] | None = None
    gpu_memory_utilization: float = Field(gt=0, le=1)
    max_model_len: Positive | None = None
    max_num_seqs: Positive | None = None
    max_num_batched_tokens: Positive | None = None
    quantization: str | None = Field(None, min_length=1)
    kv_cache_dtype: str | None = Field(None, min_length=1)
    enforce_eager: bool | None = None
    enable_prefix_caching: bool | None = None
    generation_config: str = Field(min_length=1)
    override_generation_config: GenerationDefaults
    speculative_config: SpeculativeConfig | None = None

    @model_validator(mode="after")
    def _draft_in_parallel(self) -> "ServeConfig":
        spec = self.speculative_config
        draft = spec.draft_tensor_parallel_size if spec else None
        if spec is None or draft is None or draft == self.tensor_parallel_size:
            return self
        if spec.method == "draft_model":
            # vLLM's config accepts 1; its runner then refuses to start with it.
            raise ValueError("with method draft_model the draft must be as parallel as the target")
        if draft != 1:
            raise ValueError("draft_tensor_parallel_size must be 1 or tensor-parallel-size")
        return self


def written(model: BaseModel) -> dict[str, Any]:
    """The keys and values to write: no nulls (vLLM reads them as the text "None")."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


ENGINE_OPTIONS = tuple(
    name
    for name in ServeConfig.model_fields
    if name not in ("model", "dtype", "generation_config", "override_generation_config", "speculative_config")
)
"""Names of `RunConfig.engine_options` that are keys of the file: vLLM's own names."""

METHOD_OPTIONS = tuple(
    name for name in SpeculativeConfig.model_fields if name not in ("method", "model", "num_speculative_tokens")
)
"""Names of `Speculation.options` that are keys of `speculative-config`."""
