"""Streams of events for the tests of storage: one plain run, and anything at all that is a valid run."""

from collections.abc import Iterator

from hypothesis import strategies as st

from playground.config import RunConfig
from playground.events import Candidate, Event, GpuSample, RunFinished, RunStarted, Step, Token
from storage import RunInfo, Store

CONFIG = RunConfig()

texts = st.text(st.characters(exclude_categories=()), max_size=8)
"""Anything Python calls a string: NUL and lone surrogates included."""

numbers = st.floats() | st.none()
ids = st.integers()
json_values = st.recursive(
    st.none() | st.booleans() | ids | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(texts, json_values, max_size=4)

origins = st.sampled_from(("target", "accepted", "recovered", "bonus", "rejected"))
tokens = st.lists(st.builds(Token, ids, texts, origins, numbers, numbers), max_size=4).map(tuple)
candidates = st.lists(
    st.lists(st.builds(Candidate, ids, texts, st.floats(), numbers), max_size=3).map(tuple), max_size=3
).map(tuple)
samples = st.builds(
    GpuSample, st.floats(), texts, texts, numbers, ids | st.none(), ids | st.none(), numbers, numbers,
    ids | st.none(), ids | st.none(), numbers,
)  # fmt: skip
started = st.builds(RunStarted, st.lists(ids, max_size=5).map(tuple), texts, objects)
finished = st.builds(
    RunFinished,
    st.sampled_from(("stop", "length", "cancelled", "interrupted", "error")),
    st.floats(),
    st.none() | texts,
    ids | st.none(),
    st.none() | objects,
    st.none() | st.booleans(),
    st.lists(texts, max_size=2).map(tuple),
    texts,
    texts,
    texts,
)


@st.composite
def steps(draw: st.DrawFn, index: int) -> Step:
    k = draw(st.integers(0, 8))
    return Step(
        index,
        draw(st.floats()),
        draw(tokens),
        draw(tokens),
        k,
        draw(st.integers(0, k)),
        draw(st.sampled_from((None, "eos", "stop", "length"))),
        draw(numbers),
        draw(numbers),
        tuple(draw(st.lists(st.floats(), max_size=3))),
        draw(candidates),
        draw(candidates),
    )


@st.composite
def streams(draw: st.DrawFn) -> list[Event]:
    """Samples while loading, a start, steps among samples, an end; or only parts of that, as when loading fails."""
    events: list[Event] = draw(st.lists(samples, max_size=2))
    if draw(st.booleans()):
        events.append(draw(started))
        for index in range(draw(st.integers(0, 4))):
            events += draw(st.lists(samples, max_size=1))
            events.append(draw(steps(index)))
    return [*events, draw(finished)]


def plain(steps: int = 5, k: int = 3, a: int = 2, tpot: float = 0.1, text: str = "hello") -> list[Event]:
    """A run of `steps` decode steps that drafts k and accepts a each time, `tpot` seconds a delivered token."""
    at = 0.5
    events: list[Event] = [RunStarted((1, 2, 3), "rendered", {"device": "cpu"})]
    events.append(Step(0, at, (Token(1, "a", "target"),)))
    for index in range(1, steps + 1):
        accepted = tuple(Token(index, " b", "accepted", 0.9, 1.0) for _ in range(a))
        last = Token(9, " c", "target" if k == 0 else "bonus" if a == k else "recovered", 0.4)
        rejected = tuple(Token(8, " no", "rejected", None, 1.0) for _ in range(k - a))
        at += tpot * (a + 1)
        events.append(Step(index, at, (*accepted, last), rejected, k, a, None, 0.01, 0.02))
        events.append(GpuSample(at, "cpu", "a CPU", 50.0, 10, 100, energy=float(index)))
    return [*events, RunFinished("length", at, text, 1 + steps * (a + 1), reconciled=True)]


def stored(store: Store, run_id: str, events: list[Event], prompt: str = "a prompt", **more: object) -> str:
    """Record `events` under `run_id`."""
    config = more.pop("config", CONFIG)
    assert list(store.record(RunInfo(run_id, config, prompt, **more), iter(events))) == events  # type: ignore[arg-type]
    return run_id


def recorded(events: list[Event]) -> Iterator[Event]:
    """Those of `events` that a store keeps."""
    return (event for event in events if isinstance(event, RunStarted | Step | GpuSample | RunFinished))
