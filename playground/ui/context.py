"""What every tab is given: settings, store, runner, who is streaming what, and work that outlives tabs. Wiring only."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from playground.settings import Settings
from playground.ui.sessions import Sessions
from playground.ui.steps import RecentSteps
from playground.work import Works

if TYPE_CHECKING:
    from playground.runner import Runner
    from storage.store import Store


@dataclass(frozen=True)
class Context:
    settings: Settings
    store: "Store"
    runner: "Runner"
    steps: RecentSteps
    sessions: Sessions = field(default_factory=Sessions)
    works: Works = field(default_factory=Works)

    @classmethod
    def of(cls, settings: Settings, store: "Store", runner: "Runner") -> "Context":
        return cls(settings, store, runner, RecentSteps(store.replay))
