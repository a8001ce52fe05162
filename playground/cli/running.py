"""`run`, `compare` and `replay`: one stream of events to the terminal or to JSON, and the card at its end."""

import argparse
import contextlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from playground.cli.card import comparison_card, print_card, run_card
from playground.cli.flags import add_config_flags, config_from
from playground.cli.output import BAD_INPUT, OK, Output, stopping
from playground.comparison import ARMS, Arm
from playground.config import MAX_TEXT
from playground.errors import PlaygroundError
from playground.events import Event, RunFinished, RunStarted, Step
from playground.importers._text import decode, read_file
from playground.results import Collector
from playground.settings import Settings, load_settings
from playground.terminal import Progress, TokenPrinter, in_one_line

if TYPE_CHECKING:
    from playground.runner import Runner
    from storage.store import Store

_TITLES: dict[Arm, str] = {"baseline": "Without speculation", "speculative": "With speculation"}


def add_run_flags(parser: argparse.ArgumentParser) -> None:
    prompt = parser.add_argument_group("prompt")
    prompt.add_argument("--prompt", metavar="TEXT", help='the prompt, or "-" to read it from stdin')
    prompt.add_argument("--prompt-file", metavar="FILE", help='a file with it, or "-" (one last line end is cut)')
    parser.add_argument("--device", help="auto, cpu, cuda, cuda:N or mps (default: DRAFTBOARD_DEVICE)")
    parser.add_argument(
        "--rejected", action=argparse.BooleanOptionalAction, default=True, help="show rejected drafts, struck through"
    )
    add_config_flags(parser)


def run(args: argparse.Namespace, out: Output) -> int:
    """One run; `--method none` is the baseline."""
    settings = _settings(args)
    config, prompt = config_from(args, settings), prompt_of(args)
    with opened(settings) as (_, runner):
        job = runner.start_run(config, prompt, source="cli")
        arm: Arm = "baseline" if config.speculation is None else "speculative"
        collector = Collector(config, prompt, {arm: job.run_id})
        with stopping(job.abort) as stop:
            follow(((arm, event) for event in job), collector, out, rejected=args.rejected, titles=False)
    output = collector.run(arm)
    if output.finish is not None and not output.error_dict():
        print_card(out.side, run_card(output))
    out.result(output.as_dict())
    return stop.code if stop.signal else _failed(output.error_dict(), out)


def compare(args: argparse.Namespace, out: Output) -> int:
    """Baseline, then speculative, on one engine."""
    settings = _settings(args)
    config, prompt = config_from(args, settings), prompt_of(args)
    with opened(settings) as (_, runner):
        job = runner.start_compare(config, prompt, source="cli")
        collector = Collector(config, prompt, job.run_ids, job.comparison_id)
        with stopping(job.abort) as stop:
            follow(job, collector, out, rejected=args.rejected, titles=True)
    return _comparison_end(collector, out) if not stop.signal else _stopped(collector, out, stop.code)


def replay(args: argparse.Namespace, out: Output) -> int:
    """A stored run, or by a comparison's id both of its arms, with its own timing; no model is loaded."""
    from playground.replay import paced, paced_arms
    from storage import Store

    settings = load_settings()
    speed = 0.0 if out.as_json and args.speed is None else 1.0 if args.speed is None else args.speed
    with contextlib.closing(Store(settings.database_path)) as store:
        arms = store.comparison(args.id)
        if set(arms) == set(ARMS):
            ids: dict[Arm, str] = {arm: arms[arm] for arm in ARMS}
            row = store.run(ids["speculative"])
            collector = Collector(row.config, row.prompt, ids, args.id)
            events = paced_arms({arm: store.replay(id) for arm, id in ids.items()}, speed)
            _remark(out, f"RECORDED {row.started_at[:16].replace('T', ' ')}")
            follow(events, collector, out, rejected=args.rejected, titles=True)  # type: ignore[arg-type]
            return _comparison_end(collector, out)
        row = store.run(next(iter(arms.values()), args.id))
        arm: Arm = "baseline" if row.config.speculation is None else "speculative"
        collector = Collector(row.config, row.prompt, {arm: row.run_id})
        _remark(out, f"RECORDED {row.started_at[:16].replace('T', ' ')}")
        stream = paced(store.replay(row.run_id), speed)
        follow(((arm, event) for event in stream), collector, out, rejected=args.rejected, titles=False)
    output = collector.run(arm)
    print_card(out.side, run_card(output))
    out.result(output.as_dict())
    return OK


def follow(
    events: Iterable[tuple[Arm, Event]], collector: Collector, out: Output, *, rejected: bool, titles: bool
) -> None:
    """Shows the events as they come and collects them."""
    progress = Progress(out.errors)
    printer = TokenPrinter(out.console, rejected=rejected)
    for arm, event in events:
        collector.add(arm, event)
        if not out.as_json:
            _show(arm, event, printer, progress, titles, collector.config.speculation is not None)
        else:
            progress.add(event)
    progress.clear()
    printer.end()


def _show(arm: Arm, event: Event, printer: TokenPrinter, progress: Progress, titles: bool, drafts: bool) -> None:
    progress.add(event)
    match event:
        case RunStarted():
            progress.clear()
            if titles:
                printer.console.print(f"\n{_TITLES[arm]}", style="bold")
            if arm == "speculative" and drafts:
                printer.legend()
        case Step():
            printer.step(event)
        case RunFinished():
            progress.clear()
            printer.end()


@contextlib.contextmanager
def opened(settings: Settings) -> "Iterator[tuple[Store, Runner]]":
    """The store and the runner, both closed at the end."""
    from playground.runner import Runner
    from storage import Store

    settings.check_writable()
    with (
        contextlib.closing(Store(settings.database_path)) as store,
        contextlib.closing(Runner(settings, store)) as runner,
    ):
        yield store, runner


def prompt_of(args: argparse.Namespace) -> str:
    """The prompt from its one source.

    Raises:
        PlaygroundError: none or two were given, or the file is not readable text.
    """
    given, file = args.prompt, args.prompt_file
    if (given is None) == (file is None):
        what = "No prompt was given" if given is None else "Two prompts were given"
        raise PlaygroundError(
            f"{what}.", "Give one of --prompt TEXT, --prompt-file FILE, or --prompt - for stdin.", code="bad_arguments"
        )
    if given is not None and given != "-":
        return _said(str(given))
    if file in (None, "-"):
        name, content = "stdin", sys.stdin.buffer.read(4 * MAX_TEXT + 1)
    else:
        name, content = str(file), read_file(Path(file), limit=4 * MAX_TEXT)
    text = decode(name, content, limit=4 * MAX_TEXT)
    return _said(text.removesuffix("\n").removesuffix("\r"))


def _said(prompt: str) -> str:
    """Raises PlaygroundError for a prompt of nothing, as the page does."""
    if not prompt.strip():
        raise PlaygroundError("The prompt is empty.", "Write one.", code="no_prompt")
    return prompt


def _settings(args: argparse.Namespace) -> Settings:
    return load_settings(device=args.device) if args.device else load_settings()


def _comparison_end(collector: Collector, out: Output) -> int:
    pair = collector.comparison()
    error = pair.as_dict() if pair.status == "error" else {}
    if not error:
        print_card(out.console, comparison_card(pair))
    out.result(pair.as_dict())
    return _failed(error, out)


def _stopped(collector: Collector, out: Output, code: int) -> int:
    pair = collector.comparison()
    out.line("Stopped; what there is was stored.")
    out.result(pair.as_dict())
    return code


def _failed(error: dict[str, str], out: Output) -> int:
    """A run that failed: its sentence and its fix on stderr."""
    if not error.get("error"):
        return OK
    if not out.as_json:
        say_error(out, error["error"], error.get("hint", ""))
    return BAD_INPUT


def say_error(out: Output, message: str, hint: str) -> None:
    # Soft: a terminal wraps by itself, and elsewhere a path is not cut in two.
    out.errors.print(f"error: {in_one_line(message)}", style="bold red", soft_wrap=True)
    if hint:
        out.errors.print(in_one_line(hint), soft_wrap=True)


def _remark(out: Output, text: str) -> None:
    out.side.print(text, style="dim")
