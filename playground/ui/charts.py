"""Charts as SVG strings, each with the table behind it. Pure: results in, markup out; labels in both languages."""

from collections.abc import Iterable, Sequence

from playground.comparison import Comparison
from playground.events import GpuSample, Step
from playground.metrics import RunResult


def by_position(result: RunResult) -> str:
    """Acceptance by draft position: survival and conditional, with n."""
    return '<div class="db-chart"></div>'


def timeline(steps: Iterable[Step]) -> str:
    """Draft time, verify time and accepted count of each decode step; binned where there are too many to draw."""
    return '<div class="db-chart"></div>'


def device_chart(samples: Sequence[GpuSample], joules_per_token: float | None = None) -> str:
    """Utilisation, memory, power, temperature and clocks of each device over the run."""
    return '<div class="db-chart"></div>'


def why(comparison: Comparison | None) -> str:
    """The way from the ideal speed-up to the measured one, and a sentence naming what ate most."""
    return '<div class="db-chart"></div>'
