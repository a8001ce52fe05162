"""The agreement test: a pair run over prompts on the embedded engine, with and without drafting, in one turn.

Ordinary recorded runs through the runner, greedy, so that both models live in the engine's own process, every run can
be replayed, and Stop works as always. Knows the runner and the fold; draws nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from playground import drafters
from playground.config import Dtype, RunConfig, SamplingParams, Speculation
from playground.doctor.agreement import Agreement, Fold
from playground.doctor.findings import PairReport
from playground.errors import PlaygroundError
from playground.events import Event, Heartbeat, Loading, Queued, RunFinished
from playground.jobs import new_id
from playground.registry import names
from playground.runner import Runner
from playground.sentence import Sentence
from playground.settings import Settings
from playground.suites import _library
from storage import RunInfo

SOURCE = "doctor"
CANDIDATES = 20
"""Best tokens of each model that the engine reports per position: the more, the narrower the overlap's interval."""

MAX_PROMPTS = 500
PROMPTS = 8
MAX_TOKENS = 64
LONGEST = 10
"""Prompts, tokens of each answer and the largest k, where nothing else is asked for."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a trial is: runs done of all, what is happening in words, and the result so far."""

    done: int
    total: int
    detail: str
    agreement: Agreement
    finished: bool = False


class Trial(Iterator[Progress]):
    """One trial. It works while it is iterated; `abort` from any thread ends it with what it has."""

    def __init__(self, runner: Runner, config: RunConfig, prompts: Sequence[str]) -> None:
        """Args:
            config: made by `trial_config`.

        Raises:
            PlaygroundError: at once, for a config or prompt that cannot run.
        """
        assert config.speculation is not None
        self.config = config
        self._runs = _runs(config, prompts)
        self._by_id = {info.run_id: info for info in self._runs}
        self._fold = Fold(len(prompts), config.speculation.num_speculative_tokens)
        self._job = runner.start_batch(self._runs)
        self._done = 0
        self._ended = False
        self._aborted = False

    @property
    def agreement(self) -> Agreement:
        return self._fold.agreement

    def abort(self) -> None:
        self._aborted = True
        self._job.abort()

    def close(self) -> None:
        self._job.close()

    def __next__(self) -> Progress:
        """The next progress: at every run's end, and about twice a second while one loads or runs.

        Raises:
            PlaygroundError: a run failed, as its engine said it.
        """
        if self._ended:
            raise StopIteration
        for run_id, event in self._job:
            info = self._by_id[run_id]
            self._fold.add(info.comparison_id or "", info.arm or "", _k_of(info), event)
            if isinstance(event, RunFinished):
                return self._finish(event)
            if isinstance(event, (Loading, Queued, Heartbeat)):
                return self._progress(_words(event))
        self._ended = True
        return replace(self._progress(""), finished=True)

    def _finish(self, event: RunFinished) -> Progress:
        if event.reason == "error":
            self._ended = True
            self._job.close()
            raise PlaygroundError(event.error, event.hint, code=event.code or "error")
        if event.reason == "cancelled":
            self._fold.cancelled = True
        else:
            self._done += 1
        return self._progress("")

    def _progress(self, detail: str) -> Progress:
        return Progress(self._done, len(self._runs), detail, self._fold.agreement)


def trial_config(
    target: str,
    draft: str,
    *,
    method: str = "draft_model",
    max_tokens: int = MAX_TOKENS,
    num_speculative_tokens: int = LONGEST,
    dtype: Dtype = "auto",
) -> RunConfig:
    """The configuration of a trial's drafting runs."""
    return RunConfig(
        engine="embedded",
        engine_options={"candidates": CANDIDATES},
        target=target,
        dtype=dtype,
        speculation=Speculation(method=method, model=draft, num_speculative_tokens=num_speculative_tokens),
        sampling=SamplingParams(temperature=0.0, max_tokens=max_tokens),
    )


def method_for(report: PairReport) -> str:
    """The embedded engine's method for a pair's draft: the head's own, or draft_model."""
    role = report.draft.role if report.draft else "model"
    return role if role in names(drafters.PACKAGE) else "draft_model"


def trial_prompts(
    settings: Settings, *, suite: str | None = None, prompts: Sequence[str] = (), limit: int = PROMPTS
) -> list[str]:
    """The user's own prompts, or `limit` of a suite's, spread over its categories; of a conversation its first turn.

    Raises:
        PlaygroundError: there is no such suite, or nothing is left.
    """
    own = [prompt for prompt in prompts if prompt.strip()]
    if own:
        return own[: min(limit, MAX_PROMPTS)]
    found = _library.load_suite(suite or _library.DEFAULT, settings)
    return [prompt.turns[0] for prompt in _library.chosen(found, sample=min(limit, MAX_PROMPTS)).prompts]


def _runs(config: RunConfig, prompts: Sequence[str]) -> list[RunInfo]:
    """Per prompt a run without and one with drafting; k changes by prompt, so that steps of several sizes are timed."""
    assert config.speculation is not None
    longest = config.speculation.num_speculative_tokens
    ks = list(dict.fromkeys((longest, (longest + 1) // 2, min(2, longest))))
    runs = []
    for place, prompt in enumerate(prompts):
        speculation = config.speculation.model_copy(update={"num_speculative_tokens": ks[place % len(ks)]})
        drafting = config.model_copy(update={"speculation": speculation})
        comparison = new_id()
        runs.append(RunInfo(new_id(), config.baseline(), prompt, SOURCE, comparison, "baseline"))
        runs.append(RunInfo(new_id(), drafting, prompt, SOURCE, comparison, "speculative"))
    return runs


def _k_of(info: RunInfo) -> int:
    return info.config.speculation.num_speculative_tokens if info.config.speculation else 0


def _words(event: Event) -> str:
    match event:
        case Loading(detail=detail):
            return detail
        case Queued(position=position):
            return Sentence("Waiting: {position} before this one.", position=position)
    return ""
