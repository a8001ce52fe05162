"""A pair's report as HTML: verdict, both models side by side, memory, engines. Pure; knows the doctor's types only."""

from collections.abc import Callable

from markupsafe import Markup

from playground.doctor import engines
from playground.doctor.facts import Facts
from playground.doctor.findings import Finding, Fit, Memory, PairReport, Size, shown
from playground.errors import PlaygroundError
from playground.registry import discover
from playground.ui.i18n import STRINGS, tr
from playground.ui.pair_words import finding_html, fix_html, reason_html
from playground.ui.render import NOT_AVAILABLE, esc
from playground.ui.sentences import said_html
from playground.ui.svg import WIDTH, boxes, rule, svg, word

MARKS = {"ok": "✓", "note": "–", "warning": "!", "error": "✕"}
_VERDICTS = {"works": "ok", "works with care": "warning", "does not work": "error", "unknown": "note"}
_OUTCOMES = {"works": "ok", "setting": "warning", "no": "error", "unknown": "note"}
_HEIGHT = 74
_LEFT, _RIGHT, _TOP, _BAR = 8.0, WIDTH - 8.0, 12.0, 26.0


def report_html(report: PairReport) -> str:
    parts = [_verdict(report)]
    if report.target is not None and report.draft is not None:
        parts.append(_models(report.target, report.draft))
    parts.append(_findings(report.findings))
    if report.memory is not None and report.memory.need:
        parts.append(_memory(report.memory))
    if report.engines:
        parts.append(_engines(report.engines))
    return _page(*parts)


def nothing_html() -> str:
    """What to do first."""
    return _page(Markup('<p class="p-empty">{}</p>').format(tr("pairs.nothing")))


def problem_html(error: PlaygroundError) -> str:
    return _page(
        Markup('<div class="p-problem" role="alert"><p>{}</p><p class="p-hint">{}</p></div>').format(
            said_html(error.message), said_html(error.hint)
        )
    )


def line(found: Finding) -> Markup:
    """One finding with its mark; the level is said to screen readers by the mark's own name."""
    return Markup('<li class="p-{}"><i role="img" aria-label="{}">{}</i><span>{}</span></li>').format(
        found.level, found.level, MARKS[found.level], finding_html(found)
    )


def _page(*parts: Markup) -> str:
    return str(Markup('<div class="db-pairs">{}</div>').format(Markup("").join(parts)))


def _verdict(report: PairReport) -> Markup:
    level = _VERDICTS[report.verdict]
    key = f"pairs.verdict.{report.verdict.replace(' ', '_')}"
    reason = finding_html(report.findings[0]) if report.findings and level != "ok" else Markup("")
    return Markup(
        '<section class="p-verdict p-{}" aria-live="polite"><b><i aria-hidden="true">{}</i>{}</b>{}</section>'
    ).format(level, MARKS[level], tr(key), reason)


def _findings(findings: tuple[Finding, ...]) -> Markup:
    return Markup('<section><h4>{}</h4><ul class="p-list">{}</ul></section>').format(
        tr("pairs.findings"), Markup("").join(line(f) for f in findings)
    )


_ROWS: tuple[tuple[str, Callable[[Facts], object]], ...] = (
    ("architecture", lambda m: m.architecture),
    ("parameters", lambda m: _count(m.parameters)),
    ("stored", lambda m: f"{m.precision or NOT_AVAILABLE}, {Size(m.size)}" if m.size else m.precision),
    ("tokens", lambda m: shown(m.tokenizer.size) if m.tokenizer else None),
    ("logits", lambda m: shown(m.rows)),
    ("window", lambda m: shown(m.context)),
    ("bos", lambda m: _special(m, "bos")),
    ("eos", lambda m: _special(m, "eos")),
    ("template", lambda m: None if m.tokenizer is None else "✓" if m.tokenizer.chat_template else "–"),
)


def _models(target: Facts, draft: Facts) -> Markup:
    rows = Markup("").join(
        Markup("<tr><th scope='row'>{}</th><td>{}</td><td>{}</td></tr>").format(
            tr(f"pairs.row.{key}"), *(esc(of(model) or NOT_AVAILABLE) for model in (target, draft))
        )
        for key, of in _ROWS
    )
    head = Markup("<tr><td></td><th scope='col'>{} <b>{}</b></th><th scope='col'>{} <b>{}</b></th></tr>").format(
        tr("pairs.target"), esc(target.name), tr("pairs.draft"), esc(draft.name)
    )
    return Markup(
        '<section class="p-scroll"><table class="p-models"><thead>{}</thead><tbody>{}</tbody></table></section>'
    ).format(head, rows)


def _special(model: Facts, role: str) -> str | None:
    special = model.tokenizer.special.get(role) if model.tokenizer else None
    return None if special is None else f"{special.text}  ({special.id})"


def _count(number: int | None) -> str | None:
    """135 M, 8.03 B."""
    if number is None:
        return None
    for unit, scale in (("B", 1e9), ("M", 1e6)):
        if number >= scale:
            return f"{number / scale:.3g} {unit}"
    return shown(number)


def _memory(memory: Memory) -> Markup:
    """One bar: what the pair takes of what is free, on the scale of the larger of the two."""
    need, free = memory.need or 0, memory.free or 0
    scale = (_RIGHT - _LEFT) / max(need, free, 1)
    parts, x = [boxes([(_LEFT, _TOP, max(need, free) * scale, _BAR)], "mem-track")], _LEFT
    for name, size in (
        ("target_weights", memory.target_weights),
        ("target_kv", memory.target_kv),
        ("draft_weights", memory.draft_weights),
        ("draft_kv", memory.draft_kv),
    ):
        width = (size or 0) * scale
        parts.append(boxes([(x, _TOP, width, _BAR)], f"mem {name}"))
        x += width
    limit = _LEFT + free * scale
    parts.append(rule(limit, _TOP - 6, limit, _TOP + _BAR + 6, "mem-free"))
    anchor = "end" if limit > WIDTH / 2 else "start"
    parts.append(word(limit, _TOP + _BAR + 20, "pairs.free", anchor=anchor, size=str(Size(free)), device=memory.device))
    picture = svg(_HEIGHT, *parts, name="pairs.memory.plain")
    legend = Markup("").join(
        Markup('<li class="{}"><i></i>{} <b>{}</b></li>').format(name, tr(f"pairs.memory.{name}"), esc(Size(size or 0)))
        for name, size in (
            ("target_weights", memory.target_weights),
            ("target_kv", memory.target_kv),
            ("draft_weights", memory.draft_weights),
            ("draft_kv", memory.draft_kv),
        )
    )
    return Markup('<section><h4>{}</h4>{}<ul class="p-legend">{}</ul></section>').format(
        tr("pairs.memory", context=shown(memory.context), dtype=memory.dtype), picture, legend
    )


def _engines(fits: tuple[Fit, ...]) -> Markup:
    titles = {name: module.TITLE for name, module in discover(engines.PACKAGE).items()}
    rows = Markup("").join(
        Markup(
            '<tr class="p-{}"><th scope="row">{}</th><td><span class="p-chip">{} {}</span></td>'
            "<td>{}{}{}<small>{}</small></td></tr>"
        ).format(
            _OUTCOMES[fit.outcome],
            esc(titles[fit.engine]),
            MARKS[_OUTCOMES[fit.outcome]],
            tr(f"pairs.outcome.{fit.outcome}"),
            reason_html(fit),
            Markup("<code>{}</code>").format(esc(fit.setting)) if fit.setting else "",
            Markup('<span class="p-fix">{}</span>').format(fix_html(fit)) if fit.fix else "",
            tr(f"pairs.basis.{fit.engine}") if f"pairs.basis.{fit.engine}" in STRINGS else esc(fit.basis),
        )
        for fit in fits
    )
    return Markup(
        '<section class="p-scroll"><h4>{}</h4><table class="p-engines"><tbody>{}</tbody></table></section>'
    ).format(tr("pairs.engines"), rows)
