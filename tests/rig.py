"""The embedded engine's models without its thread and queue: load once, run many. A helper, no tests."""

from pathlib import Path
from typing import Any

from playground.config import RunConfig, SamplingParams, Speculation
from playground.engines import EngineContext
from playground.engines._models import Models
from playground.engines._run import run
from tests.scripted_model import Outcome


class Rig:
    """A loaded target, called "target", and folders of drafts by name."""

    def __init__(self, target: Path, drafts: dict[str, Path] | None = None, **config: Any) -> None:
        paths = {"target": str(target), **{name: str(path) for name, path in (drafts or {}).items()}}
        self.context = EngineContext(device="cpu", model_paths=paths, offline=True, threads=1)
        self.config = RunConfig(target="target", speculation=None, **{"dtype": "float32", "chat": False, **config})
        self.models = Models(self.config, self.context)
        self.loading = list(self.models.load())

    def run(
        self,
        prompt: str,
        speculation: Speculation | None = None,
        *,
        config: dict[str, Any] | None = None,
        **sampling: Any,
    ) -> Outcome:
        """One run; keyword arguments are SamplingParams' fields."""
        chosen = self.config.model_copy(
            update={"speculation": speculation, "sampling": SamplingParams(**sampling), **(config or {})}
        )
        return Outcome(list(run(self.models, chosen, prompt, lambda: False)))


def ngram(k: int = 4, **options: Any) -> Speculation:
    return Speculation(method="ngram", num_speculative_tokens=k, options={"prompt_lookup_min": 1, **options})


def draft_model(name: str, k: int = 4, **options: Any) -> Speculation:
    return Speculation(method="draft_model", model=name, num_speculative_tokens=k, options=options)
