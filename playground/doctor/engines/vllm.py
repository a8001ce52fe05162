"""vLLM: the rules of its SpeculativeConfig and draft proposers."""

from playground.doctor.engines import Pair
from playground.doctor.engines._common import broken, head
from playground.doctor.findings import Fit

TITLE = "vLLM"
BASIS = "vLLM 0.32's rules"

HETEROGENEOUS = "speculative_config.use_heterogeneous_vocab: true"


def fit(pair: Pair) -> Fit:
    return broken("vllm", pair) or _unfit(pair) or Fit("vllm", "works", "runs_by_rules", basis=BASIS)


def _unfit(pair: Pair) -> Fit | None:
    target, draft = pair.target, pair.draft
    if "gguf" in (target.kind, draft.kind):
        return Fit("vllm", "no", "no_gguf", basis=BASIS)
    if head(pair):
        return Fit("vllm", "setting", "as_head", setting=f"speculative_config.method: {draft.role}", basis=BASIS)
    if target.stateful:
        return Fit("vllm", "unknown", "stateful", {"model": target.name}, basis=BASIS)
    if target.rows and draft.rows and target.rows != draft.rows:
        sizes = {"target": target.rows, "draft": draft.rows}
        return Fit("vllm", "setting", "vllm_sizes", sizes, setting=HETEROGENEOUS, basis=BASIS)
    if pair.vocabulary is None:
        return Fit("vllm", "unknown", "vocabulary_unknown", basis=BASIS)
    if not pair.vocabulary.same_tokens:
        n = {"n": pair.vocabulary.num_different}
        return Fit("vllm", "setting", "vllm_strings", n, setting=HETEROGENEOUS, basis=BASIS)
    for model in (target, draft):
        if model.remote_code:
            return Fit("vllm", "setting", "remote_code", {"model": model.name}, "trust-remote-code: true", BASIS)
    return None
