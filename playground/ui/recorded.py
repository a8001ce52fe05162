"""Stored runs as the stage shows them: which run belongs in which pane, and where and when it was recorded."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from playground.comparison import ARMS, Arm
from playground.errors import PlaygroundError
from playground.events import Event
from playground.sentence import Sentence

if TYPE_CHECKING:
    from storage.history import RunRow
    from storage.store import Store


@dataclass(frozen=True, slots=True)
class Recorded:
    """One or two stored runs by arm. `why_not` says why their outputs are not compared; "" where they are."""

    store: "Store"
    runs: "dict[Arm, RunRow]"
    comparison_id: str | None
    why_not: str

    @property
    def main(self) -> "RunRow":
        """The run whose settings are the interesting ones: the speculative one where there is one."""
        return self.runs["speculative"] if "speculative" in self.runs else self.runs["baseline"]

    @property
    def shown(self) -> dict[str, str]:
        ids = {str(arm): run.run_id for arm, run in self.runs.items()}
        return ids | ({"comparison": self.comparison_id} if self.comparison_id else {})

    @property
    def greedy(self) -> bool:
        return not self.why_not and all(run.temperature == 0 for run in self.runs.values())

    @property
    def about(self) -> dict[Arm, dict[str, str]]:
        return {arm: {"hardware": hardware(run.environment), "date": day(run)} for arm, run in self.runs.items()}

    def events(self) -> dict[str, Iterator[Event]]:
        return {arm: self.store.replay(run.run_id) for arm, run in self.runs.items()}


def recorded(store: "Store", run_ids: list[str]) -> Recorded:
    """The runs of one or two ids. One of a pair brings the other; two of any kind stand side by side.

    Raises:
        PlaygroundError: no such run, or not one or two of them.
    """
    if not 1 <= len(run_ids) <= 2:
        raise PlaygroundError(
            Sentence("One run or two can be shown."), Sentence("Select one or two."), code="bad_selection"
        )
    rows = [store.run(run_id) for run_id in run_ids]
    if len(rows) == 1:
        other = store.partner(run_ids[0])
        if other is None:
            return Recorded(store, {arm_of(rows[0]): rows[0]}, None, "")
        rows.append(store.run(other))
    first, second = rows
    same_pair = first.comparison_id is not None and first.comparison_id == second.comparison_id
    if first.run_id == second.run_id:
        raise PlaygroundError(
            Sentence("That is the same run twice."), Sentence("Select two different ones."), code="bad_selection"
        )
    if arm_of(first) == arm_of(second):
        baseline, speculative = sorted(rows, key=lambda run: run.started_at)
    else:
        baseline, speculative = sorted(rows, key=lambda run: ARMS.index(arm_of(run)))
    why_not = "" if same_pair else _why_not(baseline, speculative)
    return Recorded(
        store, {"baseline": baseline, "speculative": speculative}, first.comparison_id if same_pair else None, why_not
    )


def arm_of(run: "RunRow") -> Arm:
    """The pane it belongs in."""
    if run.arm == "baseline" or (run.arm is None and run.method is None):
        return "baseline"
    return "speculative"


def hardware(environment: dict[str, Any]) -> str:
    """What it ran on, as short as its environment allows."""
    for key in ("hardware", "device_name", "gpu", "cpu", "device"):
        found = environment.get(key)
        if isinstance(found, dict):
            found = found.get("name") or found.get("gpu") or found.get("cpu")
        if isinstance(found, str) and found:
            return found
    return ""


def day(run: "RunRow") -> str:
    """When it began, to the minute."""
    return f"{run.started_at[:16].replace('T', ' ')} UTC"


def _why_not(baseline: "RunRow", speculative: "RunRow") -> str:
    for name, why in (
        ("prompt", Sentence("the two runs had different prompts")),
        ("target", Sentence("the two runs had different target models")),
        ("dtype", Sentence("the two runs had different dtypes")),
    ):
        if getattr(baseline, name) != getattr(speculative, name):
            return why
    if baseline.config.sampling != speculative.config.sampling:
        return Sentence("the two runs had different sampling settings")
    return ""
