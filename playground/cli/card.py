"""The card at the end of a run or comparison: the figures that matter, one number leading. Results to rich, pure."""

from rich import box
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from playground.comparison import Comparison, Factor
from playground.results import ComparisonOutput, RunOutput, percent, rate, seconds, three, times
from playground.terminal import sanitised

_PARTS = {
    "acceptance": "rejected drafts",
    "verify": "verifying several tokens at once",
    "draft": "drafting",
    "overhead": "overhead per step",
}
_ENDS = {
    "stop": "ended by itself",
    "length": "cut at max_tokens or the context's end",
    "cancelled": "stopped",
    "interrupted": "interrupted",
    "error": "failed",
}


Card = tuple[str, RenderableType]
"""(the leading number, the rest)."""


def run_card(run: RunOutput) -> Card:
    metrics = run.metrics
    table = _grid()
    table.add_row("decode speed", rate(metrics.tokens_per_second))
    table.add_row("TTFT", seconds(metrics.ttft))
    table.add_row("TPOT", seconds(metrics.tpot))
    if run.config.speculation is not None:
        table.add_row("acceptance", _acceptance(run))
        table.add_row("tokens/step", _number(metrics.tokens_per_step))
    table.add_row("tokens", f"{metrics.num_delivered}, {_ENDS.get(run.status, run.status)}")
    table.add_row("run", run.run_id)
    parts: list[RenderableType] = [table, *_warnings(run)]
    return rate(metrics.tokens_per_second), Group(*parts)


def comparison_card(pair: ComparisonOutput) -> Card:
    base, spec = pair.baseline, pair.speculative
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="")
    for title in ("", "without", "with speculation"):
        table.add_column(title)
    table.add_row("decode speed", rate(base.tokens_per_second), rate(spec.tokens_per_second))
    table.add_row("TTFT", seconds(base.ttft), seconds(spec.ttft))
    table.add_row("TPOT", seconds(base.tpot), seconds(spec.tpot))
    table.add_row("tokens/step", "1" if base.tokens_per_step else "n/a", _number(spec.tokens_per_step))
    table.add_row("acceptance", "", _acceptance(spec))
    table.add_row("mean acceptance length", "", _number(spec.mean_acceptance_length))
    table.add_row("run", base.run_id, spec.run_id)
    lines = [agreement(pair.verdict), why(pair.verdict)]
    lines += [f"Predicted from the parts: {three(pair.predicted_speedup)}×."] if pair.predicted_speedup else []
    parts: list[RenderableType] = [table, *(Text(line) for line in lines if line), *_warnings(spec)]
    return times(pair.speedup), Group(*parts)


def print_card(console: Console, card: Card) -> None:
    """In a frame on a terminal, plain elsewhere."""
    title, body = card
    if console.is_terminal:
        heading = Text(title, style="bold")
        console.print(Panel(body, title=heading, title_align="left", box=box.ROUNDED, expand=False))
    else:
        console.print(Text(f"\n{title}"))
        console.print(body)


def agreement(verdict: Comparison) -> str:
    """Whether the outputs agree, in a sentence."""
    if verdict.outputs_identical:
        return "Outputs identical, token for token."
    found = verdict.first_divergence
    if found is None:
        return f"Outputs not compared: {verdict.why_not_compared}." if verdict.why_not_compared else ""
    gap = "" if found.logit_gap is None else f", logit gap {found.logit_gap:.3g}"
    return (
        f"Outputs differ from token {found.position} on: {_quoted(found.baseline_text)} without, "
        f"{_quoted(found.speculative_text)} with ({found.kind}{gap})."
    )


def why(verdict: Comparison) -> str:
    """Which part ate most of the gain, in a sentence; "" where the engine gives no split."""
    loss: Factor | None = verdict.largest_loss
    if loss is None or verdict.ideal_speedup is None:
        return ""
    return (
        f"If every draft were accepted and nothing cost extra: {three(verdict.ideal_speedup)}×. Most was lost to "
        f"{_PARTS[loss.name]} (×{three(loss.multiplier)})."
    )


def _acceptance(run: RunOutput) -> str:
    metrics = run.metrics
    rate_text = percent(metrics.draft_acceptance_rate)
    if not metrics.num_draft_tokens:
        return f"{rate_text} (nothing drafted)"
    return f"{rate_text} ({metrics.num_accepted_tokens} of {metrics.num_draft_tokens})"


def _warnings(run: RunOutput) -> list[RenderableType]:
    said = [str(w) for w in run.environment.get("warnings") or ()]
    if run.metrics.disturbed:
        said += [
            f"Other programs held the processor for {percent(run.metrics.processor_wait)} of the decode time: "
            "this speed is not the machine's. Run it again when the machine has nothing else to do."
        ]
    said += list(run.metrics.problems)
    return [Text(f"! {sanitised(text)}") for text in said]


def _number(value: float | None) -> str:
    return "n/a" if value is None else three(value)


def _quoted(text: str) -> str:
    return f"“{sanitised(text)}”" if text else "nothing"


def _grid() -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column()
    table.add_column()
    return table
