"""Recording and reading back: exactness, every way a run can end, failing disks, threads and other processes."""

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from playground.errors import PlaygroundError
from playground.events import Event, Heartbeat, Loading, Queued, RunFinished, RunStarted, Step, Token
from storage import RunInfo, Store, connections, recorder
from tests.runs import CONFIG, plain, recorded, stored, streams, texts


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "runs.db")
    yield store
    store.close()


@pytest.fixture(scope="module")
def shared() -> Iterator[Store]:
    """One store for all examples of a property: each takes a run id of its own."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "runs.db")
        yield store
        store.close()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(events=streams(), prompt=texts)
def test_what_was_recorded_is_replayed(shared: Store, events: list[Event], prompt: str) -> None:
    """Any valid run, hostile text, NUL, half characters, huge integers, NaN and infinities included."""
    run_id = f"run{shared.runs(limit=1).total}"
    passed = list(shared.record(RunInfo(run_id, CONFIG, prompt), iter(events)))
    assert same(passed, events)
    assert same(list(shared.replay(run_id)), events)
    assert shared.run(run_id).prompt == prompt


def same(some: list[Event], others: list[Event]) -> bool:
    """Equality in which NaN equals itself; 0.0 and -0.0 are equal as ever."""
    return some == others or repr(some).replace("-0.0", "0.0") == repr(others).replace("-0.0", "0.0")


def test_blocks_and_samples_are_replayed_in_order(store: Store) -> None:
    """A run longer than what is read at once, steps and samples interleaved."""
    events = plain(steps=1200)
    stored(store, "long", events)
    assert list(store.replay("long")) == events


def test_waiting_is_passed_on_but_not_recorded(store: Store) -> None:
    waiting: list[Event] = [Queued(1), Loading("weights", fraction=0.5), Heartbeat()]
    events = waiting + plain()
    stored(store, "run", events)
    assert list(store.replay("run")) == list(recorded(events)) == events[3:]


def test_the_row_is_there_before_the_first_event(store: Store) -> None:
    seen: list[str] = []

    def events() -> Iterator[Event]:
        seen.append(store.run("run").status)
        yield from plain()

    stream = store.record(RunInfo("run", CONFIG, "a prompt", "cli", "pair", "baseline"), events())
    next(stream)
    assert seen == ["running"]
    row = store.run("run")
    assert (row.prompt, row.source, row.comparison_id, row.arm) == ("a prompt", "cli", "pair", "baseline")
    assert row.config == CONFIG
    assert row.ended_at is None


def test_the_ending_is_stored_before_it_is_passed_on(store: Store) -> None:
    for event in store.record(RunInfo("run", CONFIG, ""), iter(plain())):
        if isinstance(event, RunFinished):
            row = store.run("run")
            assert (row.status, row.output, row.metrics["num_delivered"]) == ("length", "hello", 16)


def test_a_closed_consumer_cancels(store: Store) -> None:
    """CASES 26: the engine's stream is closed at once, the row says cancelled and keeps what came."""
    closed: list[str] = []

    def events() -> Iterator[Event]:
        try:
            yield from plain()
        finally:
            closed.append(store.run("run").status)

    stream = store.record(RunInfo("run", CONFIG, ""), events())
    came = [next(stream) for _ in range(4)]
    stream.close()  # type: ignore[attr-defined]
    assert closed == ["running"], "the engine stops first, then the end is written"
    row = store.run("run")
    assert (row.status, row.output, row.error) == ("cancelled", "a b b c", "")
    *replayed, end = store.replay("run")
    assert replayed == came
    assert end == RunFinished("cancelled", came[-1].at)  # type: ignore[union-attr]


def test_closing_after_the_end_changes_nothing(store: Store) -> None:
    stream = store.record(RunInfo("run", CONFIG, ""), iter(plain()))
    while not isinstance(next(stream), RunFinished):
        pass
    stream.close()  # type: ignore[attr-defined]
    assert store.run("run").status == "length"


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (PlaygroundError("The engine died.", "Restart it.", code="engine_died"), ("The engine died.", "Restart it.")),
        (ValueError("odd"), ("ValueError: odd", "")),
    ],
)
def test_an_exception_ends_the_run_with_its_words(store: Store, raised: Exception, told: tuple[str, str]) -> None:
    """CASES 29: what was recorded is there, the row says why it ended, the exception goes on its way."""

    def events() -> Iterator[Event]:
        yield from plain()[:3]
        raise raised

    with pytest.raises(type(raised)) as caught:
        list(store.record(RunInfo("run", CONFIG, ""), events()))
    assert caught.value is raised
    row = store.run("run")
    assert (row.status, row.error, row.hint) == ("error", *told)
    assert [type(event) for event in store.replay("run")] == [RunStarted, Step, Step, RunFinished]


def test_a_stream_that_just_stops_is_interrupted(store: Store) -> None:
    assert list(store.record(RunInfo("run", CONFIG, ""), iter(plain()[:-1]))) == plain()[:-1]
    assert store.run("run").status == "interrupted"


def test_a_run_id_is_used_once(store: Store) -> None:
    stored(store, "run", plain())
    with pytest.raises(PlaygroundError) as caught:
        next(store.record(RunInfo("run", CONFIG, ""), iter(plain())))
    assert caught.value.code == "run_exists"
    assert list(store.replay("run")) == plain()


def test_unknown_runs_are_named(store: Store) -> None:
    for ask in (store.run, store.replay, store.partner, lambda run_id: store.note(run_id, "x")):
        with pytest.raises(PlaygroundError, match="“nothing”") as caught:
            ask("nothing")
        assert caught.value.code == "no_such_run"
        assert caught.value.hint


def test_a_running_run_replays_without_an_end(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Flushed about once a second: what another reader sees of a run in progress."""
    monkeypatch.setattr(recorder, "FLUSH_SECONDS", 0.0)
    events = plain()
    stream = store.record(RunInfo("run", CONFIG, ""), iter(events))
    came = [next(stream) for _ in range(5)]
    assert list(store.replay("run")) == came
    assert store.run("run").status == "running"


def test_a_flush_is_not_every_step(store: Store) -> None:
    stream = store.record(RunInfo("run", CONFIG, ""), iter(plain()))
    for _ in range(5):
        next(stream)
    assert list(store.replay("run")) == []


# -- failing to write (CASES 29)


def fill_disk(store: Store, pages: int) -> None:
    """Let the database grow by no more than `pages` pages."""
    for db in store._pool._free:
        count = db.execute("PRAGMA page_count").fetchone()[0]
        db.execute(f"PRAGMA max_page_count = {count + pages}")


def test_a_full_disk_loses_nothing_recorded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """CASES 29: every event still reaches the page; then one clear error; what was flushed is there."""
    monkeypatch.setattr(recorder, "FLUSH_SECONDS", 0.0)
    events = plain(steps=300)
    fill_disk(store, 8)
    came: list[Event] = []
    stream = store.record(RunInfo("run", CONFIG, "p"), iter(events))
    with pytest.raises(PlaygroundError, match="full") as caught:
        came.extend(stream)
    assert came == events
    assert caught.value.code == "disk_full"
    assert caught.value.hint
    fill_disk(store, 1_000_000)
    kept = list(store.replay("run"))
    assert 50 < len(kept) < len(events)
    assert kept == events[: len(kept)]
    stored(store, "next", plain())


def test_a_full_disk_at_the_start_refuses_before_the_engine_works(store: Store) -> None:
    fill_disk(store, 0)
    asked: list[bool] = []

    def events() -> Iterator[Event]:
        asked.append(True)
        yield from plain()

    prompt = "long " * 5000
    with pytest.raises(PlaygroundError) as caught:
        list(store.record(RunInfo("run", CONFIG, prompt), events()))
    assert caught.value.code == "disk_full"
    assert not asked


def test_a_disk_with_room_again_gets_everything(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "FLUSH_SECONDS", 0.0)
    events = plain(steps=200)
    fill_disk(store, 5)
    stream = store.record(RunInfo("run", CONFIG, "p"), iter(events))
    for _ in range(300):
        next(stream)
    assert len(list(store.replay("run"))) < 300
    fill_disk(store, 1_000_000)
    list(stream)
    assert list(store.replay("run")) == events


def test_a_locked_database_is_waited_for(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """CASES 29: a lock in mid-run delays the writing, never the stream."""
    monkeypatch.setattr(recorder, "FLUSH_SECONDS", 0.0)
    monkeypatch.setattr(connections, "BRIEF_PATIENCE", 0.0)
    events = plain()
    stream = store.record(RunInfo("run", CONFIG, ""), iter(events))
    next(stream)
    with sqlite3.connect(store.path, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        for _ in range(5):
            next(stream)
        assert list(store.replay("run")) == events[:1]
        other.execute("ROLLBACK")
    list(stream)
    assert list(store.replay("run")) == events


def test_a_database_locked_to_the_end_is_one_error(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """CASES 29: the run reaches its consumer whole, the error says what to do, and the row is not lost."""
    monkeypatch.setattr(connections, "PATIENCE", 0.05)
    monkeypatch.setattr(connections, "BRIEF_PATIENCE", 0.0)
    events = plain()
    stream = store.record(RunInfo("run", CONFIG, ""), iter(events))
    came = [next(stream)]
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(PlaygroundError) as caught:
        came.extend(stream)
    other.close()
    assert came == events
    assert caught.value.code == "database_locked"
    assert caught.value.hint
    assert store.run("run").run_id == "run"


def test_a_failure_while_cancelling_does_not_raise(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "PATIENCE", 0.05)
    stream = store.record(RunInfo("run", CONFIG, ""), iter(plain()))
    next(stream)
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    stream.close()  # type: ignore[attr-defined]
    other.close()


def test_a_run_deleted_while_it_records_says_so(store: Store) -> None:
    stream = store.record(RunInfo("run", CONFIG, ""), iter(plain()))
    next(stream)
    with sqlite3.connect(store.path) as other:
        other.execute("DELETE FROM runs")
    stored(store, "other", plain())
    with pytest.raises(PlaygroundError) as caught:
        list(stream)
    assert caught.value.code == "run_deleted"
    assert list(store.replay("other")) == plain()


# -- opening (CASES 34)


def refused(path: Path) -> PlaygroundError:
    with pytest.raises(PlaygroundError) as caught:
        Store(path)
    assert caught.value.hint
    assert str(path) in caught.value.message or "newer" in caught.value.message
    return caught.value


def test_a_file_that_is_no_database_is_refused_and_kept(tmp_path: Path) -> None:
    """CASES 34."""
    path = tmp_path / "runs.db"
    path.write_text("These are my notes, not a database. " * 100)
    before = path.read_bytes()
    assert refused(path).code == "database_damaged"
    assert path.read_bytes() == before


def test_a_damaged_database_is_refused(tmp_path: Path) -> None:
    """CASES 34."""
    path = tmp_path / "runs.db"
    store = Store(path)
    stored(store, "run", plain())
    store.close()
    content = bytearray(path.read_bytes())
    content[100:4096] = os.urandom(3996)
    path.write_bytes(content)
    assert refused(path).code == "database_damaged"


@pytest.mark.parametrize("place", ["a-file/runs.db", "a-folder"])
def test_a_path_that_cannot_be_written_is_refused(tmp_path: Path, place: str) -> None:
    """CASES 34."""
    (tmp_path / "a-file").write_text("")
    (tmp_path / "a-folder").mkdir()
    error = refused(tmp_path / place)
    assert error.code == "unwritable"
    assert "DRAFTBOARD_DATABASE" in error.hint


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anything")
def test_a_read_only_database_is_refused(tmp_path: Path) -> None:
    """CASES 34."""
    path = tmp_path / "runs.db"
    Store(path).close()
    path.chmod(0o400)
    assert refused(path).code == "unwritable"


def test_a_write_to_a_read_only_file_is_told(tmp_path: Path) -> None:
    """CASES 34: what SQLite says of a file it may read but not write (root, who may write anything, included)."""
    path = tmp_path / "runs.db"
    Store(path).close()
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    with pytest.raises(sqlite3.Error) as caught:
        db.execute("DELETE FROM runs")
    db.close()
    error = connections.storage_error(path, caught.value)
    assert error.code == "unwritable"
    assert "DRAFTBOARD_DATABASE" in error.hint


def test_a_newer_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    Store(path).close()
    with sqlite3.connect(path) as db:
        db.execute("INSERT INTO _sqlite_migrations (migration_set, name) VALUES ('draftboard', 'm999_from_the_future')")
    assert refused(path).code == "newer_database"


def test_the_folder_is_made(tmp_path: Path) -> None:
    Store(tmp_path / "some" / "folder" / "runs.db").close()
    assert (tmp_path / "some" / "folder" / "runs.db").is_file()


def test_many_open_a_new_database_at_once(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with ThreadPoolExecutor(8) as pool:
        stores = list(pool.map(lambda _: Store(path), range(8)))
    assert [store.runs().total for store in stores] == [0] * 8


# -- several at once


def test_threads_record_and_read_at_once(store: Store) -> None:
    """CASES 30: histories of runs recorded at the same time do not mix."""
    lengths = {f"run{i}": 50 + i for i in range(8)}
    wrong: list[object] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            for row in store.runs(sort="tokens_per_second").rows:
                wrong.extend(event for event in store.replay(row.run_id) if isinstance(event, Heartbeat))

    reader = threading.Thread(target=read)
    reader.start()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda item: stored(store, item[0], plain(item[1], text=item[0])), lengths.items()))
    done.set()
    reader.join()
    assert not wrong
    for run_id, steps in lengths.items():
        assert list(store.replay(run_id)) == plain(steps, text=run_id)


def test_a_stream_may_be_pulled_from_changing_threads(store: Store) -> None:
    """The page's worker threads take turns at one generator."""
    events = plain()
    stream = store.record(RunInfo("run", CONFIG, ""), iter(events))
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as two:
        came = [(one, two)[i % 2].submit(next, stream).result() for i in range(len(events))]
        assert list(one.submit(list, stream).result()) == []
    assert came == events
    assert list(store.replay("run")) == events


_RECORD_FOREVER = """
import itertools, sys, time
from pathlib import Path
from playground.config import RunConfig
from playground.events import Heartbeat, RunStarted, Step, Token
from storage import RunInfo, Store, recorder

recorder.FLUSH_SECONDS = 0.01

def events():
    yield RunStarted((1, 2))
    for index in itertools.count():
        yield Step(index, index / 10, (Token(index, f" {index}", "target"),))
        time.sleep(0.005)

for event in Store(Path(sys.argv[1])).record(RunInfo("run", RunConfig(), "p"), events()):
    if isinstance(event, Step):
        print(event.index, flush=True)
"""


def test_kill_9_loses_nothing_that_was_flushed(tmp_path: Path) -> None:
    """CASES 29: a live process's run is left alone; once it is killed it is interrupted, all flushed steps there."""
    path = tmp_path / "runs.db"
    process = subprocess.Popen([sys.executable, "-c", _RECORD_FOREVER, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) == 60:
                break
        store = Store(path)
        assert store.run("run").status == "running"
        assert store.runs(status="running").total == 1
        with pytest.raises(PlaygroundError) as caught:
            store.delete(["run"])
        assert caught.value.code == "still_running"
        flushed = list(store.replay("run"))
        assert len(flushed) > 10
        store.close()
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    store = Store(path)
    row = store.run("run")
    assert row.status == "interrupted"
    assert row.error
    assert row.ended_at is not None
    *kept, end = store.replay("run")
    assert kept[: len(flushed)] == flushed
    assert [event.index for event in kept[1:]] == list(range(len(kept) - 1))  # type: ignore[union-attr]
    assert end == RunFinished("interrupted", kept[-1].at, error=row.error, hint=row.hint)  # type: ignore[union-attr]
    assert row.metrics["num_delivered"] == len(kept) - 1
    assert row.output == "".join(f" {i}" for i in range(len(kept) - 1))
    assert store.delete(["run"]) == 1


def test_a_death_is_noticed_while_the_store_is_open(store: Store) -> None:
    stream = store.record(RunInfo("run", CONFIG, ""), iter(plain()))
    next(stream)
    with sqlite3.connect(store.path) as db:
        # As if another process, now gone, with an id since given to this one, had recorded it.
        db.execute("UPDATE runs SET process_started = process_started - 100")
    assert [row.status for row in store.runs().rows] == ["interrupted"]
    list(stream)
    assert store.run("run").status == "length", "a recorder that was declared dead too early has the last word"
    assert list(store.replay("run")) == plain()


def test_the_text_of_an_ended_run_follows_its_tokens_where_the_engine_gave_none(store: Store) -> None:
    events = plain()
    events[-1] = replace(events[-1], text=None)  # type: ignore[type-var]
    stored(store, "run", events)
    assert store.run("run").output == "a" + " b b c" * 5
    assert list(store.replay("run")) == events


def test_a_stop_string_cut_inside_a_token_keeps_the_shown_text(store: Store) -> None:
    """CASES 12: the stored output is what was shown, not what the tokens join to."""
    events: list[Event] = [
        RunStarted((1,)),
        Step(0, 0.1, (Token(1, "Hel", "target"), Token(2, "lo. END", "target")), truncated="stop"),
        RunFinished("stop", 0.2, "Hello. "),
    ]
    stored(store, "run", events)
    assert store.run("run").output == "Hello. "
    assert store.runs(search="END").total == 0
