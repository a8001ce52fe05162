"""The shell below the browser: controls from fields, the column, sessions, the stage's stream, recorded runs."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import gradio as gr
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from playground.comparison import Arm
from playground.config import Preset, RunConfig, SamplingParams, Speculation
from playground.errors import PlaygroundError
from playground.events import Event, RunFinished, RunStarted, Step, Token
from playground.settings import Settings
from playground.ui import controls
from playground.ui.column import NO_METHOD, Column, engine_names, method_names, needs_model
from playground.ui.examples import EXAMPLES, KINDS, next_example
from playground.ui.history import page_of, selected
from playground.ui.i18n import LANGS, STRINGS
from playground.ui.recorded import recorded
from playground.ui.sessions import Sessions
from playground.ui.stage import Showing, stream
from playground.ui.steps import RecentSteps, run_of
from playground.ui.wiring import Wiring, unpacked
from storage import RunInfo, Store

# ---------------------------------------------------------------- controls


class Fields(BaseModel):
    flag: bool = Field(True, title="Flag")
    few: int = Field(3, ge=1, le=10, title="Few")
    many: int = Field(3, ge=1, le=100_000, title="Many")
    share: float = Field(0.5, gt=0, le=1, title="Share")
    maybe: int | None = Field(None, ge=0, title="Maybe")
    one_of: Literal["", "a", "b"] = Field("a", title="One of")
    lines: tuple[str, ...] = Field((), title="Lines")
    text: str = Field("hello", title="Text")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("flag", "switch"),
        ("few", "whole"),
        ("share", "real"),
        ("maybe", "whole"),
        ("one_of", "choice"),
        ("lines", "lines"),
        ("text", "text"),
    ],
)
def test_a_field_decides_its_widget(name: str, kind: str) -> None:
    assert controls.kind_of(Fields.model_fields[name])[0] == kind


def test_bounds_decide_between_slider_and_typed_number() -> None:
    assert controls.slider_bounds(Fields.model_fields["few"]) == (1, 10)
    assert controls.slider_bounds(Fields.model_fields["many"]) is None


def control(name: str) -> controls.Control:
    field = Fields.model_fields[name]
    kind, optional, _ = controls.kind_of(field)
    return controls.Control(name, field, kind, optional, gr.Textbox(render=False))


@settings(deadline=None)
@given(
    st.builds(
        Fields,
        flag=st.booleans(),
        few=st.integers(1, 10),
        maybe=st.none() | st.integers(0, 2**63 - 1),
        one_of=st.sampled_from(["", "a", "b"]),
        lines=st.lists(st.text(st.characters(exclude_characters="\r\n"), min_size=1), max_size=3).map(tuple),
        text=st.text(st.characters(exclude_categories=["Cs"])),
    )
)
def test_what_a_control_shows_reads_back_the_same(fields: Fields) -> None:
    shown = {name: control(name).show(getattr(fields, name)) for name in Fields.model_fields}
    # As the browser sends it: JSON, whole numbers perhaps as floats.
    sent = json.loads(json.dumps(shown))
    assert Fields.model_validate({name: control(name).read(value) for name, value in sent.items()}) == fields


def test_a_number_typed_as_a_float_reads_as_a_whole_one() -> None:
    assert control("few").read(4.0) == 4
    assert control("few").read(4.5) == 4.5  # for pydantic to refuse by name


# ---------------------------------------------------------------- the column


@pytest.fixture(scope="module")
def column(tmp_path_factory: pytest.TempPathFactory) -> Column:
    here = Settings(data=tmp_path_factory.mktemp("column"))
    with gr.Blocks(analytics_enabled=False):
        return Column(here, Wiring(), Preset(name="default", config=RunConfig()))


def values_of(column: Column, config: RunConfig) -> list[Any]:
    """What the widgets hold after `show`, as the browser would send it."""
    updates = column.show(config)
    return [updates.get(widget, {}).get("value", widget.value) for widget in column.inputs]


def configs() -> st.SearchStrategy[RunConfig]:
    sampling = st.builds(
        SamplingParams,
        temperature=st.sampled_from([0.0, 0.7]),
        top_k=st.integers(0, 50),
        max_tokens=st.integers(10, 500),
        min_tokens=st.integers(0, 5),
        seed=st.none() | st.integers(0, 2**63 - 1),
        stop=st.lists(st.text("ab .", min_size=1, max_size=5), max_size=2).map(tuple),
        ignore_eos=st.booleans(),
    )
    speculation = st.none() | st.builds(
        Speculation,
        method=st.just("ngram"),
        num_speculative_tokens=st.integers(1, 16),
        options=st.sampled_from([{}, {"prompt_lookup_max": 6}, {"match": "most_recent"}]),
    )
    return st.builds(
        RunConfig,
        engine=st.sampled_from(["embedded", "scripted"]),
        target=st.sampled_from(["smollm2-135m", "/some/folder", "org/name"]),
        speculation=speculation,
        sampling=sampling,
        chat=st.booleans(),
        system_prompt=st.text(max_size=20),
    )


@settings(deadline=None, max_examples=40)
@given(config=configs())
def test_the_column_says_any_config_and_reads_it_back(column: Column, config: RunConfig) -> None:
    assert column.read(values_of(column, config)) == config


def test_what_the_widgets_contradict_is_refused_by_name(column: Column) -> None:
    values = values_of(column, RunConfig())
    places = {c.key: i for i, c in enumerate(column._controls)}
    values[places["sampling.max_tokens"]] = 0
    with pytest.raises(PlaygroundError, match=r"sampling\.max_tokens: input should be greater than or equal to 1"):
        column.read(values)
    values = values_of(column, RunConfig())
    values[places["engine"]] = "nothing"
    with pytest.raises(PlaygroundError, match="no engine called"):
        column.read(values)


def test_another_engine_keeps_the_method_it_knows(column: Column) -> None:
    updates = column.on_engine("scripted", "smollm2-135m", "ngram", None)
    assert updates[column.method]["value"] == "ngram"
    assert NO_METHOD in updates[column.method]["choices"]


def test_the_draft_model_is_asked_for_only_where_one_is_needed(column: Column) -> None:
    assert not needs_model("ngram")
    assert not needs_model(NO_METHOD)
    assert needs_model("draft_model")
    seen = column.on_pair("embedded", "smollm2-135m", "draft_model", None)
    assert seen[column.draft]["visible"] is True
    assert "Choose a draft model" in seen[column.compatible]


def test_a_model_that_is_not_here_is_named_under_the_pair(column: Column) -> None:
    said = column.check("embedded", "./no-such-model<b>", "draft_model", "./no-such-model<b>")
    assert "no-such-model" in said
    assert said.startswith('<p class="pair-line')  # our own markup stays markup, whatever follows it
    assert "<b>" not in said


def test_every_engine_and_method_has_its_controls() -> None:
    assert engine_names()[0] == "embedded"
    for engine in engine_names():
        assert method_names(engine)


def test_packed_values_of_another_version_are_refused() -> None:
    assert unpacked("[1, null]", 2) == [1, None]
    for text in ("", "null", "[1]", "{}"):
        with pytest.raises(PlaygroundError, match="older than the server"):
            unpacked(text, 2)


def test_every_string_is_in_both_languages() -> None:
    missing = [(key, lang) for key, texts in STRINGS.items() for lang in LANGS if lang not in texts]
    assert not missing
    for kind in KINDS:
        assert f"example.{kind}" in STRINGS


def test_examples_cycle_and_the_repeating_ones_repeat() -> None:
    for kind in KINDS:
        first = next_example(kind, "")
        seen = [first]
        while (following := next_example(kind, seen[-1])) != first:
            seen.append(following)
        assert len(seen) == sum(example.kind == kind for example in EXAMPLES)
    for example in EXAMPLES:
        if example.kind in ("edit_code", "summarise"):
            assert len(example.prompt) > 400  # there is something to copy from


# ---------------------------------------------------------------- sessions and the stage


def test_a_stream_ends_the_one_before_it_in_the_same_session_only() -> None:
    """CASES 30"""
    sessions = Sessions()
    ended: list[str] = []
    with (
        sessions.streaming("a", lambda: ended.append("a1")) as first,
        sessions.streaming("b", lambda: ended.append("b")) as other,
        sessions.streaming("a", lambda: ended.append("a2")) as second,
    ):
        assert first.replaced
        assert ended == ["a1"]
        assert second.alive
        assert sessions.stop("a")
        assert not second.alive
        assert not second.replaced
        assert other.alive
    assert "b" in ended
    assert not sessions.stop("a")
    assert len(sessions) == 0


def test_leaving_a_stream_by_an_error_aborts_it() -> None:
    sessions, ended = Sessions(), []
    with pytest.raises(ValueError, match="x"), sessions.streaming("a", lambda: ended.append(1)):
        raise ValueError("x")
    assert ended == [1]


def steps(n: int, start: int = 0) -> Iterator[Event]:
    yield RunStarted((1, 2), "prompt", {"greedy": True})
    for i in range(n):
        yield Step(i, 0.1 * (i + 1), (Token(i, f"t{i} ", "target"),), verify_seconds=0.1, draft_seconds=0.0)
    yield RunFinished("length", 0.1 * (n + 1))


def both(n: int) -> Iterator[tuple[Arm, Event]]:
    for arm in ("baseline", "speculative"):
        for event in steps(n):
            yield ("baseline" if arm == "baseline" else "speculative"), event


def nothing_stored(run_id: str) -> Iterator[Event]:
    raise PlaygroundError(f"no run {run_id}")


def showing(recent: RecentSteps, **options: Any) -> Showing:
    return Showing(recent, {"baseline": "r1", "speculative": "r2", "comparison": "c"}, greedy=True, **options)


def test_a_stream_sends_every_token_once_and_the_verdict_last() -> None:
    recent = RecentSteps(nothing_stored)
    sessions = Sessions()
    with sessions.streaming("s", lambda: None) as ticket:
        updates = list(stream(showing(recent), both(300), ticket))
    for pane in (0, 1):
        tokens: list[Any] = []
        for update in updates:
            if isinstance(update[pane], str):
                message = json.loads(update[pane])
                assert message["from"] <= len(tokens)
                tokens[message["from"] :] = message["toks"]
        assert [token[1] for token in tokens] == [f"t{i} " for i in range(300)]
    assert len(updates) < 50  # far fewer than tokens
    assert "identical" in updates[-1][2]
    assert updates[0][-1] == {"baseline": "r1", "speculative": "r2", "comparison": "c"}


def test_a_stopped_replay_says_that_it_is_partial() -> None:
    recent, sessions = RecentSteps(nothing_stored), Sessions()
    shown = showing(recent, recorded={"baseline": {}, "speculative": {}})
    with sessions.streaming("s", lambda: None) as ticket:
        updates = stream(shown, both(50), ticket)
        next(updates)
        sessions.stop("s")
        last = list(updates)[-1]
    assert json.loads(last[0])["state"]["name"] == "stopped"


def test_a_replaced_stream_says_nothing_more() -> None:
    recent, sessions = RecentSteps(nothing_stored), Sessions()
    with sessions.streaming("s", lambda: None) as first:
        updates = stream(showing(recent), both(50), first)
        next(updates)
        with sessions.streaming("s", lambda: None):
            assert list(updates) == []


def test_a_step_is_found_while_it_is_fresh_and_later_in_the_store() -> None:
    recent = RecentSteps(lambda run_id: steps(5) if run_id == "old" else nothing_stored(run_id))
    kept = recent.begin("new")
    for event in steps(3):
        kept.add(event)
    for feed in ("new~4", "old~1"):
        found = recent.source([feed, 2])
        assert found is not None
        assert found["index"] == 2
    assert recent.source(["new", 99]) is None
    for odd in ([], ["new"], [None, 1], ["new", "1"], ["gone", 1]):
        assert recent.source(odd) is None
    assert run_of("run-1~3") == "run-1"


# ---------------------------------------------------------------- recorded runs and the history


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "runs.db")
    yield store
    store.close()


def record(store: Store, run_id: str, *, comparison: str | None = None, arm: Arm | None = None, **config: Any) -> None:
    made = RunConfig(**config)
    if arm == "baseline":
        made = made.baseline()
    for _ in store.record(RunInfo(run_id, made, f"prompt of {run_id[:2]}", "page", comparison, arm), steps(3)):
        pass


def test_one_of_a_pair_brings_the_other(store: Store) -> None:
    record(store, "aa1", comparison="c", arm="baseline")
    record(store, "aa2", comparison="c", arm="speculative")
    for run_id in ("aa1", "aa2"):
        found = recorded(store, [run_id])
        assert found.shown == {"baseline": "aa1", "speculative": "aa2", "comparison": "c"}
        assert found.greedy
        assert found.main.run_id == "aa2"


def test_two_runs_of_different_prompts_stand_side_by_side_uncompared(store: Store) -> None:
    record(store, "aa1")
    record(store, "bb1")
    found = recorded(store, ["bb1", "aa1"])
    assert found.shown == {"baseline": "aa1", "speculative": "bb1"}
    assert not found.greedy
    assert "different prompts" in found.why_not
    with pytest.raises(PlaygroundError, match="same run twice"):
        recorded(store, ["aa1", "aa1"])
    with pytest.raises(PlaygroundError, match="no run"):
        recorded(store, ["nothing"])


def test_the_table_ignores_what_it_does_not_know(store: Store) -> None:
    for i in range(3):
        record(store, f"aa{i}")
    found = page_of(store, {"sort": "prompt; DROP TABLE runs", "offset": -5, "engine": 7, "nonsense": "x"})
    assert found["total"] == 3
    assert [row["run_id"] for row in found["rows"]] == ["aa2", "aa1", "aa0"]
    assert page_of(store, {"search": "aa1"})["total"] == 1


@pytest.mark.parametrize("ids", [None, [], "aa1", [1], ["x"] * 3000])
def test_a_selection_from_the_browser_is_checked(ids: Any) -> None:
    event = gr.EventData(None, {"ids": ids})
    with pytest.raises(PlaygroundError):
        selected(event)
