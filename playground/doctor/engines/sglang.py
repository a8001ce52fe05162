"""SGLang: STANDALONE refuses any difference of vocabularies, padding too, and runs drafts with the target's context."""

from playground.doctor.engines import Pair
from playground.doctor.engines._common import broken, first_difference, head
from playground.doctor.findings import Fit

TITLE = "SGLang"
BASIS = "SGLang 0.5.23's rules, not run"


def fit(pair: Pair) -> Fit:
    return broken("sglang", pair) or _rules(pair)


def _rules(pair: Pair) -> Fit:
    target, draft, vocabulary = pair.target, pair.draft, pair.vocabulary
    if kind := head(pair):
        if draft.role not in ("eagle", "eagle3"):
            return Fit("sglang", "no", "no_such_method", {"kind": kind}, basis=BASIS)
        algorithm = f"speculative-algorithm: {draft.role.upper()}"
        return Fit("sglang", "setting", "as_head", setting=algorithm, basis=BASIS)
    if target.rows and draft.rows and target.rows != draft.rows:
        sizes = {"target": target.rows, "draft": draft.rows}
        return Fit("sglang", "no", "sglang_sizes", sizes, basis=BASIS)
    if vocabulary is None:
        return Fit("sglang", "unknown", "vocabulary_unknown", basis=BASIS)
    if not vocabulary.same_tokens:
        difference = first_difference(vocabulary)
        return Fit("sglang", "no", "vocabulary", {"n": difference["n"], "id": difference["id"]}, basis=BASIS)
    setting = "speculative-algorithm: STANDALONE"
    if target.context and draft.context and draft.context < target.context:
        window = f"{setting}, context-length: {draft.context}"
        return Fit("sglang", "setting", "sglang_context", {"draft": draft.context}, window, BASIS)
    return Fit("sglang", "setting", "runs_by_rules", setting=setting, basis=BASIS)
