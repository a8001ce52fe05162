"""`bench`: a suite measured with and without speculation; its verdict, and the report as files."""

import argparse
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from playground.cli.flags import add_config_flags, config_from
from playground.cli.numbers import real, whole
from playground.cli.output import OK, Output, stopping
from playground.cli.running import opened
from playground.cli.stored import store as opened_store
from playground.cli.suite import (
    add_suite_flags,
    check_endings,
    followed,
    numbers,
    suite_from,
    suites_dict,
    write_files,
)
from playground.errors import PlaygroundError
from playground.results import percent, rate, seconds, three
from playground.settings import Settings, load_settings
from playground.terminal import sanitised

if TYPE_CHECKING:
    from playground.bench.plan import BenchPlan
    from playground.runner import Runner

ENDINGS = (".md", ".csv", ".json", ".html")


def add_bench_flags(parser: argparse.ArgumentParser) -> None:
    add_suite_flags(parser)
    how = parser.add_argument_group("measuring")
    how.add_argument(
        "--threshold", type=real(0), default=2.0, metavar="X", help="speed-up that is asked for (default: 2)"
    )
    how.add_argument(
        "--repeats", type=whole(1), default=1, metavar="N", help="times each prompt is measured (default: 1)"
    )
    how.add_argument(
        "--aa",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="measure the baseline twice, to know what noise alone would show",
    )
    how.add_argument("--levels", default="", metavar="1,2,4", help="also throughput with so many requests at once")
    stored = parser.add_argument_group("stored benchmarks")
    stored.add_argument("--list", action="store_true", help="list them, and the suites")
    stored.add_argument("--resume", metavar="ID", help="run what is left of one")
    stored.add_argument("--report", metavar="ID", help="report on one again; nothing is run")
    stored.add_argument("--delete", metavar="ID", help="forget one; its runs stay in the history")
    files = parser.add_argument_group("files")
    files.add_argument(
        "--out",
        action="append",
        default=[],
        metavar="FILE",
        help="the report as .md, .csv, .json or .html (repeatable)",
    )
    files.add_argument("--overwrite", action="store_true", help="replace files that are there")
    parser.add_argument("--device", help="auto, cpu, cuda, cuda:N or mps (default: DRAFTBOARD_DEVICE)")
    add_config_flags(parser)


def bench(args: argparse.Namespace, out: Output) -> int:
    check_endings(args.out, ENDINGS)
    if args.list:
        return _list(out)
    if args.delete:
        return _delete(args.delete, out)
    if args.report:
        from playground.bench.run import stored_report

        with opened_store() as db:
            return _end(stored_report(db, args.report), args, out)
    settings = load_settings(device=args.device) if args.device else load_settings()
    return _run(args, settings, out)


def _run(args: argparse.Namespace, settings: Settings, out: Output) -> int:
    from playground.bench.run import run, start

    plan = None if args.resume else (config_from(args, settings), suite_from(args, settings))
    with opened(settings) as (store, runner):
        benchmark_id = args.resume or start(store, _plan(args, plan, runner))
        report: dict[str, Any] = {}
        with stopping(lambda: None) as stop:
            for stage in followed(run(runner, store, benchmark_id), out, stop):
                report = stage.report or report
        if stop.signal is not None:
            report = dict(store.benchmarks.benchmark(benchmark_id).report or report)
            out.line(f"Stopped; what there is was stored. Go on with: bench --resume {benchmark_id}")
            out.result(report | {"benchmark_id": benchmark_id})
            return stop.code
    return _end(report, args, out)


def _plan(args: argparse.Namespace, chosen: Any, runner: "Runner") -> "BenchPlan":
    from playground.bench.plan import BenchPlan
    from playground.config import checked

    config, suite = chosen
    if config.speculation is None:
        raise PlaygroundError(
            "There is nothing to compare: no drafting method is chosen.", "Choose one with --method.", code="bad_config"
        )
    data = {
        "config": config,
        "suite": suite,
        "threshold": args.threshold,
        "repeats": args.repeats,
        "check": args.aa,
        "levels": numbers(args.levels, "--levels") if args.levels else (),
        "one_load": runner.one_load(config),
    }
    return checked(BenchPlan, data, where="the benchmark")


def _end(report: dict[str, Any], args: argparse.Namespace, out: Output) -> int:
    from playground.bench.text import csv_text, json_text, markdown

    texts = {
        ".md": lambda: markdown(report),
        ".csv": lambda: csv_text(report),
        ".json": lambda: json_text(report),
        ".html": lambda: _html(report),
    }
    _show(report, out)
    for path in write_files(args.out, texts, overwrite=args.overwrite):
        out.line(f"Wrote {path}")
    out.result(report)
    return OK


def _html(report: dict[str, Any]) -> str:
    from playground.ui.bench_html import page  # draws with the page's charts, and so is slow to import

    return page(report)


def _show(report: dict[str, Any], out: Output) -> None:
    from playground.bench.text import TRUST, disturbance, headline, spoken

    out.line(f"\n{headline(report)}")
    out.line(report["reason"])
    out.line(f"A/A check: {spoken(report['aa'])}. {TRUST[report['trusted_code']]}")
    out.console.print(_table(report))
    spec, base = report["metrics"], report["baseline"]
    out.line(f"Decode speed {rate(base['tokens_per_second'])} -> {rate(spec['tokens_per_second'])}")
    out.line("Outputs: " + (", ".join(f"{n} {kind}" for kind, n in report["outputs"].items() if n) or "none yet"))
    for row in report["levels"]["levels"]:
        speeds = f"{rate(row['baseline_tokens_per_second'])} -> {rate(row['speculative_tokens_per_second'])}"
        out.line(f"{row['level']} at once: {speeds}, throughput {spoken(row['speedup'])}")
    flagged = sum(bool(r["flags"]) for r in report["requests"])
    if flagged:
        out.line(
            f"{flagged} prompts are flagged as unrepresentative; without them {spoken(report['speedup_unflagged'])}"
        )
    if disturbed := disturbance(report):
        out.line(disturbed)
    if report["num_failed"]:
        out.line(f"{report['num_failed']} runs failed and are in no figure.")
    out.line(f"Benchmark {report['benchmark_id']}, {report['status']}")


def _table(report: dict[str, Any]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    table.add_column("category", no_wrap=True)
    for title in ("n", "speed-up (95 %)", "acceptance", "tokens/step", "TTFT p50 / p99", "TPOT p50 / p99"):
        table.add_column(title, justify="right", no_wrap=True)
    groups = report["categories"] if len(report["categories"]) > 1 else {}
    for name, group in {**groups, "all": report}.items():
        speed, spec = group["speedup"], group["metrics"]
        inside = f" ({three(speed['low'])}-{three(speed['high'])})" if speed["low"] is not None else ""
        cells = (
            name or "-",
            str(speed["n"]),
            "n/a" if speed["median"] is None else f"{three(speed['median'])}x{inside}",
            percent(spec["draft_acceptance_rate"]),
            "n/a" if spec["tokens_per_step"] is None else three(spec["tokens_per_step"]),
            f"{seconds(spec['ttft_p50'])} / {seconds(spec['ttft_p99'])}",
            f"{seconds(spec['tpot_p50'])} / {seconds(spec['tpot_p99'])}",
        )
        table.add_row(*(Text(sanitised(cell)) for cell in cells))
    return table


def _list(out: Output) -> int:
    suites = suites_dict(load_settings())
    with opened_store() as db:
        found = db.benchmarks.listed("bench")
    names = ("benchmark_id", "title", "status", "created_at", "ended_at", "error")
    out.line("Suites: " + ", ".join(suite["name"] for suite in suites))
    for row in found:
        out.line(f"{row.benchmark_id}  {row.created_at[:16].replace('T', ' ')}  {row.status:<11}  {row.title}")
    if not found:
        out.line("No benchmark yet.")
    out.result({"benchmarks": [{name: getattr(row, name) for name in names} for row in found], "suites": suites})
    return OK


def _delete(benchmark_id: str, out: Output) -> int:
    with opened_store() as db:
        db.benchmarks.delete(benchmark_id)
    out.line("Forgotten; its runs stay in the history.")
    out.result({"deleted": benchmark_id})
    return OK
