"""What an agreement test says, as findings with reasons, the verdict first. Knows the result's numbers only."""

from playground.doctor.agreement import ENOUGH, THRESHOLD, Agreement
from playground.doctor.findings import Finding, Level, Share, Times, finding

_VERDICTS: dict[str, tuple[str, Level]] = {
    "worth it": ("trial_worth", "ok"),
    "marginal": ("trial_marginal", "warning"),
    "not worth it": ("trial_not_worth", "error"),
    "unknown": ("trial_unknown", "note"),
}


def reasons(found: Agreement) -> tuple[Finding, ...]:
    """Verdict, then what it rests on. Empty before anything is known."""
    if not found.agreement or found.agreement[0] is None:
        return ()
    said = [_verdict(found), *_rule(found), *_cost(found), *_outputs(found)]
    if (n := found.positions[0]) < ENOUGH:
        said.append(finding("trial_few", "warning", n=n, enough=ENOUGH))
    return tuple(said)


def _verdict(found: Agreement) -> Finding:
    code, level = _VERDICTS[found.judgement]
    if (best := found.best) is None or found.judgement == "unknown":
        return finding(code, level)
    return finding(code, level, k=best.num_speculative_tokens, speedup=Times(best.predicted_speedup or 0.0))


def _rule(found: Agreement) -> list[Finding]:
    if (share := found.first_five) is None:
        return []
    holds = share >= THRESHOLD
    params = {"share": Share(share), "threshold": Share(THRESHOLD)}
    return [finding("rule_holds" if holds else "rule_fails", "ok" if holds else "warning", **params)]


def _cost(found: Agreement) -> list[Finding]:
    """What one draft token costs in passes of the target."""
    costs = [p.draft_seconds / p.num_speculative_tokens for p in found.curve if p.draft_seconds is not None]
    if not costs or not found.target_seconds:
        return []
    share = costs[-1] / found.target_seconds
    return [finding("trial_cost", "ok" if share <= 0.2 else "warning", share=Share(share))]


def _outputs(found: Agreement) -> list[Finding]:
    if not found.prompts:
        return []
    if found.identical == found.prompts:
        return [finding("outputs_identical", "ok", n=found.prompts)]
    return [finding("outputs_differ", "note", n=found.prompts - found.identical, of=found.prompts)]
