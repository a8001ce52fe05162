"""The runner: composes queue | engine | device samples | record into runs on the one live engine.

Whatever happens to a run, its last event is one RunFinished, recorded, and the runner can serve the next. Runs are
pulled by their consumers: a stream that is not read does not advance, one that is closed is cancelled. Knows no page
and no command line, and never touches a device: engines live in child processes.
"""

import contextlib
import logging
import threading
import weakref
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from playground import drafters
from playground.comparison import Arm
from playground.config import MAX_TEXT, RunConfig, checked
from playground.errors import PlaygroundError
from playground.events import RunFinished, Step
from playground.gpu import with_gpu
from playground.jobs import BatchJob, CompareJob, RunJob, Tagged, new_id
from playground.live import Events, LiveEngine, engine_class
from playground.models import model_paths
from playground.registry import discover
from playground.sentence import Sentence
from playground.settings import Settings
from playground.stored_baseline import replayed, stored_baseline
from playground.together import merged
from playground.turns import Ticket, Turns
from storage import RunInfo, RunRow, Store

__all__ = ["Arm", "BatchJob", "CompareJob", "EngineStatus", "RunJob", "Runner", "check", "new_id"]

log = logging.getLogger(__name__)

LINE_UP = 10.0
"""Seconds that runs which are to start together wait for each other, at most: one of them may not be storable."""


@dataclass(frozen=True, slots=True)
class EngineStatus:
    """What the engine chip shows. `detail`: what loading is at, in words; `waiting`: how many runs are queued."""

    engine: str = ""
    target: str = ""
    state: Literal["none", "loading", "idle", "running"] = "none"
    waiting: int = 0
    run_id: str | None = None
    detail: str = ""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class Runner:
    """One live engine and the queue for it. Every method may be called from any thread."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings, self._store = settings, store
        self._engine = LiveEngine(settings.data / "locks")
        self._turns = Turns()
        self._tickets: weakref.WeakValueDictionary[str, Ticket] = weakref.WeakValueDictionary()
        self._served: Ticket | None = None
        self._run_id: str | None = None
        self._closed = False

    def run(
        self,
        config: RunConfig,
        prompt: str,
        *,
        source: str = "page",
        run_id: str | None = None,
        comparison_id: str | None = None,
        arm: Arm | None = None,
    ) -> RunJob:
        """One run's events, recorded.

        Raises:
            PlaygroundError: at once, for a config or prompt that cannot run. What goes wrong later is a RunFinished.
        """
        check(config, prompt)
        info = RunInfo(run_id or new_id(), config, prompt, source, comparison_id, arm)
        ticket = self._ticket(info.run_id)
        return RunJob(info.run_id, self._serve(ticket, [info]), lambda: self.abort(info.run_id))

    def start_run(self, config: RunConfig, prompt: str, *, source: str = "page") -> RunJob:
        """As `run`, for a run on its own."""
        return self.run(config, prompt, source=source)

    def start_compare(self, config: RunConfig, prompt: str, *, source: str = "page") -> CompareJob:
        """Baseline, then speculative, in one turn; on one loaded engine where the engine says that one serves both.

        An engine with nothing to run a baseline on is given a stored one.

        Raises:
            PlaygroundError: at once, for a config or prompt that cannot run, that has no speculation to compare or
                whose baseline is nowhere.
        """
        if config.speculation is None:
            raise PlaygroundError(
                Sentence("There is nothing to compare: no drafting method is chosen."),
                Sentence("Choose a method."),
                code="bad_config",
            )
        check(config, prompt)
        needs_stored = getattr(engine_class(config.engine), "stored_baseline", None)
        stored = stored_baseline(self._store, config, prompt) if needs_stored and needs_stored(config) else None
        comparison = new_id()
        run_ids: dict[Arm, str] = {"baseline": new_id(), "speculative": new_id()}
        infos = [
            RunInfo(run_ids["baseline"], config.baseline(), prompt, source, comparison, "baseline"),
            RunInfo(run_ids["speculative"], config, prompt, source, comparison, "speculative"),
        ]
        ticket = self._ticket(comparison, *run_ids.values())
        return CompareJob(comparison, run_ids, self._serve(ticket, infos, stored), lambda: self.abort(comparison))

    def start_batch(self, runs: Sequence[RunInfo], *, together: bool = False) -> BatchJob:
        """Several runs in one turn, so that nobody else's comes between them; after one that failed none is begun.

        Args:
            together: all in flight at once on one engine, loaded for the first; without device samples.

        Raises:
            PlaygroundError: at once, for a config or prompt that cannot run.
        """
        for info in runs:
            check(info.config, info.prompt)
        batch = new_id()
        ticket = self._ticket(batch, *(info.run_id for info in runs))
        serve = self._serve_together if together else self._serve
        return BatchJob(serve(ticket, list(runs)), lambda: self.abort(batch))

    def one_load(self, config: RunConfig) -> bool:
        """Whether one loaded engine serves both a config and its baseline, so that their runs can take turns."""
        context = self._settings.engine_context(model_paths(self._settings))
        engine = engine_class(config.engine)
        return bool(engine.load_key(config, context) == engine.load_key(config.baseline(), context))

    def preload(self, config: RunConfig) -> None:
        """Loads the engine of `config` in its turn, so that the next run with it starts at once. Nothing is recorded.

        Raises:
            PlaygroundError: it cannot be loaded.
        """
        check(config)
        ticket = self._ticket(new_id())
        try:
            for _ in self._turns.wait(ticket):
                pass
            if ticket.state == "served":
                self._served = ticket
                context = self._settings.engine_context(model_paths(self._settings))
                purpose = f"{config.engine} with {config.target}, loaded beforehand"
                for _ in self._engine.ready(config, context, purpose, lambda: ticket.aborted):
                    pass
        finally:
            self._end_turn(ticket)

    def abort(self, id: str) -> None:
        """Cancels a run, or a whole comparison by its id or an arm's; unknown ids are ignored."""
        ticket = self._tickets.get(id)
        if ticket is not None:
            ticket.abort()
            self._turns.wake()
            if self._served is ticket:
                self._engine.abort(self._run_id)

    def status(self) -> EngineStatus:
        engine, run_id, config, detail = self._engine, self._run_id, self._engine.config, self._engine.detail
        waiting = self._turns.waiting
        if config is None:
            return EngineStatus(waiting=waiting, run_id=run_id, detail=detail)
        state: Literal["loading", "idle", "running"] = "running" if run_id else "idle"
        if engine.state != "loaded":
            state = "loading"
        return EngineStatus(config.engine, config.target, state, waiting, run_id, detail)

    def close(self) -> None:
        """Cancels everything and ends the engine; returns when it is gone. Later runs are refused."""
        self._closed = True
        for ticket in list(self._tickets.values()):
            ticket.abort()
        self._turns.wake()
        self._engine.close()

    def _ticket(self, *ids: str) -> Ticket:
        if self._closed:
            raise PlaygroundError(Sentence("Draftboard is shutting down."), Sentence("Start it again."), code="closed")
        ticket = Ticket(*ids)
        for id in ids:
            if id in self._tickets:
                raise PlaygroundError(
                    Sentence("There is a run {id} already.", id=id),
                    Sentence("Give the run a new id."),
                    code="run_exists",
                )
            self._tickets[id] = ticket
        return ticket

    # -- one turn: a run, or the two of a comparison, outermost first

    def _serve(self, ticket: Ticket, infos: list[RunInfo], stored: RunRow | None = None) -> Tagged:
        """All runs of a ticket; after one that failed or was cancelled the others are not begun.

        Args:
            stored: a run that is read back where a baseline would be run.
        """
        ended: RunFinished | None = None
        try:
            for info in infos:
                if stored is not None and info.arm == "baseline":
                    events = self._ended(ticket, replayed(self._store, stored))
                elif ended is None or ended.reason in ("stop", "length"):
                    events = self._ended(ticket, self._live(ticket, info))
                else:
                    events = _not_begun(ended)
                with closing(self._recorded(info, events)) as recorded:
                    for event in recorded:
                        ended = event if isinstance(event, RunFinished) else ended
                        yield info, event
        finally:
            self._end_turn(ticket)

    def _serve_together(self, ticket: Ticket, infos: list[RunInfo]) -> Tagged:
        """All runs of a ticket at once, on the engine of the first."""
        failure: PlaygroundError | None = None
        line = threading.Barrier(len(infos))

        def live(info: RunInfo) -> Events:
            if failure is not None:
                raise failure
            # Each run is asked for once its row is written; none has a head start by that.
            with contextlib.suppress(threading.BrokenBarrierError):
                line.wait(LINE_UP)
            yield from self._engine.generate(info.run_id, info.config, info.prompt, lambda: ticket.aborted)

        try:
            try:
                with closing(self._prepared(ticket, infos[0])) as preparing:
                    for event in preparing:
                        yield infos[0], event
            except PlaygroundError as error:
                failure = error
            streams = [(info, self._recorded(info, self._ended(ticket, live(info)))) for info in infos]
            yield from merged(streams, ticket.abort)
        finally:
            self._end_turn(ticket)

    def _prepared(self, ticket: Ticket, info: RunInfo) -> Events:
        """Its turn and its engine, or nothing where it was aborted meanwhile."""
        yield from self._turns.wait(ticket)
        if ticket.state == "served" and not ticket.aborted:
            self._served, self._run_id = ticket, info.run_id
            context = self._settings.engine_context(model_paths(self._settings))
            purpose = f"{info.source}, {info.config.engine} with {info.config.target}"
            yield from self._engine.ready(info.config, context, purpose, lambda: ticket.aborted)

    def _end_turn(self, ticket: Ticket) -> None:
        if self._served is ticket:
            self._served = self._run_id = None
            self._engine.rest()
        self._turns.leave(ticket)

    def _recorded(self, info: RunInfo, events: Events) -> Events:
        """`events` through the store; the ending comes once it is stored, or says that it could not be."""
        recorded = self._store.record(info, events)
        finished: RunFinished | None = None
        try:
            for event in recorded:
                if isinstance(event, RunFinished):
                    finished = event
                else:
                    yield event
        except Exception as error:
            ours = isinstance(error, PlaygroundError)  # a full or locked disk: said in the run's own ending
            log.error("Run %s could not be recorded: %s", info.run_id, error, exc_info=not ours)
            if finished is None or not finished.error:
                finished = _failed(error, finished or RunFinished("error", 0.0))
        finally:
            if isinstance(recorded, Generator):
                recorded.close()
            events.close()
        yield finished or _failed(RuntimeError("the run ended without a word"), RunFinished("error", 0.0))

    def _ended(self, ticket: Ticket, events: Events) -> Events:
        """`events` with any exception as its RunFinished."""
        at = 0.0
        try:
            for event in events:
                at = event.at if isinstance(event, Step) else at
                yield event
        except Exception as error:
            if ticket.aborted:
                yield RunFinished("cancelled", at)
                return
            if not isinstance(error, PlaygroundError):
                log.exception("A run failed in Draftboard itself.")
            yield _failed(error, RunFinished("error", at))
        finally:
            events.close()

    def _live(self, ticket: Ticket, info: RunInfo) -> Events:
        """One run: its turn, its engine, its events among device samples."""
        if ticket.state == "new":
            yield from self._turns.wait(ticket)
        if ticket.state != "served" or ticket.aborted:
            yield RunFinished("cancelled", 0.0)
            return
        self._served, self._run_id = ticket, info.run_id
        config = info.config
        context = self._settings.engine_context(model_paths(self._settings))
        device = engine_class(config.engine).device(config, context)

        def generated() -> Events:
            purpose = f"{info.source}, {config.engine} with {config.target}"
            yield from self._engine.ready(config, context, purpose, lambda: ticket.aborted)
            yield from self._engine.generate(info.run_id, config, info.prompt, lambda: ticket.aborted)

        yield from with_gpu(generated(), device)


def check(config: RunConfig, prompt: str = "") -> None:
    """Whether this can be run at all, as far as it is known without loading anything.

    Raises:
        PlaygroundError: no such engine or method, wrong options, no draft model where one is needed, a bad prompt.
    """
    engine = engine_class(config.engine)
    checked(
        engine.Options,
        config.engine_options,
        where=Sentence("the options of the engine {engine}", engine=config.engine),
    )
    if (speculation := config.speculation) is not None:
        methods = engine.methods()
        if speculation.method not in methods:
            raise PlaygroundError(
                Sentence(
                    "The engine {engine} has no drafting method called “{method}”.",
                    engine=config.engine,
                    method=speculation.method,
                ),
                Sentence("Choose one of: {known}.", known=", ".join(methods)),
                code="unknown_method",
            )
        checked(
            methods[speculation.method],
            speculation.options,
            where=Sentence("the options of {method}", method=speculation.method),
        )
        drafter = discover(drafters.PACKAGE).get(speculation.method)
        if drafter is not None and drafter.Drafter.NEEDS_MODEL and not speculation.model:
            raise PlaygroundError(
                Sentence("The method {method} needs a draft model.", method=speculation.method),
                Sentence(
                    "Choose a smaller model with the target's tokenizer, or a method without a model such as ngram."
                ),
                code="bad_config",
            )
    if len(prompt) > MAX_TEXT:
        raise PlaygroundError(
            Sentence("The prompt has {n:,} characters, more than {most:,}.", n=len(prompt), most=MAX_TEXT),
            Sentence("Shorten it."),
            code="bad_prompt",
        )
    if any("\ud800" <= character <= "\udfff" for character in prompt + config.system_prompt):
        raise PlaygroundError(
            Sentence("The prompt holds half a character (a lone surrogate)."),
            Sentence("Type or paste it again."),
            code="bad_prompt",
        )


def _not_begun(before: RunFinished) -> Events:
    if before.reason == "error":
        yield RunFinished(
            "error", 0.0, error=Sentence("Not run, since the arm before it failed."), hint=before.hint, code="not_begun"
        )
    else:
        yield RunFinished("cancelled", 0.0)


def _failed(error: Exception, finished: RunFinished) -> RunFinished:
    """`finished` with an error in words a person can act on."""
    if not isinstance(error, PlaygroundError):
        wrong = Sentence("Draftboard itself failed: {kind}: {error}.", kind=type(error).__name__, error=error)
        error = PlaygroundError(wrong, Sentence("Its log says more; please report it."), code="internal")
    return replace(finished, reason="error", error=error.message, hint=error.hint, code=error.code)
