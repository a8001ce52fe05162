"""What several engines' rules share: broken files, and the parameters of a vocabulary's first difference."""

from typing import Any

from playground.doctor.engines import Pair
from playground.doctor.findings import Fit
from playground.models import cause_and_fix
from playground.pairs import Vocabulary

KINDS = {"eagle3": "EAGLE-3", "eagle": "EAGLE", "medusa": "Medusa", "mlp_speculator": "MLP speculator"}
"""Heads as people call them."""


def broken(engine: str, pair: Pair) -> Fit | None:
    """A fit that says which of the two cannot be loaded by anything; None where nothing is known against them."""
    for model in (pair.target, pair.draft):
        if model.problem:
            what, fix = cause_and_fix(model.problem)
            return Fit(engine, "no", "broken", {"model": model.name, "why": what, "fix": fix})
    return None


def first_difference(vocabulary: Vocabulary) -> dict[str, Any]:
    return {
        "n": vocabulary.num_different,
        "id": vocabulary.first_id,
        "target": text_or_none(vocabulary.target_text),
        "draft": text_or_none(vocabulary.draft_text),
    }


def text_or_none(text: str | None) -> str:
    """A token's string for a sentence: short, printable; "–" where that side has no such id."""
    if text is None:
        return "–"
    kept = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text[:60])
    return kept + ("…" if len(text) > 60 else "")


def head(pair: Pair) -> str | None:
    """The head's name where the draft is one."""
    return KINDS.get(pair.draft.role)
