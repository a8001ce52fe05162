"""The agreement test as HTML: progress, verdict with reasons, agreement by position, what each k would bring. Pure."""

from markupsafe import Markup

from playground.doctor.agreement import FIRST, THRESHOLD, Agreement, Point
from playground.doctor.judging import reasons
from playground.doctor.trial import Progress
from playground.ui.i18n import tr
from playground.ui.pair_view import MARKS, line
from playground.ui.render import percent, three
from playground.ui.sentences import said_html
from playground.ui.svg import WIDTH, figure, number, rect, rule, svg, table, text, ticks, word, y_axis
from playground.ui.svg import line as curve_line

_LEVELS = {"worth it": "ok", "marginal": "warning", "not worth it": "error", "unknown": "note"}
_LEFT, _RIGHT, _TOP, _BOTTOM, _HEIGHT = 56.0, WIDTH - 20.0, 16.0, 170.0, 210.0


def trial_html(progress: Progress) -> str:
    """While it runs and when it is done."""
    found = progress.agreement
    parts = [_progress(progress)]
    if said := reasons(found):
        level = _LEVELS[found.judgement]
        key = f"pairs.judgement.{found.judgement.replace(' ', '_')}"
        head = Markup('<div class="p-verdict p-{}" aria-live="polite"><b><i aria-hidden="true">{}</i>{}</b></div>')
        parts.append(head.format(level, MARKS[level], tr(key)) if progress.finished else Markup(""))
        parts.append(Markup('<ul class="p-list">{}</ul>').format(Markup("").join(line(f) for f in said)))
        parts.append(Markup(_agreement_chart(found)))
        parts.append(Markup(_speed_chart(found)))
    return str(Markup('<div class="db-pairs">{}</div>').format(Markup("").join(parts)))


def waiting_html() -> str:
    return str(Markup('<div class="db-pairs"><p class="p-empty">{}</p></div>').format(tr("pairs.trial.nothing")))


def _progress(progress: Progress) -> Markup:
    found = progress.agreement
    if progress.finished:
        key = "pairs.trial.stopped" if found.cancelled else "pairs.trial.done"
        said = tr(key, n=found.prompts, of=found.of)
    else:
        said = tr("pairs.trial.running", n=progress.done, of=progress.total)
    bar = Markup('<progress max="{}" value="{}"></progress>').format(progress.total, progress.done)
    detail = Markup("<small>{}</small>").format(said_html(progress.detail)) if progress.detail else Markup("")
    return Markup('<div class="p-progress" data-finished="{}">{}<span>{}</span>{}</div>').format(
        "yes" if progress.finished else "no", "" if progress.finished else bar, said, detail
    )


def _agreement_chart(found: Agreement) -> str:
    """Bars for 1..5 tokens, with the rule of thumb's line."""
    shares = [share for share in found.agreement[:FIRST] if share is not None]
    span = (_RIGHT - _LEFT) / FIRST
    parts = [y_axis(_LEFT, _RIGHT, _TOP, _BOTTOM, (0, 25, 50, 75, 100), " %")]
    for i, share in enumerate(shares):
        x, top = _LEFT + span * (i + 0.2), _BOTTOM - share * (_BOTTOM - _TOP)
        parts.append(rect(x, top, span * 0.6, _BOTTOM - top, "accepted"))
        parts.append(text(x + span * 0.3, top - 4, percent(share), "ax strong", "middle"))
        parts.append(text(x + span * 0.3, _BOTTOM + 16, str(i + 1), "ax", "middle"))
    y = _BOTTOM - THRESHOLD * (_BOTTOM - _TOP)
    parts += [
        rule(_LEFT, y, _RIGHT, y, "threshold"),
        word((_LEFT + _RIGHT) / 2, _HEIGHT - 6, "pairs.axis.tokens", anchor="middle"),
    ]
    rows = [(i, share, n) for i, (share, n) in enumerate(zip(found.agreement, found.positions, strict=True), 1)]
    overlap = Markup("")
    if found.overlap:
        low, high = (f"{value:.2f}" for value in found.overlap)
        overlap = Markup('<p class="db-said">{}</p>').format(
            tr("pairs.overlap", low=low, high=high, n=found.overlap_positions)
        )
    after = (overlap, table("agreement", ("first_tokens", "agreement_share", "positions_told"), rows))
    return figure(
        "pairs.chart.agreement",
        tr("pairs.chart.agreement.sub"),
        svg(_HEIGHT, *parts, name="pairs.chart.agreement"),
        *after,
    )


def _speed_chart(found: Agreement) -> str:
    """Predicted speed-up per k as a line, what was measured as dots, 1.0 as the line to beat."""
    timed = [point for point in found.curve if point.predicted_speedup is not None]
    if not timed:
        return ""
    values = [p.predicted_speedup or 0 for p in timed] + [p.measured_speedup or 0 for p in timed]
    axis = ticks(max(1.0, *values) * 1.08)
    last = timed[-1].num_speculative_tokens
    span = (_RIGHT - _LEFT) / max(1, last)

    def place(k: int, speedup: float) -> tuple[float, float]:
        return _LEFT + span * (k - 0.5), _BOTTOM - speedup / axis[-1] * (_BOTTOM - _TOP)

    parts = [y_axis(_LEFT, _RIGHT, _TOP, _BOTTOM, axis, "×")]
    _, even = place(1, 1.0)
    parts.append(rule(_LEFT, even, _RIGHT, even, "threshold"))
    parts.append(
        curve_line([place(p.num_speculative_tokens, p.predicted_speedup or 0) for p in timed], "curve survival")
    )
    for p in timed:
        x, y = place(p.num_speculative_tokens, p.predicted_speedup or 0)
        parts.append(
            rect(x - 3, y - 3, 6, 6, "mark survival", Markup("<title>{}</title>").format(three(p.predicted_speedup)))
        )
        parts.append(text(x, _BOTTOM + 16, number(p.num_speculative_tokens), "ax", "middle"))
        if p.measured_speedup is not None:
            mx, my = place(p.num_speculative_tokens, p.measured_speedup)
            parts.append(
                rect(
                    mx - 5, my - 5, 10, 10, "p-measured", Markup("<title>{}</title>").format(three(p.measured_speedup))
                )
            )
    parts.append(word((_LEFT + _RIGHT) / 2, _HEIGHT - 6, "pairs.axis.k", anchor="middle"))
    picture = svg(_HEIGHT, *parts, name="pairs.chart.speed")
    return figure("pairs.chart.speed", tr("pairs.chart.speed.sub"), picture, _speed_table(found.curve))


def _speed_table(curve: tuple[Point, ...]) -> Markup:
    rows = [
        (
            p.num_speculative_tokens,
            p.expected_tokens_per_step,
            p.formula,
            _ms(p.draft_seconds),
            _ms(p.verify_seconds),
            p.predicted_speedup,
            p.measured_speedup,
            p.n,
        )
        for p in curve
    ]
    columns = (
        "k_tokens",
        "expected_tokens",
        "expected_formula",
        "draft_ms",
        "verify_ms",
        "predicted_x",
        "measured_x",
        "of_prompts",
    )
    return table("predicted-speed-up", columns, rows)


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000
