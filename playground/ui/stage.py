"""The stage: two panes, the verdict strip, and the tabs below them; and what one stream of events does to them.

`Stage` is the layout, `Showing` one run or comparison in it, `stream` the loop of both: it folds every event and sends
what is new 12 times a second. Knows no engine: live runs, replays and opened runs are the same to it.
"""

import itertools
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import gradio as gr

from playground.comparison import ARMS, Arm, Comparison, ComparisonFold
from playground.errors import PlaygroundError
from playground.events import Event, GpuSample, Heartbeat, Loading, Queued, RunFinished
from playground.metrics import RunResult
from playground.ui import charts, i18n
from playground.ui.inspector import StepInspector
from playground.ui.sessions import Ticket
from playground.ui.steps import RecentSteps
from playground.ui.token_pane import Feed, TokenPane, pane_state
from playground.ui.verdict import run_strip, verdict_strip

PANES_EVERY = 1 / 12
STRIP_EVERY = 0.33
CHARTS_EVERY = 1.0
"""Seconds between updates: text often, numbers so that they can be read, charts seldom: each is a whole picture."""

_showings = itertools.count(1)

Shown = dict[str, str]
"""What the page shows: arm -> run id, "comparison" -> its id. Empty before the first run."""


class Stage:
    """Builds the components; `outputs` are what `stream` yields for, in the order of `Showing.updates`."""

    def __init__(self, steps: RecentSteps) -> None:
        self.steps = steps
        self.strip = gr.HTML(verdict_strip(None), elem_id="strip")
        with gr.Row(elem_id="panes"):
            self.panes: dict[Arm, gr.HTML] = {arm: TokenPane(arm, elem_id=f"pane-{arm}") for arm in ARMS}
        with gr.Column(elem_id="stage-foot") as self.foot:
            self.actions = gr.Row(elem_id="actions")
            with gr.Tabs(elem_id="below"):
                self.charts = {
                    "by_position": self._tab("by_position", charts.by_position(RunResult())),
                    "timeline": self._tab("timeline", ""),
                    "why": self._tab("why", ""),
                    "device": self._tab("device", ""),
                }
                with gr.Tab(i18n.label("compare.inspector"), id="inspector", render_children=True):
                    StepInspector(elem_id="inspector")
        self.shown = gr.State({})
        self.outputs: list[Any] = [*self.panes.values(), self.strip, *self.charts.values(), self.shown]

    @staticmethod
    def _tab(name: str, value: str) -> gr.HTML:
        with gr.Tab(i18n.label(f"compare.{name}"), id=name, render_children=True):
            return gr.HTML(value, elem_id=f"chart-{name}")


class Showing:
    """One run or comparison on the stage.

    Args:
        shown: arm -> run id of what will be shown, and "comparison" -> id where there is one.
        greedy: whether both arms ran at temperature 0.
        recorded: arm -> {"hardware", "date"} for a replay.
        why_not: why the outputs are not compared, where another reason than sampling keeps them from it.
    """

    def __init__(
        self,
        steps: RecentSteps,
        shown: Shown,
        *,
        greedy: bool,
        recorded: dict[Arm, dict[str, str]] | None = None,
        why_not: str = "",
    ) -> None:
        self.shown = shown
        self.is_recorded = recorded is not None
        self._why_not = why_not
        self.arms: list[Arm] = [arm for arm in ARMS if arm in shown]
        self.fold = ComparisonFold(greedy)
        number = next(_showings)
        recorded = recorded or {}
        self.feeds = {arm: Feed(f"{shown[arm]}~{number}", recorded=recorded.get(arm)) for arm in self.arms}
        self._steps = {arm: steps.begin(shown[arm]) for arm in self.arms}
        self._samples: dict[Arm, list[GpuSample]] = {arm: [] for arm in self.arms}
        self._begun: list[Arm] = []
        self._first = True
        self._sent: dict[int, str] = {}
        self._due = {"strip": 0.0, "charts": 0.0}
        self._dirty = True

    def add(self, arm: Arm, event: Event) -> None:
        self.fold.add(arm, event)
        self.feeds[arm].add(event)
        self._steps[arm].add(event)
        if arm not in self._begun:
            self._begun.append(arm)
        self._dirty |= not isinstance(event, Heartbeat | Loading | Queued)
        if isinstance(event, GpuSample):
            self._samples[arm].append(event)

    def fail(self, ending: RunFinished) -> None:
        """End the arm that is under way."""
        under_way = [arm for arm in self.arms if not self.fold.results[arm].finished]
        if under_way:
            self.add(under_way[0], ending)

    def updates(self, *, last: bool = False) -> list[Any]:
        """Values for `Stage.outputs`: what is new, and for the rest what was sent last.

        Not `gr.skip()` for the rest: for each one Gradio makes the whole component anew, which at 12 updates a second
        costs a third of a processor core. A value that stays the same travels as an empty difference.
        """
        now = time.monotonic()
        numbers = last or (self._dirty and now >= self._due["strip"])
        pictures = last or (self._dirty and now >= self._due["charts"])
        if numbers:
            self._due["strip"] = now + STRIP_EVERY
        if pictures:
            self._due["charts"] = now + CHARTS_EVERY
            self._dirty = False
        found = [
            *(self._pane(arm) for arm in ARMS),
            self._strip(live=not last) if numbers else None,
            *(self._charts(live=not last) if pictures else [None] * 4),
        ]
        for at, value in enumerate(found):
            if value is not None:
                self._sent[at] = value
        # A State is not a component: it is skipped at no cost.
        shown = self.shown if self._first else gr.skip()
        self._first = False
        return [*(self._sent.get(at, gr.skip()) for at in range(len(found))), shown]

    def _pane(self, arm: Arm) -> str | None:
        if arm not in self.feeds:
            return pane_state("off", f"off~{id(self)}") if self._first else None
        if arm not in self._begun:
            return pane_state("waiting", self.feeds[arm].run_id) if self._first else None
        return self.feeds[arm].value()

    def _strip(self, *, live: bool) -> str:
        if len(self.arms) == 1:
            return run_strip(self.fold.results[self.arms[0]])
        return verdict_strip(self.comparison, live=live)

    @property
    def comparison(self) -> Comparison:
        found = self.fold.result()
        return replace(found, why_not_compared=self._why_not) if self._why_not else found

    def _charts(self, *, live: bool) -> list[str]:
        """By position, timeline, why, device. Live ones leave out the tables, which cost most of their size.

        The two arms' times have zeros of their own, so timeline and device show the arm that began last.
        """
        now = self._begun[-1] if self._begun else self.arms[-1]
        return [
            charts.by_position(self.fold.results[self.arms[-1]], live),
            charts.timeline(self._steps[now].list, live, untold="steps" in self.fold.results[now].untold),
            charts.why(self.comparison if len(self.arms) == 2 else None),
            charts.device_chart(self._samples[now], self.fold.results[now].joules_per_token, live),
        ]


def stream(showing: Showing, events: Iterable[tuple[Arm, Event]], ticket: Ticket) -> Iterator[list[Any]]:
    """Feeds `events` to the showing and yields its updates until they end or the ticket does.

    A ticket that was stopped lets a live run end by itself (its abort brings the ending); what has no ending of its
    own, a replay, is ended here. One that was replaced ends at once: the panes belong to another stream.
    """
    yield showing.updates()
    due = time.monotonic()
    for arm, event in events:
        if ticket.replaced:
            return
        showing.add(arm, event)
        if not ticket.alive and showing.is_recorded:
            showing.fail(RunFinished("cancelled", getattr(event, "at", 0.0)))
            break
        if (now := time.monotonic()) >= due or isinstance(event, RunFinished):
            due = now + PANES_EVERY
            yield showing.updates()
    if not ticket.replaced:
        yield showing.updates(last=True)


def refusal(error: PlaygroundError) -> RunFinished:
    """An error without a run, as the event that the panes know how to show."""
    return RunFinished("error", 0.0, error=error.message, hint=error.hint, code=error.code)
