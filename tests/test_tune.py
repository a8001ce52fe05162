"""The tuner through the real runner and store: what it measures, what it recommends, and what that cost."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground import cli
from playground.bench.statistics import Interval
from playground.config import RunConfig, SamplingParams, Speculation
from playground.errors import PlaygroundError
from playground.events import Step, Token
from playground.presets import load_preset, save_preset
from playground.runner import Runner
from playground.settings import Settings
from playground.suites import Prompt, Suite
from playground.tune.halving import better_half, rungs, shortlist
from playground.tune.preset import SCHEDULE, preset_from_tuning
from playground.tune.report import schedule_of
from playground.tune.run import run, start, stored_plan, stored_report
from playground.tune.space import TunePlan, variants_of
from playground.tune.text import csv_text, headline, markdown
from playground.tune.times import StepTimes, step_walls, usual
from storage import Store
from tests.children import children
from tests.tiny import make_draft, make_model

FAST = {"load_seconds": 0, "prefill_seconds": 0.001, "pace": False, "length": 60}


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "runs.db")
    yield store
    store.close()


@pytest.fixture
def runner(settings, store):
    before = children()
    runner = Runner(settings, store)
    yield runner
    runner.close()
    assert children() <= before


def suite(count=12):
    prompts = (Prompt(id=f"p{i}", category="c", turns=(f"Prompt {i}.",)) for i in range(count))
    return Suite(name="test", prompts=tuple(prompts))


def plan(prompts=12, ks=(1, 2, 4, 8), temperature=0.0, **more):
    options = FAST | {
        k: more.pop(k) for k in ("acceptance", "draft_cost", "separate_baseline", "pace", "fail") if k in more
    }
    config = RunConfig(
        engine="scripted",
        engine_options=options,
        target="t",
        speculation=Speculation(method="draft_model", model="d"),
        sampling=SamplingParams(max_tokens=60, temperature=temperature),
    )
    variants = more.pop("variants", (config.speculation,))
    return TunePlan(config=config, suite=suite(prompts), variants=variants, ks=ks, **more)


def report_of(runner, store, **more):
    tune_id = start(store, plan(**more))
    last = list(run(runner, store, tune_id))[-1]
    assert last.finished
    return last.report


# ---------------------------------------------------------------- measured alone (no record of this engine's drafts)


def test_it_finds_the_fastest_k_and_not_the_best_acceptance(runner, store):
    """Acceptance is best at k = 1; with cheap and good drafts a long k is faster."""
    report = report_of(runner, store, acceptance=0.9, draft_cost=0.01, full_grid=True, finalists=8)
    assert report["recommended"]["num_speculative_tokens"] == 8
    assert report["reason_code"] == "faster"
    assert report["speedup"]["low"] > 1
    by_k = {p["num_speculative_tokens"]: p for p in report["curve"]}
    assert by_k[1]["draft_acceptance_rate"] > by_k[8]["draft_acceptance_rate"]
    assert report["grid"]["same"] is True
    assert report["cost"]["runs"] < report["cost"]["full_grid_runs"] + 20


def test_do_not_speculate(runner, store):
    """CASES 23: a draft as dear as its target."""
    report = report_of(runner, store, acceptance=0.7, draft_cost=1.0)
    assert report["recommended"] is None
    assert report["reason_code"] == "not_faster"
    assert headline(report) == "do not speculate"
    assert report["speedup"]["high"] < 1
    preset = preset_from_tuning(store, report["tune_id"], "none-here")
    assert preset.config.speculation is None


def test_few_prompts_recommend_nothing(runner, store):
    report = report_of(runner, store, prompts=3, acceptance=0.9, draft_cost=0.01)
    assert (report["recommended"], report["reason_code"]) == (None, "too_few")
    with pytest.raises(PlaygroundError, match="nothing to keep"):
        preset_from_tuning(store, report["tune_id"], "x")


def test_every_run_is_linked_and_short(runner, store):
    report = report_of(runner, store)
    links = store.benchmarks.links(report["tune_id"])
    assert {link.phase for link in links} == {"warm-up", "record", "confirm"}
    assert store.runs(source="tune").total == len(links)
    measured = [link for link in links if link.phase == "confirm"]
    by_item = {}
    for link in measured:
        by_item.setdefault(link.item, []).append(link.candidate)
    assert all(None in arms for arms in by_item.values())  # each prompt has its own baseline beside its candidates
    counts = [len(arms) for _, arms in sorted(by_item.items())]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] == 5
    assert counts[-1] == 2


def test_two_loads_go_in_passes(runner, store):
    report = report_of(runner, store, separate_baseline=True, one_load=False, ks=(2, 4))
    links = [link for link in store.benchmarks.links(report["tune_id"]) if link.phase == "confirm"]
    arms = [link.candidate for link in links]
    changes = sum(a != b for a, b in itertools.pairwise(arms))
    assert changes <= 4
    assert not any(link.cold for link in links)
    assert report["curve"]


def test_conditions_are_recommended_for_each(runner, store):
    report = report_of(runner, store, temperatures=(0.0, 0.8), acceptance=0.9, draft_cost=0.01, ks=(2, 6))
    assert [(c["temperature"], c["concurrency"]) for c in report["conditions"]] == [(0.0, 1), (0.8, 1)]
    assert all(c["recommended"] for c in report["conditions"])
    assert all(p["predicted"] is None for p in report["curve"])


def test_levels_rank_by_throughput(runner, store):
    report = report_of(
        runner, store, pace=True, levels=(1, 3), ks=(2, 6), acceptance=0.95, draft_cost=0.01, objective="throughput"
    )
    assert [c["concurrency"] for c in report["conditions"]] == [1, 3]
    assert report["conditions"][1]["speedup"]["n"] >= 2


def test_cancel_and_resume_make_the_same_decisions(runner, store):
    whole = report_of(runner, store, acceptance=0.8, draft_cost=0.05)
    tune_id = start(store, plan(acceptance=0.8, draft_cost=0.05))
    work = run(runner, store, tune_id)
    next(p for p in work if p.done >= 10)
    work.close()
    assert store.benchmarks.benchmark(tune_id).status == "cancelled"
    before = len(store.benchmarks.links(tune_id))
    report = list(run(runner, store, tune_id))[-1].report
    assert report["recommended"] == whole["recommended"]
    assert len(store.benchmarks.links(tune_id)) < before + len(store.benchmarks.links(whole["tune_id"]))
    assert stored_report(store, tune_id) == json.loads(json.dumps(report))


def test_failing_runs_end_it_with_their_own_words(runner, store):
    tune_id = start(store, plan(fail="load"))
    with pytest.raises(PlaygroundError, match="cannot be loaded"):
        list(run(runner, store, tune_id))
    assert store.benchmarks.benchmark(tune_id).status == "error"


def test_the_winner_becomes_a_preset_with_its_evidence(runner, store, settings):
    report = report_of(runner, store, acceptance=0.9, draft_cost=0.01)
    preset = preset_from_tuning(store, report["tune_id"], "tuned")
    save_preset(preset, settings)
    again = load_preset("tuned", settings)
    assert again.config.speculation.num_speculative_tokens == report["recommended"]["num_speculative_tokens"]
    assert again.evidence.metrics["speedup"] == pytest.approx(report["speedup"]["median"])
    assert again.evidence.metrics["tuning"] == report["tune_id"]
    assert again.evidence.run_ids
    assert "counterfactual" not in again.config.engine_options


def test_written_down(runner, store):
    report = report_of(runner, store)
    assert f"| draft\\_model | {report['curve'][0]['num_speculative_tokens']} |" in markdown(report)
    assert len(csv_text(report).strip().split("\r\n")) == 1 + len(report["curve"])


# ---------------------------------------------------------------- recorded and predicted (tiny models, embedded engine)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tune")
    target = make_model(folder / "models" / "target", num_hidden_layers=4)
    make_draft(folder / "models" / "near", target, noise=0.03)
    return folder


@pytest.mark.slow
def test_recorded_predictions_are_exact_and_cost_a_fraction(tiny, tmp_path):
    """Every measured run of the tuning has the very steps that were predicted for it; the draft is as large as its
    target, so the answer is not to speculate with it (CASES 23)."""
    settings, store = Settings(data=tiny), Store(tmp_path / "runs.db")
    runner = Runner(settings, store)
    try:
        config = RunConfig(
            target="target",
            dtype="float32",
            chat=False,
            speculation=Speculation(method="draft_model", model="near"),
            sampling=SamplingParams(max_tokens=40),
        )
        ngram = Speculation(options={"prompt_lookup_min": 1, "prompt_lookup_max": 3})
        made = TunePlan(
            config=config, suite=suite(12), variants=(config.speculation, ngram), ks=(1, 2, 3, 4, 6, 8), full_grid=True
        )
        report = list(run(runner, store, start(store, made)))[-1].report
    finally:
        runner.close()
        store.close()
    quality = report["prediction"]
    assert quality["runs_checked"] >= 50
    assert quality["runs_equal"] == quality["runs_checked"]
    assert all(p["exact"] and p["predicted"] for p in report["curve"])
    for point in report["curve"]:
        if point["measured"]:
            assert 0 < point["predicted_acceptance_rate"] <= 1
    assert report["cost"]["runs"] < report["cost"]["full_grid_runs"] / 1.5
    dear = [p for p in report["curve"] if p["method"] == "draft_model" and p["measured"]]
    assert all(p["measured"]["median"] < 1 for p in dear)


# ---------------------------------------------------------------- parts


def test_step_times_lie_on_the_line_between_known_widths():
    times = StepTimes([(2, 0.03)] * 5 + [(6, 0.05)] * 5 + [(4, 9.0)], baseline=0.02)
    assert times.at(0) == 0.02
    assert times.at(2) == pytest.approx(0.03)
    assert times.at(4) == pytest.approx(0.04)
    assert times.at(8) == pytest.approx(0.06)
    assert StepTimes([], 0.02).at(5) == 0.02
    assert not StepTimes([], 0.02).measured


def test_walls_are_from_step_to_step():
    token = (Token(1, "a", "target"),)
    steps = [Step(0, 0.5, token), Step(1, 0.7, token, num_draft_tokens=3), Step(2, 1.0, token)]
    assert step_walls(steps) == [(3, pytest.approx(0.2)), (0, pytest.approx(0.3))]
    assert usual([1.0] * 18 + [100.0, 0.0]) == 1.0
    assert usual([]) is None


@given(st.integers(1, 16), st.integers(1, 40))
def test_rungs_use_every_prompt_once(contestants, count):
    found = rungs(contestants, range(count))
    assert [item for rung in found for item in rung] == list(range(count))
    assert all(found)
    assert len(found) <= 5


def test_the_better_half_goes_on():
    assert better_half({1: 1.0, 2: 3.0, 3: 2.0, 4: None}, [1, 2, 3, 4]) == [2, 3]
    assert better_half({}, [7]) == [7]
    assert shortlist({0: 1.0, 1: 2.0, 2: None}, [0, 1, 2], 1) == [1, 2]


def test_variants_are_every_combination():
    found = variants_of(Speculation(), {"prompt_lookup_max": [3, 5], "match": ["earliest", "most_recent"]})
    assert len(found) == 4
    assert found[-1].options == {"prompt_lookup_max": 5, "match": "most_recent"}


def condition(level, k, candidate, pays=True):
    recommended = {"method": "ngram"} if pays else None
    return {
        "temperature": 0.0, "concurrency": level, "candidate": candidate, "recommended": recommended,
        "best_num_speculative_tokens": k,
    }  # fmt: skip


def test_a_schedule_where_the_best_k_changes_with_the_load():
    made = plan(ks=(1, 2, 4, 8), levels=(1, 4, 16, 64))
    found = schedule_of(made, [condition(1, 8, 3), condition(4, 8, 3), condition(16, 2, 1), condition(64, 1, 0, False)])
    assert found == [[1, 15, 8], [16, 16, 2]]
    assert schedule_of(made, [condition(1, 8, 3), condition(4, 8, 3)]) is None
    assert SCHEDULE == "num_speculative_tokens_per_batch_size"


def test_throughput_needs_a_level():
    with pytest.raises(ValueError, match="level above 1"):
        plan(objective="throughput")


def test_the_plan_is_read_back(store):
    made = plan(temperatures=(0.0, 0.5), levels=(1, 2))
    assert stored_plan(store, start(store, made)) == made
    embedded = made.model_copy(
        update={"config": made.config.model_copy(update={"engine": "embedded", "engine_options": {}})}
    )
    with pytest.raises(PlaygroundError, match="one request at a time"):
        start(store, embedded)
    assert Interval().as_dict()["n"] == 0


# ---------------------------------------------------------------- on the command line


def test_the_command_ends_with_one_json_object(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DRAFTBOARD_DATA", str(tmp_path))
    words = [
        "tune", "--engine", "scripted", "--no-pace", "--load-seconds", "0", "--max-tokens", "30", "--method",
        "draft_model", "--draft", "d", "--acceptance", "0.9", "--draft-cost", "0.01", "--ks", "2,6", "--limit", "12",
        "--save", "tuned", "--out", str(tmp_path / "tuning.md"), "--json",
    ]  # fmt: skip
    assert cli.main(words) == 0
    report = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    assert report["recommended"]["num_speculative_tokens"] in (2, 6)
    assert {"seconds", "full_grid_seconds"} <= set(report["cost"])
    assert {"num_speculative_tokens", "predicted", "measured"} <= set(report["curve"][0])
    assert report["saved"] == "tuned"
    assert (tmp_path / "tuning.md").read_text().startswith("# Tuning")
    assert cli.main(["tune", "--report", report["tune_id"], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["recommended"] == report["recommended"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--method", "none"), "nothing to tune"),
        (("--methods", "magic"), "no drafting method"),
        (("--ks", "0"), "ks"),
        (("--try", "prompt_lookup_max"), "no OPTION=A,B"),
        (("--temperatures", "warm"), "no number"),
        (("--objective", "throughput"), "level above 1"),
        (("--resume", "nothing"), "no benchmark"),
    ],
)
def test_refusals(tmp_path, monkeypatch, capsys, words, says):
    monkeypatch.setenv("DRAFTBOARD_DATA", str(tmp_path))
    assert cli.main(["tune", "--engine", "scripted", *words, "--json"]) == 2
    assert says in json.loads(capsys.readouterr().out.strip().splitlines()[-1])["error"]
