"""The verdict strip: one leading number, then what it is made of. HTML from a `Comparison` or a `RunResult`, no state."""

from markupsafe import Markup

from playground.comparison import Comparison
from playground.metrics import RunResult
from playground.ui.render import milliseconds, percent, three


def verdict_strip(comparison: Comparison | None, live: bool = False) -> str:
    """Both arms' verdict.

    Args:
        comparison: None before the first run.
        live: still running: the leading number is "so far", greyed, and not announced.
    """
    c = comparison or Comparison()
    return str(Markup('<div class="db-verdict"><b>{}×</b> {} {}</div>').format(
        three(c.speedup), percent(c.speculative.draft_acceptance_rate), milliseconds(c.baseline.ttft)))


def run_strip(result: RunResult) -> str:
    """One run's numbers, for a run that has nothing to be compared with."""
    return str(Markup('<div class="db-verdict"><b>{}</b></div>').format(three(result.tokens_per_second)))
