"""Losslessness: at temperature 0 in float32 every drafter gives the baseline's ids, for every k.

The draft model is tried twice: the target as its own draft (all accepted) and a copy of it with its last layers left
out (some rejected), made here. `python -m tests.benchmarks.lossless --suite FILE --tokens 64`.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from playground import models
from playground.comparison import ComparisonFold
from playground.config import Speculation
from playground.settings import Settings
from tests.benchmarks import arms, report

TOKENS = 64
HEAD = os.environ.get("DRAFTBOARD_BENCH_HEAD", "")
"""A folder with an EAGLE-3 head of the default model; without one that method is left out."""

LAYERS_KEPT = 26  # of 30: right often enough to be accepted, wrong often enough to be rejected


@dataclass(slots=True)
class Counts:
    """How a drafter's runs ended, over prompts and k."""

    exact: int = 0
    ties: int = 0
    mismatches: int = 0
    draft_tokens: int = 0
    accepted: int = 0

    def add(self, other: "Counts") -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


def measure(args: argparse.Namespace) -> report.Report:
    settings = Settings()
    folder = models.prepare_default(settings)
    prompts = report.prompts(args.suite, args.limit)
    with tempfile.TemporaryDirectory() as scratch:
        weak = weaken(folder, Path(scratch) / "weak-draft")
        paths = {**models.model_paths(settings), "weak-draft": str(weak)}
        context = replace(settings.engine_context(paths), threads=args.threads or settings.threads)
        counts, divergences = _compare_all(arms.Engines(context), prompts, args)
    runs = len(prompts) * len(args.k)
    made = report.Report(f"Losslessness, float32, greedy, {args.tokens} tokens, {args.suite.name}, k in {args.k}")
    for name, count in counts.items():
        accepted = f"{count.accepted / count.draft_tokens:.0%} accepted" if count.draft_tokens else "nothing drafted"
        ties = f", {count.ties} numeric ties" if count.ties else ""
        made.at_most(f"{name}: divergent of {runs} runs", float(count.mismatches + count.ties), 0, note=accepted + ties)
    made.details = {"runs": runs, "divergences": divergences}
    return made


def weaken(source: Path, folder: Path, layers: int = LAYERS_KEPT) -> Path:
    """A copy of the model folder with only its first `layers` layers: a draft that is often wrong."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(source, dtype=torch.bfloat16)
    del model.model.layers[layers:]
    model.config.num_hidden_layers = layers
    if getattr(model.config, "layer_types", None):
        model.config.layer_types = model.config.layer_types[:layers]
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(source).save_pretrained(folder)
    return folder


def drafters() -> Iterator[tuple[str, Speculation]]:
    """Every method of the embedded engine in the forms tried here; k is set later."""
    from playground.engines.embedded import Engine

    for method, options in Engine.methods().items():
        match method:
            case "draft_model":
                yield "draft_model (itself)", Speculation(method=method, model=models.DEFAULT)
                yield f"draft_model (first {LAYERS_KEPT} layers)", Speculation(method=method, model="weak-draft")
            case "ngram":
                yield "ngram", Speculation(method=method)
                if "match" in options.model_fields:
                    yield "ngram (most recent)", Speculation(method=method, options={"match": "most_recent"})
            case "suffix":
                yield "suffix", Speculation(method=method)
            case "hybrid":
                yield "hybrid", Speculation(method=method, model="weak-draft")
            case "eagle3":
                if HEAD:
                    yield "eagle3", Speculation(method=method, model=HEAD)
            case _:
                report.progress(f"{method}: no form to try it in; add one here")


def _compare_all(
    engines: arms.Engines, prompts: list[tuple[str, str]], args: argparse.Namespace
) -> tuple[dict[str, Counts], list[dict[str, object]]]:
    forms = [(name, form) for name, form in drafters() if not args.method or {name, form.method} & set(args.method)]
    counts: dict[str, Counts] = {name: Counts() for name, _ in forms}
    divergences: list[dict[str, object]] = []
    done = _journal(args)
    for number, (name, prompt) in enumerate(prompts, 1):
        if name not in done:
            own: dict[str, Counts] = {}
            found = compare(engines, prompt, args.tokens, args.k, own, forms)
            done[name] = {"counts": {form: asdict(count) for form, count in own.items()}, "divergences": found}
            _note(args, name, done[name])
        for form, count in done[name]["counts"].items():
            counts[form].add(Counts(**count))
        divergences += [{"prompt": name, **one} for one in done[name]["divergences"]]
        report.progress(f"{number}/{len(prompts)} {name}: {len(divergences)} divergent so far")
    engines.close()
    return counts, divergences


def _journal(args: argparse.Namespace) -> dict[str, Any]:
    """What an earlier run with the same settings has found, by prompt."""
    if args.journal is None or not args.journal.exists():
        return {}
    rows = [json.loads(line) for line in args.journal.read_text(encoding="utf-8").splitlines()]
    return {row["prompt"]: row for row in rows if row["settings"] == _settings(args)}


def _note(args: argparse.Namespace, name: str, found: dict[str, Any]) -> None:
    if args.journal is not None:
        with args.journal.open("a", encoding="utf-8") as out:
            out.write(json.dumps({"prompt": name, "settings": _settings(args), **found}) + "\n")


def _settings(args: argparse.Namespace) -> dict[str, Any]:
    return {"suite": args.suite.name, "tokens": args.tokens, "k": args.k, "method": args.method, "head": HEAD}


def compare(
    engines: arms.Engines,
    prompt: str,
    tokens: int,
    ks: Sequence[int],
    counts: dict[str, Counts],
    forms: Sequence[tuple[str, Speculation]] | None = None,
) -> list[dict[str, object]]:
    """One prompt's baseline against every form (all drafters) and k: adds to `counts`, gives the divergences."""
    plain = arms.config(models.DEFAULT, max_tokens=tokens, dtype="float32")
    baseline = engines.run(plain, prompt)
    divergences: list[dict[str, object]] = []
    for name, form in drafters() if forms is None else forms:
        for k in ks:
            speculation = form.model_copy(update={"num_speculative_tokens": k})
            run = engines.run(plain.model_copy(update={"speculation": speculation}), prompt)
            if found := _one(run, baseline, counts.setdefault(name, Counts())):
                divergences.append({"drafter": name, "k": k, **found})
    return divergences


def _one(run: arms.Timing, baseline: arms.Timing, counts: Counts) -> dict[str, object]:
    """Adds one speculative run to `counts`; its first divergence where there is one."""
    assert run.result is not None
    counts.draft_tokens += run.result.num_draft_tokens
    counts.accepted += run.result.num_accepted_tokens
    if run.ids == baseline.ids:
        counts.exact += 1
        return {}
    fold = ComparisonFold(greedy=True)
    for event in baseline.events:
        fold.add("baseline", event)
    for event in run.events:
        fold.add("speculative", event)
    divergence = fold.result().first_divergence
    if divergence is not None and divergence.kind == "numeric tie":
        counts.ties += 1
    else:
        counts.mismatches += 1
    return divergence.as_dict() if divergence else {"problem": "the runs ended differently"}


def parser() -> argparse.ArgumentParser:
    made = report.parser(__doc__ or "")
    made.add_argument("--tokens", type=int, default=TOKENS)
    made.add_argument("--k", type=int, nargs="+", default=list(range(1, 9)))
    made.add_argument("--threads", type=int, default=0)
    made.add_argument("--method", action="append", default=[], help="only this drafter or form of it (repeatable)")
    made.add_argument("--journal", type=Path, help="file in which a run that was ended finds what it had done")
    return made


if __name__ == "__main__":
    sys.exit(report.main(measure, parser()))
