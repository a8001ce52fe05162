"""TensorRT-LLM's PyTorch backend: Draft_Target and Eagle3. It has no vocabulary check of its own that we know of."""

from playground.doctor.engines import Pair
from playground.doctor.engines._common import broken, first_difference, head
from playground.doctor.findings import Fit

TITLE = "TensorRT-LLM"
BASIS = "TensorRT-LLM 1.2's and 1.3's documents, not run"


def fit(pair: Pair) -> Fit:
    return broken("tensorrt_llm", pair) or _rules(pair)


def _rules(pair: Pair) -> Fit:
    if "gguf" in (pair.target.kind, pair.draft.kind):
        return _fit("no", "no_gguf")
    kind = head(pair)
    if kind and pair.draft.role == "eagle3":
        return _setting("as_head", "Eagle3", pair)
    if kind:
        return _fit("no", "trt_head") if pair.draft.role == "eagle" else _fit("no", "no_such_method", kind=kind)
    if pair.vocabulary is None:
        return _fit("unknown", "vocabulary_unknown")
    if not pair.vocabulary.same_tokens:
        difference = first_difference(pair.vocabulary)
        return _fit("no", "vocabulary", n=difference["n"], id=difference["id"])
    if pair.target.stateful or pair.draft.stateful:
        return _fit("unknown", "stateful", model=(pair.target if pair.target.stateful else pair.draft).name)
    return _setting("runs_by_rules", "Draft_Target", pair)


def _setting(code: str, decoding: str, pair: Pair) -> Fit:
    if not pair.has_nvidia:
        code = "needs_nvidia"
    return Fit("tensorrt_llm", "setting", code, setting=f"speculative_config.decoding_type: {decoding}", basis=BASIS)


def _fit(outcome: str, code: str, **params: object) -> Fit:
    assert outcome in ("no", "unknown")
    return Fit("tensorrt_llm", "no" if outcome == "no" else "unknown", code, dict(params), basis=BASIS)
