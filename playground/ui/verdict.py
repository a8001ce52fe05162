"""The verdict strip: one leading number, then what it is made of. HTML from a `Comparison` or a `RunResult`, no state.

Faster and slower are said in words and by an arrow, never by colour. Every number can be focused and then shows its
formula, its n and a remark. What was not measured is "n/a", with the reason on hover.
"""

from markupsafe import Markup

from playground.comparison import Comparison, Divergence
from playground.metrics import RunResult
from playground.ui.i18n import STRINGS, t, tr
from playground.ui.render import NOT_AVAILABLE, esc, milliseconds, percent, three
from playground.ui.sentences import said_html

_NOT_COMPARED = {
    "sampled: equal in law, not token by token": "verdict.outputs.sampled",
    "not finished": "verdict.outputs.not_finished",
    "one arm was stopped early; equal as far as both went": "verdict.outputs.stopped",
}


def verdict_strip(comparison: Comparison | None, live: bool = False) -> str:
    """Both arms' verdict.

    Args:
        comparison: None before the first run.
        live: still running: the leading number is "so far", greyed, and not announced to screen readers.
    """
    c = comparison or Comparison()
    spec = c.speculative
    tiles = [
        _lead(c, live),
        _run_tile("draft_acceptance_rate", spec, percent(spec.draft_acceptance_rate)),
        _run_tile("tokens_per_step", spec, three(spec.tokens_per_step)),
        _run_tile("mean_acceptance_length", spec, three(spec.mean_acceptance_length)),
        _pair_tile("ttft", c, milliseconds(c.baseline.ttft), milliseconds(spec.ttft)),
        _pair_tile("tpot", c, milliseconds(c.baseline.tpot), milliseconds(spec.tpot)),
        _outputs(c),
        *_warnings(c.baseline, spec),
    ]
    why = Markup('<button type="button" class="db-why" data-db-tab="why">{} <i>▸</i></button>').format(
        tr("verdict.why")
    )
    return _strip(tiles, live, why if c.factors else Markup(""), "" if live or not c.finished else _spoken(c))


def run_strip(result: RunResult) -> str:
    """One run's numbers, for a run that has nothing to be compared with."""
    n = tr("verdict.tokens.n", n=result.num_delivered)
    speed = three(result.tokens_per_second if result.finished else result.live_tokens_per_second)
    tiles = [
        Markup('<div class="db-lead{}">{}</div>').format(
            "" if result.finished else " live",
            _number(Markup('<b>{}</b> <span class="db-lead-words">{}</span>').format(speed, tr("pane.rate_unit")))
            + _hint("tokens_per_second", n),
        ),
        _tile("ttft", _known(milliseconds(result.ttft), result.finished), n),
        _tile("tpot", _known(milliseconds(result.tpot), result.finished), n),
    ]
    if result.num_draft_tokens or not result.num_delivered:
        tiles[1:1] = [
            _run_tile("draft_acceptance_rate", result, percent(result.draft_acceptance_rate)),
            _run_tile("tokens_per_step", result, three(result.tokens_per_step)),
            _run_tile("mean_acceptance_length", result, three(result.mean_acceptance_length)),
        ]
    if result.joules_per_token is not None:
        tiles.append(_tile("joules_per_token", f"{three(result.joules_per_token)} J", n))
    return _strip([*tiles, *_warnings(result)], not result.finished, Markup(""), "")


def _strip(tiles: list[Markup], live: bool, after: Markup, spoken: Markup | str) -> str:
    return str(
        Markup(
            '<div class="db-verdict" data-live="{}">{}{}<p class="db-sr" role="status" aria-live="polite">{}</p></div>'
        ).format(str(live).lower(), Markup("").join(tiles), after, spoken)
    )


def _lead(c: Comparison, live: bool) -> Markup:
    """The measured decode speed-up, as a number, an arrow and words."""
    words, arrow = _direction(c.speedup)
    n = tr("verdict.speedup.n", baseline=c.baseline.num_delivered, speculative=c.speculative.num_delivered)
    extra = [n]
    if c.speedup_end_to_end is not None:
        extra.append(tr("verdict.end_to_end", value=three(c.speedup_end_to_end)))
    if c.predicted_speedup is not None:
        extra.append(tr("verdict.predicted", value=three(c.predicted_speedup)))
    number = f"{three(c.speedup)}×" if c.speedup is not None else "–"
    if c.speedup is None and c.finished:
        words = "verdict.unmeasured"
    key = f"{words}.live" if live and f"{words}.live" in _LIVE else words
    return Markup('<div class="db-lead{}">{}{}</div>').format(
        " live" if live or c.speedup is None else "",
        _number(
            Markup('<b>{}</b><span class="db-lead-words"><i aria-hidden="true">{}</i> {}</span>').format(
                number, arrow, tr(key)
            )
        ),
        _hint("speedup", *extra),
    )


_LIVE = {f"verdict.{word}.live" for word in ("faster", "slower", "same", "none")}


def _direction(speedup: float | None) -> tuple[str, str]:
    """The key of the words and the arrow. What rounds to 1.00 is neither."""
    if speedup is None:
        return "verdict.none", ""
    if three(speedup) == "1.00" or 0.995 <= speedup < 1:
        return "verdict.same", "="
    return ("verdict.faster", "▲") if speedup > 1 else ("verdict.slower", "▼")


def _run_tile(metric: str, result: RunResult, text: str) -> Markup:
    """A tile of one arm's own number, with the n that belongs to it."""
    n = {
        "draft_acceptance_rate": lambda: tr(
            "verdict.accepted.n", a=result.num_accepted_tokens, k=result.num_draft_tokens
        ),
        "tokens_per_step": lambda: tr("verdict.steps.n", tokens=result.num_decode_tokens, steps=result.num_steps),
        "mean_acceptance_length": lambda: tr(
            "verdict.length.n", steps=result.num_drafting_steps, k=three(result.mean_draft_tokens)
        ),
    }[metric]()
    if text == NOT_AVAILABLE and result.finished and result.untold:
        n = tr("verdict.na.untold")
    elif text == NOT_AVAILABLE and result.finished:
        n = tr("verdict.na.no_drafts" if metric != "tokens_per_step" else "verdict.na.too_short")
    return _tile(metric, _known(text, result.finished), n)


def _pair_tile(metric: str, c: Comparison, before: str, after: str) -> Markup:
    """A time without → with speculation; the unit once where it is the same."""
    n = tr("verdict.pair.n", baseline=c.baseline.num_delivered, speculative=c.speculative.num_delivered)
    if before == after == NOT_AVAILABLE:
        return _tile(metric, _known(before, c.finished), tr("verdict.na.too_short") if c.finished else n)
    if before.split()[-1] == after.split()[-1]:
        before = before.split()[0]
    left, right = _known(before, c.baseline.finished), _known(after, c.speculative.finished)
    return _tile(metric, Markup('{}<span class="db-to">→</span>{}').format(left, right), n)


def _known(text: str, finished: bool) -> Markup:
    """A value that is only missing yet is a dash; "n/a" is for what will not come."""
    return Markup('<span class="db-yet">–</span>') if text == NOT_AVAILABLE and not finished else esc(text)


def _tile(metric: str, value: object, *notes: Markup) -> Markup:
    short = f"metric.{metric}.short"
    label = tr(short if short in STRINGS else f"metric.{metric}")
    return _plain_tile(label, esc(value), _hint(metric, *notes))


def _plain_tile(label: Markup, value: Markup, hint: Markup, kind: str = "") -> Markup:
    return Markup('<div class="db-tile{}"><span class="db-tile-label">{}</span>{}{}</div>').format(
        f" {kind}" if kind else "", label, _number(value), hint
    )


def _number(inner: Markup) -> Markup:
    return Markup('<span class="db-number" tabindex="0">{}</span>').format(inner)


def _hint(metric: str, *notes: Markup) -> Markup:
    """What a number's hover or focus shows: its name, formula, n, remark."""
    remark = f"metric.{metric}.remark"
    lines = [*notes, tr(remark)] if t(remark) else [*notes]
    return _bubble(tr(f"metric.{metric}"), Markup("<code>{}</code>").format(tr(f"metric.{metric}.formula")), lines)


def _bubble(title: Markup, formula: Markup, lines: list[Markup]) -> Markup:
    body = Markup("").join(Markup("<span>{}</span>").format(line) for line in lines)
    return Markup('<span class="db-hint" role="tooltip"><strong>{}</strong>{}{}</span>').format(title, formula, body)


def _outputs(c: Comparison) -> Markup:
    """Identical, where they part, or why that cannot be said."""
    label = tr("verdict.outputs")
    divergence = c.first_divergence
    if c.outputs_identical:
        value, lines = Markup("{} ✓").format(tr("verdict.outputs.identical")), [tr("verdict.outputs.identical.help")]
    elif divergence is not None:
        value, lines = _parted(divergence)
    else:
        why = _NOT_COMPARED.get(c.why_not_compared)
        reason = (
            tr(why)
            if why
            else said_html(c.why_not_compared)
            if c.why_not_compared
            else tr("verdict.outputs.not_finished")
        )
        value, lines = _known(NOT_AVAILABLE, c.finished), [reason]
    # The only tile of words, so the one that gives way where the strip is narrow.
    return _plain_tile(label, value, _bubble(label, Markup(""), lines), "db-outputs")


def _parted(divergence: Divergence) -> tuple[Markup, list[Markup]]:
    kind = {"numeric tie": "tie", "real mismatch": "mismatch"}.get(divergence.kind, "unknown")
    key = "verdict.outputs.tie" if kind == "tie" else "verdict.outputs.mismatch"
    lines = [tr(f"verdict.outputs.{kind}.help")]
    if divergence.logit_gap is not None:
        gap, difference = _small(divergence.logit_gap), _small(divergence.arms_difference)
        lines.append(tr("verdict.outputs.gap", gap=gap, difference=difference))
    sign = "≈" if kind == "tie" else "≠"
    return Markup("{} {}").format(sign, tr(key, position=divergence.position)), lines


def _small(value: float | None) -> str:
    """A logit difference; what is below a thousandth is a tie whatever its digits."""
    return "< 0.001" if value is not None and 0 < value < 0.001 else three(value)


def _warnings(*results: RunResult) -> list[Markup]:
    """Tiles for what is rarely there: counters that do not reconcile, an engine's warnings."""
    tiles = []
    problems = dict.fromkeys(problem for result in results for problem in result.problems)
    if problems:
        label, value = tr("verdict.invalid.label"), Markup("<b>⚠ {}</b>").format(tr("verdict.invalid"))
        tiles.append((label, value, [said_html(problem) for problem in problems]))
    if any(result.disturbed for result in results):
        waited = ", ".join(percent(result.processor_wait) for result in results)
        lines = [tr("verdict.disturbed.help", waited=waited), tr("verdict.disturbed.fix")]
        tiles.append((tr("verdict.disturbed.label"), Markup("<b>⚠ {}</b>").format(tr("verdict.disturbed")), lines))
    found = [result.environment.get("warnings") for result in results]
    notes = dict.fromkeys(note for notes in found if isinstance(notes, list) for note in notes if isinstance(note, str))
    if notes:
        tiles.append((tr("verdict.notes"), esc(f"ⓘ {len(notes)}"), [said_html(note) for note in notes]))
    return [_plain_tile(label, value, _bubble(label, Markup(""), lines)) for label, value, lines in tiles]


def _spoken(c: Comparison) -> Markup:
    """The final verdict as a sentence for screen readers."""
    words, _ = _direction(c.speedup)
    outputs = Markup("")
    if c.outputs_identical is not None:
        outputs = (
            tr("verdict.outputs")
            + " "
            + (
                tr("verdict.outputs.identical")
                if c.outputs_identical
                else tr("verdict.outputs.mismatch", position=c.first_divergence.position if c.first_divergence else "?")
            )
        )
    return tr("verdict.sr", speedup=three(c.speedup), words=tr(words), outputs=outputs)
