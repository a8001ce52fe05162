"""The steps the page has shown lately, so that a click on a token finds its step while the run still goes on.

Older ones come from the store. Knows nothing of how they are drawn.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from playground.errors import PlaygroundError
from playground.events import Event, RunStarted, Step
from playground.ui.inspector import step_payload

KEPT_RUNS = 16
"""A run's steps with their candidates are about 1 MB at 1,000 tokens."""


class Steps:
    """One run's steps in order. `greedy` as its environment says; None where it does not."""

    def __init__(self) -> None:
        self.list: list[Step] = []
        self.greedy: bool | None = None

    def add(self, event: Event) -> None:
        match event:
            case RunStarted():
                self.greedy = event.environment.get("greedy")
            case Step():
                self.list.append(event)

    def payload(self, index: int) -> dict[str, Any] | None:
        """What the inspector shows of the step with this index; None where there is none."""
        place = next((i for i, step in enumerate(self.list) if step.index == index), None)
        if place is None:
            return None
        before = "".join(token.text for step in self.list[max(0, place - 200) : place] for token in step.tokens)
        return step_payload(self.list[place], before, greedy=self.greedy)


class RecentSteps:
    """Run id -> its steps. Thread-safe for adding and looking up runs; one thread adds to a run."""

    def __init__(self, replay: Callable[[str], Iterator[Event]]) -> None:
        """`replay` reads a stored run back; raises PlaygroundError where there is none."""
        self._replay = replay
        self._lock = threading.Lock()
        self._runs: OrderedDict[str, Steps] = OrderedDict()

    def begin(self, run_id: str) -> Steps:
        steps = Steps()
        with self._lock:
            self._runs[run_id] = steps
            self._runs.move_to_end(run_id)
            while len(self._runs) > KEPT_RUNS:
                self._runs.popitem(last=False)
        return steps

    def source(self, arguments: list[Any]) -> dict[str, Any] | None:
        """The inspector's server function: [feed id, step index] -> payload, or None."""
        feed_id, index = (*arguments, None, None)[:2]
        if not isinstance(feed_id, str) or not isinstance(index, int):
            return None
        run_id = run_of(feed_id)
        with self._lock:
            steps = self._runs.get(run_id)
        found = steps.payload(index) if steps else None
        return found or self._stored(run_id, index)

    def _stored(self, run_id: str, index: int) -> dict[str, Any] | None:
        steps = Steps()
        try:
            for event in self._replay(run_id):
                steps.add(event)
        except PlaygroundError:
            return None  # the pane then says that the step is no longer there
        return steps.payload(index)


def run_of(feed_id: str) -> str:
    """The run a feed shows: "run-1~3" is the third showing of run-1 (a pane tells showings apart by their id)."""
    return feed_id.split("~", 1)[0]
