"""The Train tab's view: every state in both languages, strangers' words escaped; and what the form refuses."""

from pathlib import Path
from typing import Any

import pytest

from playground.errors import PlaygroundError
from playground.ui.train_tab import options_of
from playground.ui.train_view import duration, nothing_html, problem_html, status_html

FIGURES = [
    {"step": step, "acceptance": [0.1 + step / 1000, 0.05], "tokens_per_step": 1.1 + step / 1000}
    for step in (0, 100, 200)
]
REPORT: dict[str, Any] = {
    "predictions": [{"k": k, "tokens_per_step": 1 + k / 4, "speedup": 1 + (4 - k) / 20} for k in range(1, 9)],
    "best_k": 1,
    "hardware": "<b>CPU</b>",
    "answer_tokens": 12345,
    "exchanges": 67,
    "coverage": 0.985,
    "parameters": 9_800_000,
    "steps": 200,
    "training_seconds": 125.0,
}


def test_running_shows_stage_share_and_time_left() -> None:
    status = {
        "state": "running",
        "stage": "write",
        "done": 500,
        "total": 2000,
        "seconds_left": 90.0,
        "note": "<i>7</i>",
    }
    html = status_html(status, "/models/mine")
    assert '<progress max="2000" value="500">' in html
    assert "1 min 30 s" in html
    assert "Writing prompts and answers" in html
    assert "书写提示词与回答" in html
    assert "<i>7" not in html


def test_done_shows_the_report_and_the_curve() -> None:
    html = status_html({"state": "done", "report": REPORT, "history": FIGURES, "seconds": 4000}, "/models/mine")
    assert html.count("<svg") == 1
    assert html.count("<polyline") == 2
    assert html.count('class="t-best"') == 1
    assert "<b>CPU" not in html
    assert "12,345" in html


@pytest.mark.parametrize("state", ["failed", "cancelled"])
def test_other_endings(state: str) -> None:
    error = {"error": "It ${broke} <script>.", "hint": "Mend {{it}}.", "code": "x"}
    html = status_html({"state": state, "error": error, "history": FIGURES[:1]}, "/models/mine")
    assert "<script>" not in html
    assert "${" not in html
    assert "{{" not in html
    assert ("broke" in html) == (state == "failed")


def test_a_half_written_status_is_drawn() -> None:
    assert "db-train" in status_html({}, "x")
    assert "db-train" in problem_html(PlaygroundError("No.", "Yes."))
    assert "--out here" in nothing_html("train --out here")


def test_durations() -> None:
    assert [duration(s) for s in (5, 65, 700, 3700)] == ["5 s", "1 min 5 s", "11 min", "1 h 1 min"]


def test_the_form_is_judged_by_the_options() -> None:
    numbers = {"tokens": 5000, "max_length": 64, "draft_vocab_size": 100, "passes": 2.5}
    made = options_of("tiny", "0， 0.7", None, numbers)
    assert made.temperatures == (0.0, 0.7)
    assert (made.tokens, made.passes, made.prompts) == (5000, 2.5, None)
    assert options_of("tiny", "1", "/tmp/x.txt", numbers).prompts == Path("/tmp/x.txt")
    for target, temperatures, changed in (("", "0", {}), ("t", "hot", {}), ("t", "", {}), ("t", "0", {"tokens": 3})):
        with pytest.raises(PlaygroundError):
            options_of(target, temperatures, None, numbers | changed)
