"""`train`: a draft head for a target, followed to its report. Knows flags and lines; the work is training's."""

import argparse
from pathlib import Path
from typing import Any

from playground.cli.flags import add_field
from playground.cli.output import BAD_INPUT, OK, Output, stopping
from playground.config import checked
from playground.results import three
from playground.settings import load_settings
from playground.terminal import Progress
from playground.training import TrainOptions, start_training

STAGES = {
    "start": "Starting",
    "device": "Waiting for the device",
    "load": "Loading the target",
    "write": "Writing prompts and answers",
    "states": "Computing hidden states",
    "train": "Training",
    "report": "Measuring",
}


def add_train_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", metavar="DIR", required=True, help="the head's folder; the same one again goes on")
    parser.add_argument("--restart", action="store_true", help="forget what the folder holds and begin anew")
    parser.add_argument("--device", help="auto, cpu, cuda, cuda:N or mps (default: DRAFTBOARD_DEVICE)")
    recipe = parser.add_argument_group("recipe")
    for name, field in TrainOptions.model_fields.items():
        add_field(recipe, name, field)


def train(args: argparse.Namespace, out: Output) -> int:
    """Ctrl-C saves and ends; the same command goes on from there."""
    settings = load_settings(**({"device": args.device} if args.device else {}))
    settings.check_writable()
    given = {name: getattr(args, name) for name in TrainOptions.model_fields if hasattr(args, name)}
    options = checked(TrainOptions, given, where="the training's options")
    training = start_training(settings, options, Path(args.out), restart=args.restart)
    progress, status, evaluations = Progress(out.errors), training.status(), 0
    try:
        with stopping(training.stop) as stop:
            for status in training.follow():
                new = status.get("history", [])[evaluations:]
                evaluations += len(new)
                for figures in new:
                    progress.clear()
                    out.errors.print(evaluation_line(figures), highlight=False)
                share = status.get("done", 0) / status["total"] if status.get("total") else 0.0
                stage = STAGES.get(status.get("stage", ""), "")
                progress.say(stage_line(status) if out.errors.is_terminal else stage, share)
    finally:
        progress.clear()
        training.stop(wait=True)
    out.result(
        {name: status.get(name) for name in ("state", "report", "error", "history")} | {"out": str(training.out)}
    )
    if status["state"] == "done":
        show_report(status["report"], out)
        return OK
    if status["state"] == "failed":
        if not out.as_json:
            error = status["error"]
            out.errors.print(f"{error['error']} {error['hint']}", style="red", highlight=False, markup=False)
        return BAD_INPUT
    out.line(f"Stopped. The same command goes on from here: {training.out}")
    return stop.code if stop.signal else OK


def stage_line(status: dict[str, Any]) -> str:
    """What it is at, how far, and how long that stage still takes."""
    words = [STAGES.get(status.get("stage", ""), str(status.get("stage")))]
    if status.get("total"):
        words.append(f"{status['done']:,} of {status['total']:,}")
    if status.get("note"):
        words.append(str(status["note"]))
    if status.get("seconds_left"):
        words.append(f"{duration(status['seconds_left'])} left")
    return ", ".join(words)


def evaluation_line(figures: dict[str, Any]) -> str:
    shares = " / ".join(f"{share:.1%}" for share in figures["acceptance"])
    tokens = three(figures["tokens_per_step"])
    return f"step {figures['step']:,}: acceptance by position {shares}, {tokens} tokens per step"


def duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def show_report(report: dict[str, Any], out: Output) -> None:
    shares = " / ".join(f"{share:.1%}" for share in report["acceptance"])
    best = next(row for row in report["predictions"] if row["k"] == report["best_k"])
    out.line(f"The head is in {report['out']}")
    out.line(f"Held-out acceptance by position, given those before: {shares}")
    tokens, speedup = three(best["tokens_per_step"]), three(best["speedup"])
    out.line(f"Predicted here: {tokens} tokens per step and {speedup}x at k = {best['k']}")
    out.line(
        f"Measure it: python -m playground compare --target {report['target']} --method eagle3 --draft {report['out']} "
        f"--num-speculative-tokens {best['k']} --prompt ..."
    )
