"""Decode speed on the default model, bfloat16 and greedy: ours against transformers' own, in one process, alternating.

A slow baseline would fake our speed-ups, so ours must not be slower than `generate`; nor our n-gram arm than
transformers' prompt lookup with the same k and n. The order of the arms rotates from prompt to prompt; warm-up is not
counted; the intervals are over prompts.
"""

import argparse
import statistics
import sys

from playground import models
from playground.config import Speculation
from tests.benchmarks import arms, report

MAX_TOKENS = 128
SHORTEST = 16  # tokens: a shorter answer times nothing
N = 3  # the longest n-gram looked up, in both


def measure(args: argparse.Namespace) -> report.Report:
    _, engines, theirs = arms.side_by_side(args.dtype, args.threads)
    ngram = Speculation(
        method="ngram", num_speculative_tokens=args.k, options={"prompt_lookup_max": N, "prompt_lookup_min": 1}
    )
    plain = arms.config(models.DEFAULT, max_tokens=args.max_tokens, dtype=args.dtype)
    spec = plain.model_copy(update={"speculation": ngram})
    lookup = {"prompt_lookup_num_tokens": args.k, "max_matching_ngram_size": N}
    by_name: dict[str, arms.Arm] = {
        "ours": lambda prompt: engines.run(plain, prompt),
        "generate": lambda prompt: theirs.run(prompt, max_tokens=args.max_tokens),
        "ours n-gram": lambda prompt: engines.run(spec, prompt),
        "prompt lookup": lambda prompt: theirs.run(prompt, max_tokens=args.max_tokens, **lookup),
    }
    speeds = _alternate(by_name, report.prompts(args.suite, args.limit), args.repeats)
    engines.close()
    return _report(speeds, args)


def _alternate(by_name: dict[str, arms.Arm], prompts: list[tuple[str, str]], repeats: int) -> dict[str, list[float]]:
    """Tokens/s per arm and prompt (the median of the repeats), prompts too short for any arm left out of all."""
    names = list(by_name)
    for run in by_name.values():
        run(prompts[0][1])  # warm-up, never counted
    speeds: dict[str, list[float]] = {name: [] for name in names}
    for number, (name, prompt) in enumerate(prompts):
        timings: dict[str, list[arms.Timing]] = {arm: [] for arm in names}
        for repeat in range(repeats):
            turn = (number + repeat) % len(names)
            for arm in names[turn:] + names[:turn]:
                timings[arm].append(by_name[arm](prompt))
        if min(len(t.ids) for ts in timings.values() for t in ts) < SHORTEST:
            report.progress(f"{name}: too short, left out")
            continue
        for arm in names:
            speeds[arm].append(statistics.median(t.tokens_per_second for t in timings[arm]))
        report.progress(f"{name}: " + ", ".join(f"{arm} {speeds[arm][-1]:.1f}" for arm in names) + " tok/s")
    return speeds


def _report(speeds: dict[str, list[float]], args: argparse.Namespace) -> report.Report:
    made = report.Report(f"Decoding, {args.dtype}, greedy, {args.max_tokens} tokens, k = {args.k}")
    made.details = {"tokens_per_second": speeds, "k": args.k, "suite": args.suite.name}
    made.shows("baseline", speeds["ours"], "tok/s")
    made.shows("transformers generate", speeds["generate"], "tok/s")
    made.shows("n-gram", speeds["ours n-gram"], "tok/s")
    made.shows("transformers prompt lookup", speeds["prompt lookup"], "tok/s")
    made.at_least("baseline / generate", report.ratios(speeds, "ours", "generate"), 1.0, "×")
    made.at_least("n-gram / prompt lookup", report.ratios(speeds, "ours n-gram", "prompt lookup"), 1.0, "×")
    made.shows("n-gram speed-up", report.ratios(speeds, "ours n-gram", "ours"), "×", "n-gram / baseline")
    return made


def parser() -> argparse.ArgumentParser:
    made = report.parser(__doc__ or "")
    made.add_argument("--max-tokens", type=int, default=MAX_TOKENS)
    made.add_argument("--k", type=int, default=5, help="num_speculative_tokens, ours and theirs")
    made.add_argument("--dtype", default="bfloat16", choices=("bfloat16", "float16", "float32"))
    made.add_argument("--repeats", type=int, default=1, help="runs per arm and prompt; their median counts")
    made.add_argument("--threads", type=int, default=0, help="CPU threads, the same for all arms; 0: torch's choice")
    return made


if __name__ == "__main__":
    sys.exit(report.main(measure, parser()))
