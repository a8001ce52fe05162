"""`doctor`: what is known of a pair before loading, what it does when loaded, and which pairs there are."""

import argparse

from rich.table import Table
from rich.text import Text

from playground.catalogue import all_models, checked_pairs, drafts_for, groups, on_machine
from playground.cli.numbers import whole
from playground.cli.output import OK, Output, stopping
from playground.cli.running import opened
from playground.doctor import engines
from playground.doctor.agreement import FIRST, Agreement
from playground.doctor.examine import examine_here
from playground.doctor.findings import Finding, PairReport
from playground.doctor.judging import reasons
from playground.doctor.trial import LONGEST, MAX_TOKENS, PROMPTS, Trial, method_for, trial_config, trial_prompts
from playground.errors import PlaygroundError
from playground.models import DEFAULT
from playground.registry import discover
from playground.settings import Settings, load_settings
from playground.terminal import Progress, sanitised

_MARKS = {"ok": "+", "note": "-", "warning": "!", "error": "x"}
_OUTCOMES = {"works": "works", "setting": "works with", "no": "does not", "unknown": "unknown"}


def add_doctor_flags(parser: argparse.ArgumentParser) -> None:
    parser.usage = "python -m playground doctor [--target T] [--draft D [--agreement]] [flags]"
    parser.add_argument("--target", default=DEFAULT, metavar="T", help=f"name, folder, GGUF file (default: {DEFAULT})")
    parser.add_argument("--draft", metavar="D", help="likewise; without it: every draft there is for the target")
    parser.add_argument("--context", type=whole(1), metavar="N", help="tokens to reckon the memory for")
    parser.add_argument("--dtype", choices=("auto", "bfloat16", "float16", "float32"), default="auto")
    parser.add_argument("--device", help="auto, cpu, cuda, cuda:N or mps (default: DRAFTBOARD_DEVICE)")
    trial = parser.add_argument_group("agreement test: loads both models and runs prompts with and without drafting")
    trial.add_argument("--agreement", action="store_true", help="run it")
    trial.add_argument("--prompt", metavar="TEXT", action="append", default=[], help="a prompt of yours (repeatable)")
    trial.add_argument("--suite", metavar="NAME|FILE", help="prompts of a suite (default: the general one)")
    trial.add_argument("--limit", type=whole(1), default=PROMPTS, metavar="N", help=f"prompts (default: {PROMPTS})")
    trial.add_argument("--max-tokens", type=whole(1), default=MAX_TOKENS, metavar="N", help=f"default: {MAX_TOKENS}")
    trial.add_argument(
        "--num-speculative-tokens",
        type=whole(1, 64),
        default=LONGEST,
        metavar="K",
        help=f"largest k (default: {LONGEST})",
    )


def doctor(args: argparse.Namespace, out: Output) -> int:
    """One pair, or with no draft named the catalogue."""
    settings = load_settings(device=args.device) if args.device else load_settings()
    if args.draft is None:
        return _catalogue(args, settings, out)
    _check(args)
    report = examine_here(settings, args.target, args.draft, context=args.context, dtype=args.dtype)
    _show_report(report, out)
    answer = report.as_dict()
    if args.agreement:
        if report.verdict == "does not work":
            raise PlaygroundError(
                f"There is no agreement to test: {report.sentence}", "Choose another draft.", code="incompatible_pair"
            )
        found, code = _tried(args, settings, report, out)
        answer["agreement"] = found.as_dict() | {"reasons": [f.as_dict() for f in reasons(found)]}
        out.result(answer)
        return code
    out.result(answer)
    return OK


def _check(args: argparse.Namespace) -> None:
    for name, least, most in (
        ("context", 1, 2**31),
        ("limit", 1, 500),
        ("max_tokens", 2, 4096),
        ("num_speculative_tokens", 1, 64),
    ):
        value = getattr(args, name)
        if value is not None and not least <= value <= most:
            flag = "--" + name.replace("_", "-")
            raise PlaygroundError(
                f"{flag} {value} is not from {least} to {most}.", "Give another.", code="bad_arguments"
            )


def _tried(args: argparse.Namespace, settings: Settings, report: PairReport, out: Output) -> tuple[Agreement, int]:
    config = trial_config(
        args.target,
        args.draft,
        method=method_for(report),
        max_tokens=args.max_tokens,
        num_speculative_tokens=args.num_speculative_tokens,
        dtype=args.dtype,
    )
    prompts = trial_prompts(settings, suite=args.suite, prompts=args.prompt, limit=args.limit)
    progress = Progress(out.errors)
    with opened(settings) as (_, runner):
        trial = Trial(runner, config, prompts)
        with stopping(trial.abort) as stop:
            for step in trial:
                words = step.detail or f"Agreement test: {step.done} of {step.total} runs"
                progress.say(sanitised(words), step.done / step.total)
    progress.clear()
    _show_agreement(trial.agreement, out)
    return trial.agreement, stop.code if stop.signal else OK


def _show_report(report: PairReport, out: Output) -> None:
    out.line(f"{report.verdict.upper()}: {report.sentence}")
    _show_findings(report.findings, out)
    if not report.engines:
        return
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    for title in ("engine", "", "why", "fix"):
        table.add_column(title, overflow="fold")
    titles = {name: module.TITLE for name, module in discover(engines.PACKAGE).items()}
    for fit in report.engines:
        outcome = f"{_OUTCOMES[fit.outcome]} {fit.setting}".strip()
        row = (titles[fit.engine], outcome, fit.text, fit.fix)
        table.add_row(*(Text(sanitised(cell)) for cell in row))
    out.console.print()
    out.console.print(table)


def _show_findings(findings: tuple[Finding, ...], out: Output) -> None:
    for found in findings:
        out.line(f"  {_MARKS[found.level]} {found.text}")


def _show_agreement(found: Agreement, out: Output) -> None:
    out.line("")
    state = "stopped" if found.cancelled else "done"
    out.line(f"Agreement test, {found.prompts} of {found.of} prompts {state}:")
    _show_findings(reasons(found), out)
    shares = [f"{i}: {share:.0%}" for i, share in enumerate(found.agreement[:FIRST], 1) if share is not None]
    out.line(f"  agreement on the first tokens  {'  '.join(shares) or 'n/a'}")
    if found.overlap:
        out.line(f"  overlap of the distributions   {found.overlap[0]:.2f} to {found.overlap[1]:.2f}")
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    for title in ("k", "expected tokens/step", "draft ms", "verify ms", "predicted", "measured"):
        table.add_column(title, justify="right")
    for p in found.curve:
        table.add_row(
            str(p.num_speculative_tokens),
            _number(p.expected_tokens_per_step, "{:.2f}"),
            _number(p.draft_seconds, "{:.1f}", 1000),
            _number(p.verify_seconds, "{:.1f}", 1000),
            _number(p.predicted_speedup, "{:.2f}x"),
            f"{_number(p.measured_speedup, '{:.2f}x')} ({p.n})" if p.n else "",
        )
    out.console.print(table)


def _number(value: float | None, layout: str, scale: float = 1.0) -> str:
    return "n/a" if value is None else layout.format(value * scale)


def _catalogue(args: argparse.Namespace, settings: Settings, out: Output) -> int:
    """Drafts for the target, all models by tokenizer, and the public pairs that are known."""
    candidates = {method: drafts_for(args.target, method, settings) for method in ("draft_model", "eagle3")}
    out.line(f"Drafts for {args.target} on this machine:")
    for candidate in candidates["draft_model"]:
        mark, why = "+" if candidate.usable else "x", candidate.why.text if candidate.why else ""
        out.line(f"  {mark} {candidate.model.name}  {why}")
    found = all_models(settings)
    out.line("\nModels by tokenizer:")
    for group in groups(found):
        tokens = f"{group.tokens:,} tokens" if group.tokens else "no tokenizer of their own"
        out.line(f"  {group.fingerprint or '-'} ({tokens}): {', '.join(m.name for m in group.members)}")
    known, error = checked_pairs(settings)
    out.line("\nKnown public pairs (untested until measured here):")
    for pair in known:
        here = all(on_machine(name, found) for name in (pair.target, pair.draft) if name)
        draft = pair.draft or "layers of its own"
        out.line(f"  {'+' if here else ' '} {pair.target} with {draft} ({pair.method})")
    if error is not None:
        out.errors.print(sanitised(str(error)))
    out.result(
        {
            "target": args.target,
            "drafts": {method: [c.as_dict() for c in made] for method, made in candidates.items()},
            "groups": [
                {"fingerprint": g.fingerprint, "tokens": g.tokens, "models": [m.name for m in g.members]}
                for g in groups(found)
            ],
            "known_pairs": [pair.model_dump() for pair in known],
        }
    )
    return OK
