"""llama.cpp's server: GGUF files, and the strictest comparison of vocabularies of all."""

from playground.doctor.engines import Pair
from playground.doctor.engines._common import broken, first_difference, head
from playground.doctor.findings import Fit
from playground.doctor.tokenizers import Tokenizer

TITLE = "llama.cpp"
BASIS = "llama.cpp b11434's rules"

MOST_DIFFERENT_SIZE = 128
FIRST_COMPARED = 5
"""It lets the sizes differ by this many tokens, and does not look at the first ids, where special tokens lie."""

_SPEC = {"model": "draft-simple", "eagle3": "draft-eagle3"}


def fit(pair: Pair) -> Fit:
    return broken("llama_cpp", pair) or _rules(pair)


def _rules(pair: Pair) -> Fit:
    target, draft = pair.target, pair.draft
    kind = head(pair)
    if kind and draft.role not in _SPEC:
        return _no("no_such_method", kind=kind)
    found = None if kind else _vocabularies(pair)
    if found is not None:
        return found
    setting = f"spec-type: {_SPEC.get(draft.role, 'draft-simple')}"
    for model in (target, draft):
        if model.kind != "gguf":
            code = "needs_gguf_head" if kind and model is draft else "needs_gguf"
            return Fit("llama_cpp", "setting", code, {"model": model.name}, setting, BASIS)
    return Fit("llama_cpp", "setting", "as_head" if kind else "llama_setting", setting=setting, basis=BASIS)


def _vocabularies(pair: Pair) -> Fit | None:
    target, draft, vocabulary = pair.target.tokenizer, pair.draft.tokenizer, pair.vocabulary
    if target is None or draft is None or vocabulary is None:
        return Fit("llama_cpp", "unknown", "vocabulary_unknown", basis=BASIS)
    if pair.target.kind == pair.draft.kind == "gguf" and target.kind != draft.kind:
        return _no("llama_kind", target=target.kind, draft=draft.kind)
    for role in ("bos", "eos"):
        if not _same_special(target, draft, role):
            return _no("llama_special", role=role)
    rows = (pair.target.rows or target.size, pair.draft.rows or draft.size)
    if abs(rows[0] - rows[1]) > MOST_DIFFERENT_SIZE:
        return _no("llama_size", most=MOST_DIFFERENT_SIZE, target=rows[0], draft=rows[1])
    first = None if vocabulary.same_tokens else _first_compared(target, draft)
    if first is None:
        return None
    texts = (
        {i: t for t, i in target.vocabulary.items() if i == first},
        {i: t for t, i in draft.vocabulary.items() if i == first},
    )
    difference = first_difference(vocabulary) | {"id": first}
    difference["target"], difference["draft"] = (found.get(first, "–") for found in texts)
    return _no("llama_token", first=FIRST_COMPARED, **difference)


def _first_compared(target: Tokenizer, draft: Tokenizer) -> int | None:
    """The first id it looks at, in both vocabularies, whose strings differ."""
    ours, theirs = ({i: t for t, i in tokenizer.vocabulary.items()} for tokenizer in (target, draft))
    common = sorted(i for i in ours.keys() & theirs.keys() if i >= FIRST_COMPARED)
    return next((i for i in common if ours[i] != theirs[i]), None)


def _same_special(target: Tokenizer, draft: Tokenizer, role: str) -> bool:
    """It looks at a special token only where encoding adds it, and then on both sides."""
    adds = [bool(tokenizer.adds_bos if role == "bos" else tokenizer.adds_eos) for tokenizer in (target, draft)]
    ids = [tokenizer.special[role].id if role in tokenizer.special else None for tokenizer in (target, draft)]
    return adds[0] == adds[1] and (not adds[0] or ids[0] == ids[1])


def _no(code: str, **params: object) -> Fit:
    return Fit("llama_cpp", "no", code, dict(params), basis=BASIS)
