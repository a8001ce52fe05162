"""Lists of runs: sorting, paging, filters, search, pairs, notes, deletion, and metrics cached by an older fold."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playground.comparison import Comparison
from playground.config import RunConfig, SamplingParams, Speculation
from playground.errors import PlaygroundError
from playground.events import Event, RunFinished
from playground.metrics import FOLD_VERSION, RunResult
from storage import RunInfo, Store, history, reader, search
from storage.writer import METRIC_COLUMNS
from tests.runs import CONFIG, plain, stored

BASELINE = CONFIG.baseline()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "runs.db")
    yield store
    store.close()


def ids(store: Store, **query: Any) -> list[str]:
    return [row.run_id for row in store.runs(**query).rows]


def pair(store: Store, name: str, baseline: list[Event], speculative: list[Event]) -> None:
    stored(store, f"{name}-b", baseline, config=BASELINE, comparison_id=name, arm="baseline")
    stored(store, f"{name}-s", speculative, comparison_id=name, arm="speculative")


def test_an_empty_history(store: Store) -> None:
    page = store.runs()
    assert (page.rows, page.total) == ((), 0)


def test_cached_metrics_are_the_folds(store: Store) -> None:
    """What lists show is what the fold gives for the same events."""
    for i, events in enumerate((plain(), plain(k=0, a=0), plain(steps=0), [RunFinished("error", 0.0, error="no")])):
        run_id = stored(store, f"run{i}", events)
        metrics = RunResult.of(events).metrics()
        for row in (store.run(run_id), store.runs(limit=1).rows[0]):
            for name in (*METRIC_COLUMNS, "status", "reconciled", "problems"):
                assert row.metrics[name] == metrics[name], name


def test_every_column_sorts_both_ways_with_what_is_missing_last(store: Store) -> None:
    stored(store, "fast", plain(tpot=0.1))
    stored(store, "slow", plain(tpot=0.2))
    stored(store, "failed", [RunFinished("error", 0.0, error="no")])
    assert ids(store, sort="tokens_per_second") == ["fast", "slow", "failed"]
    assert ids(store, sort="tokens_per_second", descending=False) == ["slow", "fast", "failed"]
    for sort in history.SORTS:
        assert sorted(ids(store, sort=sort)) == ["failed", "fast", "slow"]


def test_equal_rows_page_in_a_stable_order(store: Store) -> None:
    names = [stored(store, f"run{i}", plain()) for i in range(7)]
    for descending in (True, False):
        paged = [
            i for offset in (0, 3, 6) for i in ids(store, sort="target", limit=3, offset=offset, descending=descending)
        ]
        assert paged == (names[::-1] if descending else names)


def test_a_page_past_the_end_knows_the_total(store: Store) -> None:
    stored(store, "run", plain())
    page = store.runs(offset=50)
    assert (page.rows, page.total) == ((), 1)


@pytest.mark.parametrize("query", [{"limit": -1}, {"limit": 10**30}, {"offset": -5}, {"offset": 10**30}])
def test_odd_pages_are_bounded(store: Store, query: dict[str, int]) -> None:
    stored(store, "run", plain())
    assert store.runs(**query).total == 1  # type: ignore[arg-type]


def test_an_unknown_sort_names_those_there_are(store: Store) -> None:
    with pytest.raises(PlaygroundError, match="cannot be sorted") as caught:
        store.runs(sort="id; DROP TABLE runs")
    assert "tokens_per_second" in caught.value.hint


def test_filters(store: Store) -> None:
    ngram = stored(store, "ngram", plain(), source="cli")
    draft = RunConfig(target="other", speculation=Speculation(method="draft_model", model="small"))
    drafted = stored(store, "draft", plain(), config=draft)
    base = stored(store, "base", plain(k=0, a=0), config=BASELINE, comparison_id="c", arm="baseline")
    failed = stored(store, "failed", [RunFinished("error", 0.0, error="no")])
    assert ids(store, method="none") == [base]
    assert ids(store, method="ngram") == [failed, ngram]
    assert ids(store, target="other", method="draft_model") == [drafted]
    assert ids(store, status="error") == [failed]
    assert ids(store, source="cli") == [ngram]
    assert ids(store, arm="baseline") == ids(store, comparison_id="c") == [base]
    assert ids(store, engine="nothing") == []
    assert store.runs(search="prompt", method="ngram").total == 2


# -- search


def test_search_looks_into_every_text(store: Store) -> None:
    config = RunConfig(target="falcon", speculation=Speculation(method="draft_model", model="sparrow"))
    stored(store, "run", plain(text="The answer is 42"), prompt="What is the question?", config=config)
    stored(store, "other", plain(), prompt="nothing of it")
    store.note("run", "worth a look")
    for text in ("question", "ANSWER", "falc", "arrow", "draft_mod", "worth", "42", "run", "is the", "answer look"):
        assert ids(store, search=text) == ["run"], text
    for text in ("answer nothing", "questions", "worthy", "zz"):
        assert ids(store, search=text) == [], text


@pytest.mark.parametrize("text", ["推测解码", "推测", "解码", "码", "é", "É", "🐦", "ß"])
def test_search_in_any_script(store: Store, text: str) -> None:
    """Chinese words of one and two characters too, also at the end of a text."""
    stored(store, "run", plain(text="所谓推测解码"), prompt="Café 🐦 Straße")
    stored(store, "other", plain(), prompt="plain")
    assert ids(store, search=text) == ["run"]


@pytest.mark.parametrize(
    "text", ['"', "'", "%", "_", "*", '"a"', "a OR b", "NEAR(a b)", "-", "prompt:a", "\0", "\ud800", "(", "^"]
)
def test_search_has_no_syntax(store: Store, text: str) -> None:
    """Characters that mean something to SQL or FTS5 are looked for as they are."""
    config = RunConfig(target="target")
    stored(store, "with", plain(), prompt=f"x {text} y", config=config)
    stored(store, "without", plain(), prompt="c d", config=config)
    assert ids(store, search=text) == ["with"]


words = st.text(st.sampled_from("abAB测试é %_\"'*-."), min_size=1, max_size=5)


@settings(max_examples=60, deadline=None)
@given(texts=st.lists(words, min_size=1, max_size=4), search=words)
def test_search_is_substrings_of_words(tmp_path_factory: pytest.TempPathFactory, texts: list[str], search: str) -> None:
    """Found exactly where every word of the search is part of the prompt, whatever its length and case."""
    store = Store(tmp_path_factory.mktemp("search") / "runs.db")
    for i, text in enumerate(texts):
        stored(store, f"{i}{i}{i}", [RunFinished("stop", 0.0, "")], prompt=text, config=RunConfig(target="0"))
    # The other searched columns hold none of these characters, save for the method's.
    wanted = [
        f"{i}{i}{i}" for i, t in enumerate(texts) if all(w in t.lower() or w in "ngram" for w in search.lower().split())
    ]
    assert sorted(ids(store, search=search)) == wanted
    store.close()


def test_search_follows_changes(store: Store) -> None:
    stored(store, "run", plain(text="first output"))
    store.note("run", "remarkable xy")
    assert ids(store, search="remarkable") == ids(store, search="xy") == ["run"]
    store.note("run", "")
    assert ids(store, search="remarkable") == ids(store, search="xy") == []
    store.delete(["run"])
    assert ids(store, search="output") == ids(store, search="ou") == []


def test_a_long_search_is_no_trouble(store: Store) -> None:
    stored(store, "run", plain())
    assert ids(store, search="word " * 100_000) == []
    assert ids(store, search="prompt" + " " * search.MAX_SEARCH + "what is not there") == ["run"]


# -- pairs


def test_a_pairs_speedup(store: Store) -> None:
    """Unclamped, on the speculative run, equal to the fold's and to the view's."""
    pair(store, "faster", plain(k=0, a=0, tpot=0.2), plain(tpot=0.1))
    pair(store, "slower", plain(k=0, a=0, tpot=0.1), plain(tpot=0.2))
    stored(store, "alone", plain())
    assert ids(store, sort="speedup")[:2] == ["faster-s", "slower-s"]
    arms = {arm: RunResult.of(store.replay(run_id)) for arm, run_id in store.comparison("slower").items()}
    assert store.run("slower-s").metrics["speedup"] == pytest.approx(0.5)
    assert store.run("slower-s").metrics["speedup"] == Comparison(**arms).speedup
    assert store.run("slower-b").metrics["speedup"] is None
    assert store.run("alone").metrics["speedup"] is None
    with sqlite3.connect(store.path) as db:
        seen = dict(db.execute("SELECT speculative_run_id, speedup FROM comparisons").fetchall())
    assert seen == {name: store.run(name).metrics["speedup"] for name in ("faster-s", "slower-s")}


def invalid(events: list[Event]) -> list[Event]:
    return [*events[:-1], RunFinished("length", 9.0, "x", usage_completion_tokens=1)]


@pytest.mark.parametrize("which", ["baseline", "speculative"])
@pytest.mark.parametrize("wrong", [invalid, lambda events: [*events[:-1], RunFinished("cancelled", 9.0)]])
def test_what_does_not_reconcile_or_was_cancelled_is_not_ranked(store: Store, which: str, wrong: Any) -> None:
    arms = {"baseline": plain(k=0, a=0), "speculative": plain()}
    arms[which] = wrong(arms[which])
    pair(store, "pair", arms["baseline"], arms["speculative"])
    assert store.run("pair-s").metrics["speedup"] is None
    with sqlite3.connect(store.path) as db:
        assert db.execute("SELECT speedup FROM comparisons").fetchall() == [(None,)]


def test_partners(store: Store) -> None:
    pair(store, "pair", plain(k=0, a=0), plain())
    stored(store, "alone", plain())
    stored(store, "half", plain(), comparison_id="half", arm="speculative")
    assert store.comparison("pair") == {"baseline": "pair-b", "speculative": "pair-s"}
    assert store.partner("pair-b") == "pair-s"
    assert store.partner("pair-s") == "pair-b"
    assert store.partner("alone") is None
    assert store.partner("half") is None
    assert store.comparison("nothing") == {}


def test_a_comparison_tried_again_is_its_newest_runs(store: Store) -> None:
    pair(store, "pair", plain(k=0, a=0, tpot=0.1), plain(tpot=0.1))
    stored(store, "again", plain(k=0, a=0, tpot=0.3), config=BASELINE, comparison_id="pair", arm="baseline")
    assert store.comparison("pair") == {"baseline": "again", "speculative": "pair-s"}
    assert store.run("pair-s").metrics["speedup"] == pytest.approx(3.0)
    with sqlite3.connect(store.path) as db:
        assert db.execute("SELECT baseline_run_id FROM comparisons").fetchall() == [("again",)]


# -- notes, deletion, rows


def test_deleting_takes_everything_of_a_run(store: Store) -> None:
    stored(store, "run", plain())
    stored(store, "kept", plain())
    assert store.delete(["run", "nothing", "run"]) == 1
    assert ids(store) == ["kept"]
    with sqlite3.connect(store.path) as db:
        for table in ("steps", "samples"):
            assert db.execute(f"SELECT count(DISTINCT run) FROM {table}").fetchone() == (1,)
        for index in ("runs_fts_docsize", "runs_short_docsize"):
            assert db.execute(f"SELECT count(*) FROM {index}").fetchone() == (1,)
    assert list(store.replay("kept")) == plain()


def test_lists_hold_excerpts_and_runs_the_whole(store: Store) -> None:
    prompt = "p" * 5000
    stored(store, "run", plain(text="o" * 5000), prompt=prompt)
    row = store.runs().rows[0]
    assert (row.prompt, row.output) == (prompt[: history.EXCERPT], "o" * history.EXCERPT)
    assert (store.run("run").prompt, store.run("run").output) == (prompt, "o" * 5000)


def test_a_row_knows_its_config(store: Store) -> None:
    config = RunConfig(sampling=SamplingParams(temperature=0.7, stop=("a", "b"), seed=2**62), system_prompt="be brief")
    stored(store, "run", plain(), config=config)
    row = store.runs().rows[0]
    assert row.config == config
    assert (row.temperature, row.method, row.num_speculative_tokens) == (0.7, "ngram", 5)
    assert row.environment == {"device": "cpu"}


def test_a_config_of_another_version_does_not_hide_the_history(store: Store) -> None:
    stored(store, "run", plain())
    with sqlite3.connect(store.path) as db:
        db.execute("""UPDATE runs SET config = '{"engine": "embedded", "retired_setting": 1}'""")
    row = store.runs().rows[0]
    with pytest.raises(PlaygroundError, match="retired_setting"):
        _ = row.config


# -- metrics of an older fold


def make_old(store: Store) -> None:
    """As if an older version had cached the metrics, and had them wrong."""
    with sqlite3.connect(store.path) as db:
        db.execute("UPDATE runs SET fold_version = ?, tpot = 99, reconciled = 0", [FOLD_VERSION - 1])


def test_metrics_of_an_older_fold_are_taken_anew(store: Store) -> None:
    stored(store, "run", plain())
    tpot = RunResult.of(plain()).tpot
    for read in (lambda: store.run("run"), lambda: store.runs().rows[0]):
        make_old(store)
        row = read()
        assert row.metrics["tpot"] == tpot
        assert row.metrics["reconciled"] is True
    make_old(store)
    assert store.refresh() == 1
    assert store.refresh() == 0


def test_a_database_that_cannot_be_written_is_still_read(store: Store) -> None:
    """CASES 29: a lock or a full disk must not close the history, where old runs could be deleted."""
    stored(store, "old", plain())
    stream = store.record(RunInfo("dead", CONFIG, ""), iter(plain()))
    next(stream)
    make_old(store)
    with sqlite3.connect(store.path, isolation_level=None) as other:
        other.execute("UPDATE runs SET process_started = 0")
        other.execute("BEGIN IMMEDIATE")
        assert [row.status for row in store.runs().rows] == ["running", "length"]
        assert store.run("old").metrics["tpot"] == 99
        assert list(store.replay("old")) == plain()
        other.execute("ROLLBACK")
    assert [row.status for row in store.runs().rows] == ["interrupted", "length"]
    assert store.run("old").metrics["tpot"] != 99


def test_lists_read_no_steps(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(store, "run", plain())

    def replay(*_: object) -> None:
        raise AssertionError("a list read the steps")

    monkeypatch.setattr(reader, "replay", replay)
    assert store.runs(sort="speedup", search="prompt").total == 1
    assert store.run("run").metrics["num_steps"] == 5


def test_lists_are_read_from_one_index(store: Store) -> None:
    """However long the texts of runs are, sorting and filtering never touches them."""
    with sqlite3.connect(store.path) as db:
        for name, expression in history.SORTS.items():
            plan = db.execute(
                f"EXPLAIN QUERY PLAN SELECT r.id, {expression} FROM runs r WHERE r.method = 'a' AND r.target = 'b'"
            ).fetchall()
            reads = [detail for *_, detail in plan if " r " in f"{detail} " or " b " in f"{detail} "]
            assert reads, name
            assert all("COVERING INDEX" in detail for detail in reads), (name, plan)


def test_a_run_in_progress_is_listed(store: Store) -> None:
    stream = store.record(RunInfo("run", CONFIG, ""), iter(plain()))
    next(stream)
    row = store.runs().rows[0]
    assert (row.status, row.metrics["tpot"], row.metrics["reconciled"]) == ("running", None, None)
    list(stream)
