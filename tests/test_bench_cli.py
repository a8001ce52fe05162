"""`bench` on the command line: the JSON it ends with, files, resuming, and what it refuses."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from playground import cli
from playground.cli.suite import numbers, spoken_time
from playground.errors import PlaygroundError
from playground.metrics import METRICS
from tests.conftest import ROOT

SCRIPTED = (
    "--engine", "scripted", "--no-pace", "--load-seconds", "0", "--prefill-seconds", "0.001", "--max-tokens", "20",
)  # fmt: skip


@pytest.fixture
def shell(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DRAFTBOARD_DATA", str(tmp_path / "data"))

    def call(*words, code=0):
        got = cli.main(words)
        out, err = capsys.readouterr()
        assert got == code, err
        if "--json" not in words:
            return out
        assert len(out.strip().splitlines()) == 1, out
        return json.loads(out)

    return call


def test_it_ends_with_one_json_object(shell, tmp_path):
    files = [tmp_path / f"report{ending}" for ending in (".md", ".csv", ".json")]
    outs = [word for file in files for word in ("--out", str(file))]
    report = shell("bench", *SCRIPTED, "--limit", "6", "--threshold", "1.1", *outs, "--json")
    assert set(report["speedup"]) == set(report["aa"]) == {"median", "low", "high", "n"}
    assert report["verdict"] in ("PASS", "FAIL", "SLOWER", "INCONCLUSIVE")
    assert report["threshold"] == 1.1
    assert {name for name in METRICS if name != "expected_tokens_per_step"} <= set(report["metrics"])
    assert set(report["categories"]) == {"chat"}
    assert report["benchmark_id"]
    assert all(file.stat().st_size > 100 for file in files)
    assert json.loads(files[2].read_text()) == report
    again = shell("bench", "--report", report["benchmark_id"], "--json")
    assert again == report


def test_it_shows_a_table(shell):
    out = shell("bench", *SCRIPTED, "--sample", "8", "--no-aa")
    assert "A/A check: n/a. No A/A check was run" in out
    assert "chinese" in out
    assert "tokens/step" in out


def test_it_lists_and_forgets(shell):
    report = shell("bench", *SCRIPTED, "--limit", "1", "--no-aa", "--json")
    listed = shell("bench", "--list", "--json")
    assert [b["benchmark_id"] for b in listed["benchmarks"]] == [report["benchmark_id"]]
    assert "general" in [suite["name"] for suite in listed["suites"]]
    shell("bench", "--delete", report["benchmark_id"])
    assert shell("bench", "--list", "--json")["benchmarks"] == []


def test_own_files(shell, tmp_path):
    rows = [{"question_id": i, "category": "c", "turns": [f"One {i}", "Two"]} for i in range(2)]
    file = tmp_path / "mt.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    report = shell("bench", *SCRIPTED, "--suite", str(file), "--no-aa", "--json")
    assert [(r["id"], r["turn"]) for r in report["requests"]] == [("0", 0), ("0", 1), ("1", 0), ("1", 1)]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--suite", "nothing"), "no suite called"),
        (("--suite", "nothing.jsonl"), "cannot be read"),
        (("--category", "poetry"), "no category"),
        (("--method", "none"), "nothing to compare"),
        (("--threshold", "0"), "threshold"),
        (("--levels", "two"), "no list of numbers"),
        (("--out", "report.pdf"), "ending says nothing"),
        (("--resume", "nothing"), "no benchmark"),
        (("--report", "nothing"), "no benchmark"),
    ],
)
def test_refusals(shell, words, says):
    assert says in shell("bench", *SCRIPTED, *words, "--json", code=2)["error"]


def test_ctrl_c_keeps_what_is_done(tmp_path):
    environment = os.environ | {"DRAFTBOARD_DATA": str(tmp_path)}
    command = [sys.executable, "-m", "playground", "bench", "--engine", "scripted", "--load-seconds", "0"]
    command += ["--tokens-per-second", "200", "--max-tokens", "30", "--json"]
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while not (line := process.stderr.readline()).startswith(("1/", "2/", "3/", "6/")) and process.poll() is None:
        time.sleep(0)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, (line, err)
    report = json.loads(out.strip().splitlines()[-1])
    assert report["status"] == "cancelled"
    assert len(report["requests"]) >= 1


def test_numbers_and_times():
    assert numbers("1-3,8, 3", "--levels") == (1, 2, 3, 8)
    for text in ("", "a", "1-", "-1", "1-99999", "1,,2"):
        with pytest.raises(PlaygroundError):
            numbers(text, "--levels")
    assert [spoken_time(s) for s in (3.21, 45, 200, 7500)] == ["3.21 s", "45 s", "3 min", "2 h 5 min"]
