"""The default pair: presets of the default model against its own baseline, transformers, and the memory's speed.

All arms on one machine in one run, alternating from prompt to prompt, warm-up not counted; ratios are medians over the
prompts with their intervals. "Past the memory wall": without speculation no engine can give more tokens a second than
the memory can bring the weights; that limit is measured here, by reading as much memory.

`python -m tests.benchmarks.pair --suite FILE --preset default --preset suffix`.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

import torch

from playground import models
from playground.config import RunConfig
from playground.presets import named_preset
from playground.settings import Settings
from tests.benchmarks import arms, report

MAX_TOKENS = 96
SHORTEST = 16
"""Delivered tokens that a prompt must give in every arm to be counted."""

MUST = 1.6
READS = 5


def measure(args: argparse.Namespace) -> report.Report:
    args.preset = args.preset or ["default"]
    settings, engines, theirs = arms.side_by_side(args.dtype, args.threads)
    by_name = _arms(args, settings, engines, theirs)
    timings = _alternate(by_name, report.prompts(args.suite, args.limit))
    engines.close()
    return _report(args, timings, _limit(settings.models_folder / models.DEFAULT, args.dtype, theirs.device))


def _arms(
    args: argparse.Namespace, settings: Settings, engines: arms.Engines, theirs: arms.Transformers
) -> dict[str, arms.Arm]:
    def config(preset: str) -> RunConfig:
        found = named_preset(preset, settings).config
        sampling = found.sampling.model_copy(update={"temperature": 0.0, "max_tokens": args.max_tokens})
        return found.model_copy(update={"dtype": args.dtype, "sampling": sampling})

    def ours(preset: RunConfig) -> arms.Arm:
        return lambda prompt: engines.run(preset, prompt)

    # The longest match and draft of preset `default`.
    lookup = {"prompt_lookup_num_tokens": 8, "max_matching_ngram_size": 5}
    return {
        "baseline": ours(config(args.preset[0]).baseline()),
        **{name: ours(config(name)) for name in args.preset},
        "generate": lambda prompt: theirs.run(prompt, max_tokens=args.max_tokens),
        "prompt lookup": lambda prompt: theirs.run(prompt, max_tokens=args.max_tokens, **lookup),
    }


def _alternate(by_name: dict[str, arms.Arm], prompts: list[tuple[str, str]]) -> dict[str, list[arms.Timing]]:
    """Per arm one timing a prompt; prompts too short for any arm are left out of all."""
    names = list(by_name)
    for run in by_name.values():
        run(prompts[0][1])  # warm-up, never counted
    kept: dict[str, list[arms.Timing]] = {name: [] for name in names}
    for number, (name, prompt) in enumerate(prompts):
        turn = number % len(names)
        found = {arm: by_name[arm](prompt) for arm in names[turn:] + names[:turn]}
        if min(len(timing.ids) for timing in found.values()) < SHORTEST:
            report.progress(f"{name}: too short, left out")
            continue
        for arm, timing in found.items():
            kept[arm].append(timing)
        said = ", ".join(f"{arm} {found[arm].tokens_per_second:.1f}" for arm in names)
        report.progress(f"{name}: {said} tok/s")
    return kept


def _report(args: argparse.Namespace, timings: dict[str, list[arms.Timing]], limit: float | None) -> report.Report:
    speeds = {arm: [timing.tokens_per_second for timing in found] for arm, found in timings.items()}
    made = report.Report(f"The default pair, {args.suite.stem}, {args.dtype}, greedy, {args.max_tokens} tokens")
    made.details = {"tokens_per_second": speeds, "suite": args.suite.name, "limit": limit}
    for arm, found in speeds.items():
        made.shows(arm, found, "tok/s")
    made.at_least("baseline / generate", report.ratios(speeds, "baseline", "generate"), 1.0, "×")
    for number, preset in enumerate(args.preset):
        ratios, note = report.ratios(speeds, preset, "baseline"), _agreement(timings, preset)
        if number == 0:
            made.at_least(f"{preset} / baseline", ratios, args.must, "×", note)
            made.at_least(f"{preset} / prompt lookup", report.ratios(speeds, preset, "prompt lookup"), 1.2, "×")
        else:
            made.shows(f"{preset} / baseline", ratios, "×", note)
    if limit is not None:
        shares = [speed / limit for speed in speeds[args.preset[0]]]
        made.shows(f"{args.preset[0]} / memory wall", shares, "×", f"the wall: {limit:.1f} tok/s")
    return made


def _agreement(timings: dict[str, list[arms.Timing]], preset: str) -> str:
    """Tokens per step, and how many answers equal the baseline's."""
    results = [timing.result for timing in timings[preset] if timing.result is not None]
    per_step = [result.tokens_per_step for result in results if result.tokens_per_step]
    same = sum(a.ids == b.ids for a, b in zip(timings[preset], timings["baseline"], strict=True))
    middle = f"{statistics.median(per_step):.2f}" if per_step else "n/a"
    return f"{middle} tokens a step, {same} of {len(results)} answers identical"


def _limit(folder: Path, dtype: str, device: str) -> float | None:
    """Tokens a second at which the weights alone would keep the memory busy; None on a GPU, not measured here."""
    if device != "cpu":
        return None
    from transformers import AutoModelForCausalLM

    number = getattr(torch, dtype)
    module = AutoModelForCausalLM.from_pretrained(folder, dtype=number)
    weights = sum(weight.numel() for weight in module.parameters()) * number.itemsize
    block = torch.ones(1 << 28, dtype=torch.float32)
    seconds = []
    for _ in range(READS):
        start = time.perf_counter()
        block.sum()
        seconds.append(time.perf_counter() - start)
    return float(block.numel() * block.itemsize / min(seconds) / weights)


def parser() -> argparse.ArgumentParser:
    made = report.parser(__doc__ or "")
    made.add_argument("--preset", action="append", help="the first one bears the promise (repeatable)")
    made.add_argument("--must", type=float, default=MUST, help="what the first preset's speed-up must reach")
    made.add_argument("--max-tokens", type=int, default=MAX_TOKENS)
    made.add_argument("--dtype", default="bfloat16", choices=("bfloat16", "float16", "float32"))
    made.add_argument("--threads", type=int, default=0, help="CPU threads, the same for all arms; 0: torch's choice")
    return made


if __name__ == "__main__":
    sys.exit(report.main(measure, parser()))
