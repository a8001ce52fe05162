"""Exported files: JSONL that brings the same run back, CSV for spreadsheets, and files that must not be believed."""

import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from playground.errors import PlaygroundError
from playground.events import Event
from storage import RunInfo, Store, exchange
from tests.runs import CONFIG, plain, stored, streams, texts


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "runs.db")
    yield store
    store.close()


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "other" / "runs.db")
    yield store
    store.close()


def test_a_file_brings_the_same_runs_back(store: Store, other: Store) -> None:
    events = plain()
    stored(store, "b", plain(k=0, a=0), config=CONFIG.baseline(), comparison_id="c", arm="baseline", source="cli")
    stored(store, "s", events, prompt="p\n2\u2028", comparison_id="c", arm="speculative")
    store.note("s", "keep this")
    lines = list(store.export_jsonl(["s", "b"]))
    assert all(line.endswith("\n") and line.count("\n") == 1 for line in lines)
    assert other.import_jsonl(lines) == ["s", "b"]
    assert list(other.replay("s")) == events
    for run_id in ("s", "b"):
        assert other.run(run_id) == store.run(run_id)
    assert other.partner("b") == "s"
    assert other.runs(search="ke").total == 1


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(events=streams(), prompt=texts)
def test_any_run_survives_the_round_trip(tmp_path_factory: Any, events: list[Event], prompt: str) -> None:
    """Exact, save that half a character, which no file can hold, becomes U+FFFD; strict JSON throughout."""
    folder = tmp_path_factory.mktemp("exchange")
    one, two = Store(folder / "one.db"), Store(folder / "two.db")
    list(one.record(RunInfo("run", CONFIG, prompt), iter(events)))
    (line,) = one.export_jsonl(["run"])
    assert json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    line.encode()
    assert two.import_jsonl([line]) == ["run"]
    (again,) = two.export_jsonl(["run"])
    assert exchange._unicode(json.loads(again)["events"]) == exchange._unicode(json.loads(line)["events"])
    assert two.import_jsonl([line]) == ["run"], "importing again changes nothing"
    assert two.runs().total == 1
    one.close()
    two.close()


def test_importing_again_leaves_what_is_there(store: Store) -> None:
    stored(store, "run", plain())
    lines = list(store.export_jsonl(["run"]))
    store.note("run", "mine")
    assert store.import_jsonl(lines) == ["run"]
    assert store.run("run").note == "mine"
    assert list(store.replay("run")) == plain()


def test_a_run_in_progress_is_exported_as_far_as_it_is(store: Store, other: Store) -> None:
    stream = store.record(RunInfo("run", CONFIG, "p"), iter(plain()))
    next(stream)
    other.import_jsonl(store.export_jsonl(["run"]))
    assert other.run("run").status == "interrupted"
    list(stream)


def test_a_windows_file_is_read(store: Store, other: Store) -> None:
    """CASES 32: line ends of Windows, a byte order mark, empty lines."""
    stored(store, "run", plain())
    (line,) = store.export_jsonl(["run"])
    assert other.import_jsonl(["\ufeff" + line.rstrip("\n") + "\r\n", "\r\n", ""]) == ["run"]


def test_unknown_runs_are_not_exported(store: Store) -> None:
    for export in (store.export_jsonl, store.export_csv):
        with pytest.raises(PlaygroundError) as caught:
            list(export(["nothing"]))
        assert caught.value.code == "no_such_run"


# -- what must not be believed


def changed(change: Callable[[dict[str, Any]], object]) -> Callable[[str], str]:
    def apply(line: str) -> str:
        data = json.loads(line)
        change(data)
        return json.dumps(data)

    return apply


def event(number: int, **fields: Any) -> Callable[[str], str]:
    return changed(lambda data: data["events"][number].update(fields))


BAD = {
    "no JSON": lambda line: line[:100],
    "deep": lambda _: "[" * 100_000,
    "a list": lambda _: "[1, 2]",
    "a number": lambda _: "1" * 10_000,
    "another format": changed(lambda data: data.update(format="something")),
    "another version": changed(lambda data: data.update(version=2)),
    "no run id": changed(lambda data: data.pop("run_id")),
    "a path as id": changed(lambda data: data.update(run_id="../../etc/passwd")),
    "markup as id": changed(lambda data: data.update(run_id="<script>")),
    "an empty id": changed(lambda data: data.update(run_id="")),
    "an unknown arm": changed(lambda data: data.update(arm="third")),
    "no time": changed(lambda data: data.update(started_at="yesterday")),
    "a bad setting": changed(lambda data: data["config"].update(temperature=1)),
    "a setting out of bounds": changed(lambda data: data["config"]["sampling"].update(temperature=-1)),
    "events no list": changed(lambda data: data.update(events={})),
    "an event no object": changed(lambda data: data["events"].insert(0, 3)),
    "an unknown event": event(1, type="Exec"),
    "a field of a wrong type": event(1, at="soon"),
    "tokens no list": event(1, tokens="abc"),
    "a token without text": event(1, tokens=[{"id": 1, "origin": "target"}]),
    "an unknown origin": event(1, tokens=[{"id": 1, "text": "", "origin": "magic"}]),
    "more accepted than drafted": event(2, num_accepted_tokens=9),
    "negative counts": event(2, num_draft_tokens=-1, num_accepted_tokens=-1),
    "a billion drafts": event(2, num_draft_tokens=10**9, num_accepted_tokens=10**9),
    "a step twice": changed(lambda data: data["events"].insert(3, data["events"][2])),
    "two starts": changed(lambda data: data["events"].insert(0, data["events"][0])),
    "events after the end": changed(lambda data: data["events"].append(data["events"][1])),
    "an unknown reason": event(-1, reason="boredom"),
}


@pytest.mark.parametrize("damage", BAD.values(), ids=BAD)
def test_a_bad_line_is_named_and_nothing_is_stored(store: Store, other: Store, damage: Callable[[str], str]) -> None:
    """CASES 32."""
    stored(store, "good", plain())
    stored(store, "bad", plain())
    good, bad = store.export_jsonl(["good", "bad"])
    with pytest.raises(PlaygroundError, match="Line 2") as caught:
        other.import_jsonl([good, damage(bad)])
    assert caught.value.code == "bad_import"
    assert caught.value.hint
    assert len(caught.value.message) < 500
    assert other.runs().total == 0


def test_an_overlong_line_is_refused(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """CASES 32."""
    monkeypatch.setattr(exchange, "MAX_LINE", 1000)
    with pytest.raises(PlaygroundError, match=r"Line 1 .*longer"):
        store.import_jsonl(['{"a": "' + "x" * 1000 + '"}'])


def test_another_run_with_a_stored_id_is_refused(store: Store, other: Store) -> None:
    stored(store, "run", plain())
    stored(other, "run", plain(steps=3))
    with pytest.raises(PlaygroundError, match="Line 1") as caught:
        other.import_jsonl(store.export_jsonl(["run"]))
    assert caught.value.code == "run_exists"
    assert list(other.replay("run")) == plain(steps=3)


def test_unknown_keys_are_for_newer_versions(store: Store, other: Store) -> None:
    stored(store, "run", plain())
    (line,) = store.export_jsonl(["run"])
    assert other.import_jsonl([changed(lambda data: data.update(novel=1))(line)]) == ["run"]


# -- CSV


def test_csv_has_a_row_a_run(store: Store) -> None:
    stored(store, "b", plain(k=0, a=0, tpot=0.2), config=CONFIG.baseline(), comparison_id="c", arm="baseline")
    stored(store, "s", plain(), prompt='say "hi",\nplease', comparison_id="c", arm="speculative")
    rows = list(csv.DictReader(io.StringIO("".join(store.export_csv(["b", "s"])))))
    assert tuple(rows[0]) == exchange.CSV_COLUMNS
    assert [row["run_id"] for row in rows] == ["b", "s"]
    assert rows[1]["prompt"] == 'say "hi",\nplease'
    assert float(rows[1]["speedup"]) == pytest.approx(2.0)
    assert rows[0]["draft_acceptance_rate"] == "", "what is n/a is empty, never 0"
    assert rows[1]["reconciled"] == "True"


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", '=HYPERLINK("http://x")'])
def test_csv_runs_no_formula(store: Store, text: str) -> None:
    """A prompt or output is a stranger's text; a spreadsheet must show it, not run it."""
    stored(store, "run", plain(text=text), prompt=text)
    (row,) = csv.DictReader(io.StringIO("".join(store.export_csv(["run"])), newline=""))
    assert row["prompt"] == row["output"] == f"'{text}"


def test_csv_holds_any_text(store: Store) -> None:
    stored(store, "run", plain(text="a\0b\ud800c"))
    "".join(store.export_csv(["run"])).encode()
