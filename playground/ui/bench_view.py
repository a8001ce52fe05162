"""A benchmark's report as a page fragment: the verdict, the figures, the charts, what is flagged. Pure, bilingual.

The page and the self-contained file show the same fragments.
"""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from playground.ui.bench_charts import levels, scatter, speedups
from playground.ui.i18n import tr
from playground.ui.render import esc, fill, milliseconds, percent, three
from playground.ui.sentences import said_html

Report = Mapping[str, Any]

MOST_ROWS = 400


def report_html(report: Report) -> str:
    """Everything there is to see of one benchmark."""
    if not report.get("requests"):
        return empty_html("bench.empty")
    return (
        f'<div class="db-bench">{verdict_html(report)}{_tiles(report)}{_categories(report)}'
        f"{speedups(report)}{scatter(report)}{_rules(report)}{levels(report)}{_flagged(report)}{_requests(report)}"
        f"{_about(report)}</div>"
    )


def empty_html(key: str) -> str:
    return str(fill('<div class="db-bench"><p class="b-empty">{}</p></div>', tr(key)))


def problem_html(message: str, hint: str) -> str:
    return str(
        fill(
            '<div class="db-bench"><div class="b-problem" role="alert"><p>{}</p><p class="b-soft">{}</p></div></div>',
            said_html(message),
            said_html(hint),
        )
    )


def verdict_html(report: Report) -> Markup:
    """The verdict leads, with the number it rests on, its reason, and what the A/A check says of it."""
    verdict = report["verdict"]
    kind = verdict.lower().replace(" ", "-")
    params = {
        name: three(value) if isinstance(value, float) else value for name, value in report["verdict_params"].items()
    }
    trust = tr(f"bench.trust.{report['trusted_code']}")
    return fill(
        '<section class="b-verdict b-{}" aria-live="polite"><div class="b-lead"><b>{}</b><span>{}</span></div>'
        '<div class="b-why"><p><strong>{}</strong> {}</p><p class="{}">{} {} {}</p></div></section>',
        kind,
        interval(report["speedup"], n=False),
        tr("bench.speedup.n", n=report["speedup"]["n"]),
        tr(f"bench.verdict.{kind}"),
        tr(f"bench.reason.{report['verdict_code']}", **params),
        "b-soft" if report["trusted"] else "b-warn",
        tr("bench.aa"),
        interval(report["aa"], n=False),
        trust,
    )


def interval(found: Mapping[str, Any], n: bool = True) -> str:
    """A speed-up with its interval; "n/a" where there is none."""
    if found["median"] is None:
        return "n/a"
    inside = f" ({three(found['low'])}–{three(found['high'])})" if found["low"] is not None else ""
    return f"{three(found['median'])}×{inside}" + (f", n = {found['n']}" if n else "")


def _tiles(report: Report) -> Markup:
    spec, base = report["metrics"], report["baseline"]
    tiles = [
        ("bench.tile.acceptance", percent(spec["draft_acceptance_rate"])),
        ("bench.tile.tokens_per_step", three(spec["tokens_per_step"])),
        ("bench.tile.decode", f"{three(base['tokens_per_second'])} → {three(spec['tokens_per_second'])} tok/s"),
        ("bench.tile.end_to_end", interval(report["speedup_end_to_end"], n=False)),
        ("bench.tile.ttft", f"{milliseconds(base['ttft_p50'])} → {milliseconds(spec['ttft_p50'])}"),
        ("bench.tile.energy", _energy(base["joules_per_token"], spec["joules_per_token"])),
    ]
    cells = Markup("").join(
        fill('<div class="b-tile"><span>{}</span><b>{}</b></div>', tr(key), value) for key, value in tiles
    )
    counts = [(kind, count) for kind, count in report["outputs"].items() if count]
    said = Markup(", ").join(
        fill("{} {}", count, tr(f"bench.outputs.{kind.replace(' ', '_')}")) for kind, count in counts
    )
    outputs = fill('<div class="b-tile"><span>{}</span><b>{}</b></div>', tr("bench.tile.outputs"), said or "n/a")
    return fill('<section class="b-tiles">{}{}</section>', cells, outputs)


def _energy(base: float | None, spec: float | None) -> str:
    return "n/a" if base is None or spec is None else f"{three(base)} → {three(spec)} J/tok"


_HEADS = ("speedup", "acceptance", "tokens_step", "ttft", "tpot", "n")


def _categories(report: Report) -> Markup:
    groups = report["categories"] if len(report["categories"]) > 1 else {}
    heads = Markup("").join(fill("<th>{}</th>", tr(f"bench.col.{name}")) for name in _HEADS)
    rows = Markup("").join(_category(esc(name or "–"), group) for name, group in groups.items())
    return fill(
        '<section><div class="b-scroll"><table class="b-table"><thead><tr><th>{}</th>{}</tr></thead>'
        '<tbody>{}{}</tbody></table></div><p class="b-soft">{}</p></section>',
        tr("bench.col.category"),
        heads,
        rows,
        _category(tr("bench.all"), report),
        tr("bench.table.note"),
    )


def _category(name: Markup, group: Mapping[str, Any]) -> Markup:
    spec, base = group["metrics"], group["baseline"]
    cells = (
        interval(group["speedup"], n=False),
        percent(spec["draft_acceptance_rate"]),
        three(spec["tokens_per_step"]),
        _quantiles(base, spec, "ttft"),
        _quantiles(base, spec, "tpot"),
        group["speedup"]["n"],
    )
    return fill("<tr><th>{}</th>{}</tr>", name, Markup("").join(fill("<td>{}</td>", c) for c in cells))


def _quantiles(base: Mapping[str, Any], spec: Mapping[str, Any], name: str) -> Markup:
    """p50 and p99, without → with speculation."""
    said = [f"{milliseconds(base[f'{name}_{p}'])} → {milliseconds(spec[f'{name}_{p}'])}" for p in ("p50", "p99")]
    return fill('{}<br><span class="b-soft">{}</span>', *said)


def _rules(report: Report) -> Markup:
    rules = report["rules"]
    ten, high = rules["ten_points"], rules["high_acceptance"]
    holds = {True: "holds", False: "fails", None: "unknown"}
    first = (
        tr(
            "bench.rule.ten.measured",
            measured=percent(ten["measured"]),
            low=percent(ten["low"]),
            high=percent(ten["high"]),
        )
        if ten["measured"] is not None
        else tr("bench.rule.unmeasured")
    )
    second = tr("bench.rule.high.measured", within=high["within"], n=high["n"], median=three(high["median"]))
    if not high["n"]:
        second = tr("bench.rule.high.none")
    items = [
        ("bench.rule.ten", first, holds[ten["holds"]]),
        ("bench.rule.high", second, holds[high["holds"]]),
    ]
    said = Markup("").join(
        fill(
            '<li class="b-rule-{}"><strong>{}</strong> {} <em>{}</em></li>', how, tr(key), text, tr(f"bench.rule.{how}")
        )
        for key, text, how in items
    )
    return fill('<section><h4>{}</h4><ul class="b-rules">{}</ul></section>', tr("bench.rules"), said)


def _flagged(report: Report) -> Markup:
    flagged = [r for r in report["requests"] if r["flags"]]
    if not flagged:
        return Markup("")
    rows = Markup("").join(
        fill(
            "<li><strong>{}</strong> {}</li>",
            request["id"],
            Markup(", ").join(tr(f"bench.flag.{flag}") for flag in request["flags"]),
        )
        for request in flagged[:MOST_ROWS]
    )
    without = tr("bench.unflagged", speedup=interval(report["speedup_unflagged"]))
    return fill(
        '<section><h4>{}</h4><p class="b-soft">{}</p><ul class="b-flags">{}</ul></section>',
        tr("bench.flagged", n=len(flagged)),
        without,
        rows,
    )


def _requests(report: Report) -> Markup:
    """Every request, with a link to its pair in Compare."""
    names = ("prompt", "category", "speedup", "acceptance", "tokens_step", "tpot_base", "tpot", "delivered", "outputs")
    heads = Markup("").join(fill("<th>{}</th>", tr(f"bench.col.{name}")) for name in names)
    rows = Markup("").join(_request(request) for request in report["requests"][:MOST_ROWS])
    return fill(
        '<details class="b-requests"><summary>{}</summary><div class="b-scroll"><table class="b-table">'
        "<thead><tr>{}</tr></thead><tbody>{}</tbody></table></div></details>",
        tr("bench.requests", n=len(report["requests"])),
        heads,
        rows,
    )


def _request(request: Mapping[str, Any]) -> Markup:
    ids = [*request["run_ids"]["baseline"][:1], *request["run_ids"]["speculative"][:1]]
    name = request["id"] + (f" · {request['turn'] + 1}" if request["turn"] else "")
    link = fill('<a href="./?run={}" title="{}">{}</a>', ",".join(ids), request["prompt"], name)
    speed = "n/a" if request["speedup"] is None else f"{three(request['speedup'])}×"
    outputs = tr(f"bench.outputs.{request['outputs'].replace(' ', '_')}")
    cells = (
        request["category"] or "–",
        speed,
        percent(request["draft_acceptance_rate"]),
        three(request["tokens_per_step"]),
        milliseconds(request["baseline_tpot"]),
        milliseconds(request["tpot"]),
        request["num_delivered"],
        outputs,
    )
    return fill("<tr><th>{}</th>{}</tr>", link, Markup("").join(fill("<td>{}</td>", c) for c in cells))


def _about(report: Report) -> Markup:
    """Where and how it was measured."""
    environment = report["environment"]
    facts = [str(environment[k]) for k in ("hardware", "device", "dtype", "engine_path") if environment.get(k)]
    versions = environment.get("versions")
    facts += [f"{name} {version}" for name, version in versions.items()] if isinstance(versions, dict) else []
    order = tr(f"bench.order.{report['order']}")
    failed = tr("bench.failed", n=report["num_failed"]) if report["num_failed"] else Markup("")
    count = report.get("num_disturbed")
    disturbed = (
        fill('<span class="b-warn">⚠ {}</span>', tr("bench.disturbed", n=count, all=report["num_runs"]))
        if count
        else Markup("")
    )
    return fill(
        '<p class="b-soft b-about">{} · {} · {} · {} {} {}</p>',
        report["title"],
        ", ".join(facts) or "n/a",
        report["benchmark_id"],
        order,
        failed,
        disturbed,
    )
