"""`runs`: the stored runs listed, searched, shown, noted, deleted, exported and imported."""

import argparse
import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from playground.cli.numbers import whole
from playground.cli.output import OK, Output
from playground.errors import PlaygroundError
from playground.presets import write_whole
from playground.results import percent, rate, three
from playground.settings import load_settings
from playground.terminal import sanitised

if TYPE_CHECKING:
    from storage.history import RunRow
    from storage.store import Store

_FIELDS = (
    "run_id", "status", "started_at", "ended_at", "total_seconds", "source", "comparison_id", "arm", "engine", "target",
    "dtype", "method", "draft_model", "num_speculative_tokens", "temperature", "max_tokens", "note", "prompt", "output",
    "metrics",
)  # fmt: skip


def add_list_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--search", default="", metavar="WORDS", help="in prompt, output, models, method, note and id")
    parser.add_argument("--sort", default="started_at", metavar="NAME", help="a column or metric (default: started_at)")
    parser.add_argument("--ascending", action="store_true", help="smallest or oldest first")
    parser.add_argument("--limit", type=whole(1), default=20, metavar="N", help="rows (default: 20)")
    parser.add_argument("--offset", type=whole(0), default=0, metavar="N", help="rows to pass over")
    for name in ("engine", "target", "method", "status", "source", "arm", "comparison-id"):
        parser.add_argument(f"--{name}", metavar="TEXT", help=f"only runs with this {name.replace('-', ' ')}")


def list_runs(args: argparse.Namespace, out: Output) -> int:
    names = ("engine", "target", "method", "status", "source", "arm", "comparison_id")
    with store() as db:
        page = db.runs(
            search=args.search,
            sort=args.sort,
            descending=not args.ascending,
            limit=args.limit,
            offset=args.offset,
            **{name: getattr(args, name) for name in names},
        )
    if not page.rows:
        out.line("No runs." if not page.total else "No more runs.")
    else:
        out.console.print(_table(page.rows))
        out.line(f"{page.offset + 1}-{page.offset + len(page.rows)} of {page.total}")
    out.result({"runs": [run_dict(row) for row in page.rows], "total": page.total, "offset": page.offset})
    return OK


def show_run(args: argparse.Namespace, out: Output) -> int:
    with store() as db:
        row = db.run(args.id)
    found = run_dict(row) | {"config": row.config.model_dump(mode="json"), "environment": row.environment}
    if row.error:
        found["failure"] = {"error": row.error, "hint": row.hint, "code": row.code}
    if not out.as_json:
        _show_details(row, out)
    out.result(found)
    return OK


def delete_runs(args: argparse.Namespace, out: Output) -> int:
    with store() as db:
        for run_id in args.ids:
            db.run(run_id)  # a misspelt id deletes nothing
        count = db.delete(args.ids)
    out.line(f"Deleted {count} run{'' if count == 1 else 's'}.")
    out.result({"deleted": count})
    return OK


def note_run(args: argparse.Namespace, out: Output) -> int:
    with store() as db:
        db.note(args.id, args.text)
    out.line("Noted." if args.text else "Note removed.")
    out.result({"run_id": args.id, "note": args.text})
    return OK


def export_runs(args: argparse.Namespace, out: Output) -> int:
    """JSON lines (whole, can be read back) or CSV (one row a run), to a file or to stdout."""
    if out.as_json and args.out is None:
        raise PlaygroundError("With --json the runs need a file.", "Name one with --out FILE.", code="bad_arguments")
    with store() as db:
        ids = args.ids or [row.run_id for row in db.runs(limit=1_000_000, descending=False).rows]
        for run_id in ids:
            db.run(run_id)  # an unknown id is said before anything is written
        lines = db.export_csv(ids) if args.format == "csv" else db.export_jsonl(ids)
        if args.out is None:
            for line in lines:
                sys.stdout.write(line)
            return OK
        path = Path(args.out)
        if path.exists() and not args.overwrite:
            raise PlaygroundError(f"{path} is there already.", "Choose another, or --overwrite.", code="file_exists")
        try:
            write_whole(path, lines)
        except OSError as error:
            raise PlaygroundError(
                f"{path} cannot be written: {error.strerror or error}.", "Choose another with --out.", code="unwritable"
            ) from None
    out.line(f"Wrote {len(ids)} run{'' if len(ids) == 1 else 's'} to {path}.")
    out.result({"file": str(path), "format": args.format, "runs": ids})
    return OK


def import_runs(args: argparse.Namespace, out: Output) -> int:
    path = Path(args.file)
    try:
        with path.open(encoding="utf-8-sig") as lines, store() as db:
            ids = db.import_jsonl(lines)
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "it is not UTF-8 text"
        raise PlaygroundError(
            f"{path} cannot be read: {why}.", "Give a file of `runs export`.", code="bad_file"
        ) from None
    out.line(f"{len(ids)} run{'' if len(ids) == 1 else 's'}: {', '.join(ids)}")
    out.result({"runs": ids})
    return OK


@contextlib.contextmanager
def store() -> "Iterator[Store]":
    from storage import Store

    settings = load_settings()
    settings.check_writable()
    with contextlib.closing(Store(settings.database_path)) as db:
        yield db


def run_dict(row: "RunRow") -> dict[str, Any]:
    return {name: getattr(row, name) for name in _FIELDS}


def _table(rows: "tuple[RunRow, ...]") -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    table.add_column("run", no_wrap=True, min_width=max((len(row.run_id) for row in rows), default=0))  # to be typed
    for title in ("when (UTC)", "status", "target", "method", "k"):
        table.add_column(title, no_wrap=True)
    for title in ("tok/s", "speed-up", "acceptance"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("prompt", no_wrap=True, overflow="ellipsis")
    for row in rows:
        speed, gain = row.metrics.get("tokens_per_second"), row.metrics.get("speedup")
        accepted = row.metrics.get("draft_acceptance_rate")
        cells = (
            row.run_id,
            row.started_at[:16].replace("T", " "),
            row.status,
            row.target,
            row.method or "-",
            "-" if row.num_speculative_tokens is None else str(row.num_speculative_tokens),
            "n/a" if speed is None else three(speed),
            "" if gain is None else f"{three(gain)}×",
            "" if accepted is None else percent(accepted),
            row.prompt[:80],
        )
        table.add_row(*(Text(sanitised(cell).replace("\n", " ").replace("\t", " ")) for cell in cells))
    return table


def _show_details(row: "RunRow", out: Output) -> None:
    method = f"{row.method}, k = {row.num_speculative_tokens}" if row.method else "no speculation"
    lines = [
        f"run {row.run_id}   {row.status}   {row.started_at}",
        f"{row.engine}: {row.target} ({row.dtype}), {method}"
        + (f", draft {row.draft_model}" if row.draft_model else ""),
        f"decode {rate(row.metrics.get('tokens_per_second'))}, acceptance "
        f"{percent(row.metrics.get('draft_acceptance_rate'))}",
    ]
    lines += [f"comparison {row.comparison_id} ({row.arm})"] if row.comparison_id else []
    lines += [f"note: {row.note}"] if row.note else []
    lines += [f"failed: {row.error} {row.hint}"] if row.error else []
    lines += ["", "Prompt", row.prompt, "", "Output", row.output]
    for line in lines:
        out.line(line)
