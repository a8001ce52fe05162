"""Python's own face: typed results that show themselves well, on canned streams."""

import os
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import psutil
import pytest

from playground import api
from playground.config import Preset, RunConfig, SamplingParams, Speculation
from playground.engines._script import ScriptedOptions
from playground.errors import PlaygroundError
from playground.events import Step, Token
from playground.notebook import comparison_html, run_html, tokens_html
from playground.overrides import with_overrides

FAST: dict[str, Any] = {"engine": "scripted", "pace": False, "load_seconds": 0.0, "max_tokens": 24}
ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def playground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[api.Playground]:
    with api.Playground(data=tmp_path_factory.mktemp("data")) as made:
        yield made


@pytest.fixture(scope="module")
def pair(playground: api.Playground) -> api.ComparisonOutput:
    return playground.compare("Hello <b>", **FAST)


def test_compare_returns_both_arms_and_the_verdict(pair: api.ComparisonOutput) -> None:
    assert pair.outputs_identical is True
    assert pair.speedup is not None
    assert pair.baseline.tpot is not None
    assert pair.speculative.tpot is not None
    assert pair.speedup == pytest.approx(pair.baseline.tpot / pair.speculative.tpot)
    assert pair.draft_acceptance_rate == pair.speculative.draft_acceptance_rate
    assert 0 < (pair.speculative.draft_acceptance_rate or 0) <= 1
    assert pair.baseline.config.speculation is None
    assert pair.baseline.text == pair.speculative.text
    assert pair.first_divergence is None
    assert pair.status == "length"


def test_results_show_themselves_in_a_line(pair: api.ComparisonOutput) -> None:
    """Each output carries its acceptance rate and its speed."""
    assert repr(pair).startswith("<comparison: ")
    assert "× faster, acceptance " in repr(pair)
    assert "outputs identical>" in repr(pair)
    assert "tok/s, acceptance " in repr(pair.speculative)
    assert "acceptance n/a" in repr(pair.baseline)
    assert "\n" not in repr(pair)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(html: str) -> _Reader:
    reader = _Reader()
    reader.feed(html)
    return reader


def test_notebooks_get_coloured_tokens_and_the_verdict(pair: api.ComparisonOutput) -> None:
    html = pair._repr_html_()
    assert repr(pair)[1:-1].split(",")[0] in html
    shown = [token for step in pair.speculative.steps for token in step.in_order]
    assert html.count("line-through") == 1 + sum(token.origin == "rejected" for token in shown), "and in the legend"
    assert pair.baseline.text in "".join(read(pair.baseline._repr_html_()).text)


def test_model_text_is_escaped() -> None:
    """CASES 27: markup, templates, quotes in titles."""
    hostile = '</span><script>alert(1)</script><b>"x" ${y} {{z}}\n'
    step = Step(1, 0.1, (Token(1, hostile, "accepted", 0.5),), (Token(2, hostile, "rejected"),), 2, 0)
    for html in (
        run_html([step], hostile, hostile),
        comparison_html([(hostile, [], hostile, hostile)], hostile),
        tokens_html([], hostile),
    ):
        assert set(read(html).tags) <= {"div", "span", "b"}
        assert "<script" not in html
        assert html.count("<b>") <= 2
    shown = "".join(read(tokens_html([step], "")).text)
    assert hostile in shown, "each word once, as it is"


def test_replay_gives_the_result_back(playground: api.Playground, pair: api.ComparisonOutput) -> None:
    assert pair.comparison_id is not None
    again = playground.replay(pair.comparison_id)
    assert isinstance(again, api.ComparisonOutput)
    assert again == pair
    alone = playground.replay(pair.speculative.run_id)
    assert alone == pair.speculative


def test_export_what_was_measured(playground: api.Playground, pair: api.ComparisonOutput, tmp_path: Path) -> None:
    done = playground.export(pair, out=tmp_path, name="measured")
    assert pair.speculative.run_id in done.files["measured.vllm.yaml"]
    assert {path.name for path in done.written} == done.files.keys()
    assert repr(done).startswith("<export to vllm: measured.vllm.yaml")
    assert set(read(done._repr_html_()).tags) <= {"div", "code", "ul", "li", "details", "summary", "pre"}
    capped = playground.export(pair.speculative, cap_max_tokens=True)
    assert "max_new_tokens: 24" in next(iter(capped.files.values()))
    assert playground.export("default", to="preset").files.keys() == {"default.yaml"}
    assert api.read_config(tmp_path / "measured.vllm.yaml").preset.config.target == "smollm2-135m"
    lossy = tmp_path / "lossy.yaml"
    lossy.write_text("model-path: a/b\nspeculative-algorithm: NEXTN\nspeculative-accept-threshold-acc: 0.2\n")
    with pytest.raises(PlaygroundError, match="changes the output"):
        api.read_config(lossy)
    assert "kept knowingly" in " ".join(api.read_config(lossy, keep_lossy=True).rewrites)


def test_presets_runs_and_overrides(playground: api.Playground, pair: api.ComparisonOutput) -> None:
    saved = playground.save_preset(pair, "mine")
    assert playground.presets()["mine"] == saved
    run = playground.run("Hi", "mine", method=None)
    assert run.config.speculation is None
    assert run.config.engine_options["pace"] is False
    found = playground.runs("Hello")
    assert (len(found), found.total) == (2, 2)
    assert found[0].run_id in found._repr_html_()
    assert repr(found) == "<2 of 2 runs>"
    config = RunConfig(engine="scripted", engine_options={"pace": False}, sampling=SamplingParams(max_tokens=5))
    assert playground.config(config) == config
    assert playground.config(Preset(name="x", config=config), temperature=0.5).sampling.temperature == 0.5


def test_events_can_be_followed_live(playground: api.Playground) -> None:
    seen: list[str] = []
    playground.run("Hi", on_event=lambda arm, event: seen.append(f"{arm} {type(event).__name__}"), **FAST)
    assert seen[-1] == "speculative RunFinished"
    assert "speculative Step" in seen


def test_problems_are_errors_with_a_hint(playground: api.Playground) -> None:
    with pytest.raises(PlaygroundError, match="cannot be loaded") as caught:
        playground.compare("Hi", **FAST, fail="load")
    assert (caught.value.code, bool(caught.value.hint)) == ("load", True)
    for overrides, message in (
        ({"temperatur": 1}, "no setting called “temperatur”"),
        ({"temperature": 9}, "less than or equal to 5"),
        ({"method": "draft_model", "prompt_lookup_max": 3}, "option of .*method ngram"),
        ({"method": None, "draft": "x"}, "Without a method there is no draft"),
    ):
        with pytest.raises(PlaygroundError, match=message):
            playground.run("Hi", **overrides)
    with pytest.raises(PlaygroundError, match="There is no run"):
        playground.replay("nope")
    assert playground.run("Hi", **FAST).status == "length", "and the next run works"


def test_an_option_of_engine_and_method_is_the_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    config = RunConfig(speculation=Speculation())
    assert with_overrides(config, {"engine_options": {"candidates": "3"}}).engine_options == {"candidates": 3}
    fields = {**ScriptedOptions.model_fields, "match": ScriptedOptions.model_fields["length"]}
    monkeypatch.setattr(ScriptedOptions, "__pydantic_fields__", fields)
    taken = with_overrides(config, {"engine": "scripted", "method_options": {"match": "most_recent"}}).speculation
    assert taken is not None
    assert taken.options == {"match": "most_recent"}
    with pytest.raises(PlaygroundError, match="options of the engine scripted: match"):
        with_overrides(config, {"engine": "scripted", "match": "earliest"})


def test_the_shared_playground_is_made_when_needed_and_closed_at_the_end(tmp_path: Path) -> None:
    """In a process of its own: importing opens nothing, leaving Python ends the engine's process."""
    code = (
        "import os, psutil\n"
        "from playground import api\n"
        f"assert not os.path.exists({str(tmp_path / 'runs.db')!r})\n"
        f"print(api.run('Hi', **{FAST!r}))\n"
        "print(len(api.runs()))\n"
        "print(*[child.pid for child in psutil.Process().children(recursive=True)])\n"
    )
    env = os.environ | {"DRAFTBOARD_DATA": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    shown, count, pids = done.stdout.strip().splitlines()
    assert shown.startswith("<run ")
    assert count == "1"
    assert pids
    assert not any(psutil.pid_exists(int(pid)) for pid in pids.split())


def test_another_engine_keeps_what_it_understands() -> None:
    spec = Speculation(options={"prompt_lookup_max": 3, "of_the_old_one": 1})
    config = RunConfig(engine_options={"candidates": 2}, speculation=spec)
    changed = with_overrides(config, {"engine": "scripted"})
    assert changed.engine_options == {}
    assert changed.speculation is not None
    assert changed.speculation.options == {"prompt_lookup_max": 3}
