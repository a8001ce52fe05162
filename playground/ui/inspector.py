"""The step inspector: what one step drafted, what the target said about it, and why each draft lived or died.

`step_payload` turns a `Step` into JSON (numbers, texts, and the reason of each position as a key with parameters);
`inspector.js` draws it through `textContent` alone. Knows no engine and no store: whoever has the steps gives them
through `set_step_source`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradio as gr

from playground.events import UNKNOWN_TOKEN_ID, Candidate, Candidates, Step, Token
from playground.ui.render import lines_of_code

_HERE = Path(__file__).parent
_SHOWN_BEFORE = 240  # characters of the text before the step

StepSource = Callable[[list[Any]], dict[str, Any] | None]
"""[run id, step index] -> `step_payload(...)`, or None where there is no such step."""

_source: list[StepSource] = []


def set_step_source(source: StepSource) -> None:
    """Where the inspector of every page gets its steps."""
    _source[:] = [source]


def step(arguments: list[Any]) -> dict[str, Any] | None:
    """Server function of the component."""
    return _source[0](arguments) if _source else None


def StepInspector(*, group: str = "compare", **kwargs: Any) -> gr.HTML:
    """Shows the step last clicked in any pane of `group`; needs no wiring besides `set_step_source`."""
    return gr.HTML(
        kwargs.pop("value", None),
        html_template='<div class="db-inspector"></div>',
        js_on_load=lines_of_code(_HERE / "inspector.js"),
        apply_default_css=False,
        server_functions=[step],
        group=group,
        **kwargs,
    )


def step_payload(step: Step, prefix_text: str = "", *, greedy: bool | None = None) -> dict[str, Any]:
    """A step as the inspector's JSON.

    Args:
        prefix_text: the shown text before the step; only its end is kept.
        greedy: whether the run was at temperature 0; None words the reasons without it.
    """
    k, a = step.num_draft_tokens, step.num_accepted_tokens
    return {
        "index": step.index,
        "at": step.at,
        "k": k,
        "a": a,
        "truncated": step.truncated,
        "draft_seconds": step.draft_seconds,
        "verify_seconds": step.verify_seconds,
        "prefix": prefix_text[-_SHOWN_BEFORE:],
        "cut": len(prefix_text) > _SHOWN_BEFORE,
        "positions": [_position(step, i, greedy) for i in range(max(k, min(a + 1, len(step.tokens)) or 1))],
    }


def _position(step: Step, i: int, greedy: bool | None) -> dict[str, Any]:
    """Position i of the step: the draft there, what was delivered, both models' best, and why."""
    a = step.num_accepted_tokens
    drafted = _drafted(step, i)
    delivered = step.tokens[i] if i < len(step.tokens) else None
    target, draft = _at(step.target_candidates, i), _at(step.draft_candidates, i)
    reason, words = _reason(step, i, drafted, delivered, target, greedy)
    return {
        "drafted": drafted and _token(drafted, _fate(step, i, drafted)),
        "delivered": delivered and _token(delivered, delivered.origin),
        "eos": delivered is not None and step.truncated == "eos" and i == len(step.tokens) - 1,
        "target": [_candidate(c) for c in target],
        "draft": [_candidate(c) for c in draft],
        "judged": i <= a,
        "one_hot": drafted is not None and not draft and drafted.draft_prob == 1.0,
        "gap": step.logit_gaps[i] if i < len(step.logit_gaps) else None,
        "reason": reason,
        "words": words,
    }


def _drafted(step: Step, i: int) -> Token | None:
    """The draft token at position i; accepted ones beyond a truncated end are known by their count only."""
    a = step.num_accepted_tokens
    if i >= step.num_draft_tokens:
        return None
    if i >= a:
        return step.rejected[i - a] if i - a < len(step.rejected) else Token(UNKNOWN_TOKEN_ID, "", "rejected")
    return step.tokens[i] if i < len(step.tokens) else Token(UNKNOWN_TOKEN_ID, "", "accepted")


def _fate(step: Step, i: int, token: Token) -> str:
    if i < step.num_accepted_tokens:
        return "accepted"
    return "rejected" if i == step.num_accepted_tokens else "discarded"


def _reason(
    step: Step,
    i: int,
    drafted: Token | None,
    delivered: Token | None,
    target: tuple[Candidate, ...],
    greedy: bool | None,
) -> tuple[str, dict[str, Any]]:
    """Key (under `inspector.why.`) and parameters; probabilities go as numbers, tokens as {"token": text}."""
    k, a = step.num_draft_tokens, step.num_accepted_tokens
    if drafted is None:
        if step.is_prefill:
            return "prefill", {}
        return ("bonus", {"k": k}) if k else ("target", {})
    if i > a:
        return "discarded", {}
    if i < a and delivered is None:
        return "cut", {}
    best = target[0] if target else None
    p, d = drafted.target_prob, drafted.draft_prob
    if i < a:
        if greedy:
            return ("greedy_accepted", {"best": {"prob": best.prob}}) if best else ("greedy_accepted_bare", {})
        return _sampled("accepted", p, d)
    if not greedy:
        return _sampled("rejected", p, d)
    if best is None:
        return "greedy_rejected_bare", {}
    given = p if p is not None else next((c.prob for c in target if c.id == drafted.id), None)
    words = {"best": {"token": best.text, "prob": best.prob}, "draft": {"token": drafted.text, "prob": given}}
    return ("greedy_rejected" if given is not None else "greedy_rejected_unseen"), words


def _sampled(fate: str, p: float | None, d: float | None) -> tuple[str, dict[str, Any]]:
    """The accept test of speculative sampling: a draft lives with probability min(1, target / draft)."""
    if p is None or not d:
        return f"{fate}_bare", {}
    return f"sampled_{fate}", {"target": {"prob": p}, "draft": {"prob": d}, "accept": {"prob": min(1.0, p / d)}}


def _at(candidates: Candidates, i: int) -> tuple[Candidate, ...]:
    return candidates[i][:5] if i < len(candidates) else ()


def _token(token: Token, fate: str) -> dict[str, Any]:
    known = token.id != UNKNOWN_TOKEN_ID
    return {"id": token.id, "text": token.text, "known": known, "fate": fate, "target": token.target_prob}


def _candidate(candidate: Candidate) -> dict[str, Any]:
    return {"id": candidate.id, "text": candidate.text, "prob": candidate.prob, "logit": candidate.logit}
