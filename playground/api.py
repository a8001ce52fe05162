"""Draftboard from Python: a handful of functions for notebooks and scripts, the same as the page and the command line.

    >>> from playground.api import compare
    >>> pair = compare("Count from 1 to 30.", method="ngram", num_speculative_tokens=5, max_tokens=64)
    >>> pair.speedup, pair.draft_acceptance_rate, pair.outputs_identical

Each call is recorded like any other run. The functions share one `Playground`, made when first needed and closed when
Python ends; make your own, with other settings, as `with Playground(data="/some/folder") as playground:`. The engine
stays loaded between calls. Every problem is a `PlaygroundError` with a `message` and a `hint`.
"""

import atexit
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playground.comparison import ARMS, Arm
from playground.config import Dtype, Preset, RunConfig, checked
from playground.doctor.agreement import Agreement
from playground.doctor.examine import examine_here
from playground.doctor.findings import PairReport
from playground.doctor.judging import reasons
from playground.doctor.trial import LONGEST, MAX_TOKENS, PROMPTS, Trial, method_for, trial_config, trial_prompts
from playground.errors import PlaygroundError
from playground.events import Event
from playground.exchange import export_preset, import_file
from playground.exporters import Export, Loss
from playground.exporters._comments import grouped
from playground.exportfiles import write_export
from playground.importers import Imported
from playground.importers._text import name_from
from playground.notebook import export_html, runs_html
from playground.overrides import with_overrides
from playground.presets import DEFAULT, list_presets, load_preset, preset_from_run, save_preset
from playground.reports import BenchReport, Prompts, TuneReport, run_benchmark, run_tuning
from playground.results import Collector, ComparisonOutput, RunOutput
from playground.runner import Runner
from playground.sentence import Sentence
from playground.settings import Settings, load_settings
from playground.training import TrainOptions, start_training
from storage import Store
from storage.history import RunRow

__all__ = [
    "ComparisonOutput", "DoctorOutput", "ExportOutput", "Playground", "PlaygroundError", "RunList", "RunOutput",
    "TuneReport", "bench", "compare", "doctor", "export", "read_config", "replay", "run", "runs", "train",
]  # fmt: skip

Base = str | Path | Preset | RunConfig
"""What overrides start from: a preset's name or path, a Preset, or a whole RunConfig."""

OnEvent = Callable[[Arm, Event], None]


@dataclass(frozen=True)
class ExportOutput:
    """The files of an export (name -> text), and what they could not say.

    Attributes:
        command: starts the server with them. losses: preset fields that could not be carried over, with reasons.
        versions, checked_by: what it is valid for, and how far that was checked. written: paths, where `out` was given.
    """

    target: str
    files: dict[str, str]
    command: str
    losses: tuple[Loss, ...]
    versions: str
    checked_by: str
    written: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()
    """What the measurement comes to, and what a value means for a server."""

    def __repr__(self) -> str:
        return f"<export to {self.target}: {', '.join(self.files)}; {len(self.losses)} losses>"

    def _repr_html_(self) -> str:
        said = [(level, ", ".join(names), reason) for (level, reason), names in grouped(self.losses).items()]
        return export_html(self.files, said, self.command, self.notes)


@dataclass(frozen=True)
class DoctorOutput:
    """`report`: what is known before loading. `agreement`: the agreement test's result, None where it was not run."""

    report: PairReport
    agreement: Agreement | None = None

    def __repr__(self) -> str:
        words = [f"{self.report.verdict}: {self.report.sentence}"]
        words += [found.text for found in reasons(self.agreement)] if self.agreement else []
        return f"<{' '.join(words)}>"

    def as_dict(self) -> dict[str, Any]:
        """JSON values only, as `doctor --json` prints them."""
        found = self.report.as_dict()
        if self.agreement is not None:
            said = [finding.as_dict() for finding in reasons(self.agreement)]
            found["agreement"] = self.agreement.as_dict() | {"reasons": said}
        return found


@dataclass(frozen=True)
class RunList:
    """Stored runs, newest first; iterate or index it. `total` counts all that were found."""

    rows: tuple[RunRow, ...] = field(repr=False)
    total: int

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[RunRow]:
        return iter(self.rows)

    def __getitem__(self, index: int) -> RunRow:
        return self.rows[index]

    def __repr__(self) -> str:
        return f"<{len(self.rows)} of {self.total} runs>"

    def _repr_html_(self) -> str:
        return runs_html(self.rows, repr(self)[1:-1])


class Playground:
    """The store and the engine, as one object. A context manager; `close` may be called twice.

    Args:
        settings: where it runs; otherwise from `DRAFTBOARD_*` variables, and `fields` (data, device, ...) over them.

    Raises:
        PlaygroundError: the database or its folder cannot be written.
    """

    def __init__(self, settings: Settings | None = None, **fields: Any) -> None:
        self.settings = settings or load_settings(**fields)
        self.settings.check_writable()
        self.store = Store(self.settings.database_path)
        self.runner = Runner(self.settings, self.store)

    def __enter__(self) -> "Playground":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the engine, with any run on it, and closes the database."""
        self.runner.close()
        self.store.close()

    def compare(
        self, prompt: str, preset: Base = DEFAULT, *, on_event: OnEvent | None = None, **overrides: Any
    ) -> ComparisonOutput:
        """`prompt` without and with speculation, on one engine.

        Args:
            preset: what to start from.
            on_event: called with (arm, event) as they come, for a live view.
            overrides: any setting by name: engine, target, method, draft, num_speculative_tokens, temperature,
                max_tokens, prompt_lookup_max, ...

        Raises:
            PlaygroundError: a setting is refused, or an arm failed.
        """
        config = self.config(preset, **overrides)
        job = self.runner.start_compare(config, prompt, source="python")
        collector = Collector(config, prompt, job.run_ids, job.comparison_id)
        for arm, event in job:
            collector.add(arm, event)
            if on_event:
                on_event(arm, event)
        pair = collector.comparison()
        _raise_failure(pair.baseline)
        _raise_failure(pair.speculative)
        return pair

    def run(
        self, prompt: str, preset: Base = DEFAULT, *, on_event: OnEvent | None = None, **overrides: Any
    ) -> RunOutput:
        """One run of `prompt`; `method=None` is the baseline. Otherwise as `compare`."""
        config = self.config(preset, **overrides)
        job = self.runner.start_run(config, prompt, source="python")
        arm: Arm = "baseline" if config.speculation is None else "speculative"
        collector = Collector(config, prompt, {arm: job.run_id})
        for event in job:
            collector.add(arm, event)
            if on_event:
                on_event(arm, event)
        output = collector.run(arm)
        _raise_failure(output)
        return output

    def bench(
        self, prompts: Prompts = "general", preset: Base = DEFAULT, *, plan: dict[str, Any] | None = None, **more: Any
    ) -> BenchReport:
        """`prompts` (a suite's name or file, or texts) with and without speculation: the verdict, the A/A check.

        Args:
            plan: choices of `playground.bench.plan.BenchPlan`: threshold, repeats, check, levels.
            more: `sample` (so many prompts), `on_progress` (called with done, total, seconds left), and settings by
                name as in `compare`.
        """
        named = {name: more.pop(name) for name in ("sample", "on_progress") if name in more}
        config = self.config(preset, **more)
        return run_benchmark(self.settings, self.store, self.runner, config, prompts, **named, **(plan or {}))

    def tune(
        self, prompts: Prompts = "general", preset: Base = DEFAULT, *, plan: dict[str, Any] | None = None, **more: Any
    ) -> TuneReport:
        """Which k, and of `plan["variants"]` which way of drafting, is fastest on `prompts`. Otherwise as `bench`.

        Args:
            plan: choices of `playground.tune.space.TunePlan`: ks, variants, temperatures, levels, objective, ...
        """
        named = {name: more.pop(name) for name in ("sample", "on_progress") if name in more}
        config = self.config(preset, **more)
        return run_tuning(self.settings, self.store, self.runner, config, prompts, **named, **(plan or {}))

    def replay(self, id: str) -> RunOutput | ComparisonOutput:
        """A stored run, or by a comparison's id both of its arms, as it was returned when it ran."""
        arms = self.store.comparison(id)
        if set(arms) == set(ARMS):
            ids: dict[Arm, str] = {arm: arms[arm] for arm in ARMS}
            return self._collected(ids, id).comparison()
        row = self.store.run(id)
        arm: Arm = "baseline" if row.config.speculation is None else "speculative"
        return self._collected({arm: id}).run(arm)

    def train(
        self,
        out: str | Path,
        *,
        restart: bool = False,
        on_progress: Callable[[dict[str, Any]], None] | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        """Trains an EAGLE-3 head for a target into the folder `out`, or goes on with it; its report.

        Args:
            on_progress: called with the status whenever it changes: stage, done, total, seconds_left, history.
            options: `training.TrainOptions` by name: target, tokens, temperatures, prompts, ...

        Raises:
            PlaygroundError: it cannot begin, or failed. An interrupt saves, so that the same call goes on.
        """
        chosen = checked(TrainOptions, options, where=Sentence("the training's options"))
        training = start_training(self.settings, chosen, Path(out), restart=restart)
        try:
            for status in training.follow():
                if on_progress:
                    on_progress(status)
        finally:
            training.stop(wait=True)
        last = training.status()
        if error := last.get("error"):
            raise PlaygroundError(error["error"], error["hint"], code=error["code"])
        report: dict[str, Any] = last.get("report") or {}
        return report

    def doctor(
        self,
        target: str,
        draft: str,
        *,
        agreement: bool = False,
        prompts: Sequence[str] = (),
        suite: str | None = None,
        limit: int = PROMPTS,
        max_tokens: int = MAX_TOKENS,
        num_speculative_tokens: int = LONGEST,
        context: int | None = None,
        dtype: Dtype = "auto",
    ) -> DoctorOutput:
        """What is known of a pair without loading it; with `agreement` also what it does when it is loaded.

        Args:
            prompts: your own; otherwise `limit` of a suite's. num_speculative_tokens: the largest k of the curve.
            context: tokens to reckon the memory for.

        Raises:
            PlaygroundError: one of the two is not here; or the agreement test failed, or cannot be made.
        """
        report = examine_here(self.settings, target, draft, context=context, dtype=dtype)
        if not agreement:
            return DoctorOutput(report)
        if report.verdict == "does not work":
            raise PlaygroundError(report.sentence, Sentence("Choose another draft."), code="incompatible_pair")
        config = trial_config(
            target,
            draft,
            method=method_for(report),
            max_tokens=max_tokens,
            num_speculative_tokens=num_speculative_tokens,
            dtype=dtype,
        )
        trial = Trial(self.runner, config, trial_prompts(self.settings, suite=suite, prompts=prompts, limit=limit))
        for _ in trial:
            pass
        return DoctorOutput(report, trial.agreement)

    def export(
        self,
        what: "str | Path | Preset | RunOutput | ComparisonOutput",
        to: str = "vllm",
        *,
        out: str | Path | None = None,
        name: str | None = None,
        overwrite: bool = False,
        model_as: str = "",
        draft_as: str = "",
        **options: Any,
    ) -> ExportOutput:
        """A run (with its evidence) or a preset as the files of a server.

        Args:
            what: a result, a run or comparison id, a Preset, or a preset's name or path.
            to: a file of `playground/exporters/`. options: its choices (vllm: cap_max_tokens).
            out: folder to write to; without it nothing is written.
            model_as, draft_as: what the server calls target and draft model (hub id, folder), where it is another name.
        """
        preset = self.preset_of(what, name)
        done: Export = export_preset(preset, to, options, model_as=model_as, draft_as=draft_as)
        written = write_export(done, Path(out), overwrite=overwrite) if out is not None else []
        return ExportOutput(
            to, done.files, done.command, done.losses, done.versions, done.checked_by, tuple(written), done.notes
        )

    def save_preset(
        self, what: "str | Preset | RunOutput | ComparisonOutput", name: str, *, overwrite: bool = False
    ) -> Preset:
        """Keep what was measured (or a preset) under `name`; `compare(..., preset=name)` runs it again."""
        preset = self.preset_of(what, name)
        save_preset(preset, self.settings, overwrite=overwrite)
        return preset

    def runs(self, search: str = "", *, limit: int = 50, **filters: Any) -> RunList:
        """Stored runs, newest first: `storage.Store.runs` says what filters and sorts there are."""
        page = self.store.runs(search=search, limit=limit, **filters)
        return RunList(page.rows, page.total)

    def presets(self) -> dict[str, Preset]:
        """Every readable preset by name."""
        return {entry.name: entry.preset for entry in list_presets(self.settings) if entry.preset}

    def config(self, preset: Base = DEFAULT, **overrides: Any) -> RunConfig:
        """The configuration that `run` and `compare` would use."""
        if isinstance(preset, RunConfig):
            base = preset
        else:
            base = (preset if isinstance(preset, Preset) else load_preset(preset, self.settings)).config
        return with_overrides(base, overrides)

    def preset_of(self, what: "str | Path | Preset | RunOutput | ComparisonOutput", name: str | None = None) -> Preset:
        """What was measured, or a preset, as a Preset; called `name` where one is given."""
        if isinstance(what, (RunOutput, ComparisonOutput)):
            what = what.run_id if isinstance(what, RunOutput) else what.speculative.run_id
        elif not isinstance(what, Preset):
            known = {entry.name for entry in list_presets(self.settings)}
            if isinstance(what, Path) or what in known or what.endswith((".yaml", ".yml")):
                what = load_preset(what, self.settings)
        if isinstance(what, str):
            return preset_from_run(self.store, what, name or name_from(f"run-{what}.yaml"))
        assert isinstance(what, Preset)
        return what if name is None else Preset.model_validate(what.model_dump() | {"name": name})

    def _collected(self, ids: dict[Arm, str], comparison_id: str | None = None) -> Collector:
        row = self.store.run(ids.get("speculative") or ids["baseline"])
        collector = Collector(row.config, row.prompt, ids, comparison_id)
        for arm, run_id in ids.items():
            for event in self.store.replay(run_id):
                collector.add(arm, event)
        return collector


def compare(
    prompt: str, preset: Base = DEFAULT, *, on_event: OnEvent | None = None, **overrides: Any
) -> ComparisonOutput:
    """See `Playground.compare`."""
    return _shared().compare(prompt, preset, on_event=on_event, **overrides)


def run(prompt: str, preset: Base = DEFAULT, *, on_event: OnEvent | None = None, **overrides: Any) -> RunOutput:
    """See `Playground.run`."""
    return _shared().run(prompt, preset, on_event=on_event, **overrides)


def doctor(target: str, draft: str, **how: Any) -> DoctorOutput:
    """See `Playground.doctor`."""
    return _shared().doctor(target, draft, **how)


def train(out: str | Path, **how: Any) -> dict[str, Any]:
    """See `Playground.train`."""
    return _shared().train(out, **how)


def bench(prompts: Prompts = "general", preset: Base = DEFAULT, **more: Any) -> BenchReport:
    """See `Playground.bench`."""
    return _shared().bench(prompts, preset, **more)


def tune(prompts: Prompts = "general", preset: Base = DEFAULT, **more: Any) -> TuneReport:
    """See `Playground.tune`."""
    return _shared().tune(prompts, preset, **more)


def replay(id: str) -> RunOutput | ComparisonOutput:
    """See `Playground.replay`."""
    return _shared().replay(id)


def export(
    what: str | Path | Preset | RunOutput | ComparisonOutput,
    to: str = "vllm",
    *,
    out: str | Path | None = None,
    name: str | None = None,
    overwrite: bool = False,
    model_as: str = "",
    draft_as: str = "",
    **options: Any,
) -> ExportOutput:
    """See `Playground.export`."""
    return _shared().export(
        what, to, out=out, name=name, overwrite=overwrite, model_as=model_as, draft_as=draft_as, **options
    )


def runs(search: str = "", *, limit: int = 50, **filters: Any) -> RunList:
    """See `Playground.runs`."""
    return _shared().runs(search, limit=limit, **filters)


def read_config(file: str | Path, *, keep_lossy: bool = False) -> Imported:
    """A preset from a file of any known dialect (ours, vLLM's), with the rewrites that brought it up to date.

    Raises:
        PlaygroundError: it cannot be read, or it changes the output (relaxed or typical acceptance) and `keep_lossy`
            does not say that this is wanted.
    """
    return import_file(Path(file), keep_lossy=keep_lossy)


_lock = threading.Lock()
_playground: Playground | None = None


def _shared() -> Playground:
    global _playground
    with _lock:
        if _playground is None:
            _playground = Playground()
            atexit.register(_playground.close)
        return _playground


def _raise_failure(run: RunOutput) -> None:
    if error := run.error_dict():
        raise PlaygroundError(error["error"], error["hint"], code=error["code"])
