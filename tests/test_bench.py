"""Benchmarks through the real runner and store, on the scripted engine: order, pairs, verdicts, cancel and resume."""

import json
import re
import threading

import pytest

from playground.bench.plan import BenchPlan
from playground.bench.run import run, start, stored_plan, stored_report
from playground.bench.text import csv_text, headline, json_text, markdown
from playground.config import RunConfig, SamplingParams, Speculation
from playground.errors import PlaygroundError
from playground.runner import Runner
from playground.suites import Prompt, Suite
from storage import Store
from tests.children import children

FAST = {"load_seconds": 0, "prefill_seconds": 0.001, "pace": False, "length": 30}
HOSTILE = "<script>alert(1)</script> | `x` ${x} {{x}} [a](javascript:x)"


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


def config(k=4, method="ngram", temperature=0.0, model=None, **options):
    return RunConfig(
        engine="scripted",
        engine_options=FAST | options,
        target="t",
        speculation=Speculation(method=method, num_speculative_tokens=k, model=model),
        sampling=SamplingParams(max_tokens=40, temperature=temperature),
    )


def suite(count=8, turns=1):
    prompts = (
        Prompt(id=f"p{i}", category="even" if i % 2 == 0 else "odd", turns=(f"Prompt {i}.",) * turns)
        for i in range(count)
    )
    return Suite(name="test", prompts=tuple(prompts))


def plan(runner=None, prompts=None, chosen=None, **more):
    chosen = chosen or config()
    one_load = runner.one_load(chosen) if runner else True
    return BenchPlan(config=chosen, suite=prompts or suite(), one_load=one_load, **more)


def report_of(runner, store, **more):
    """The last report of a whole benchmark."""
    benchmark_id = start(store, plan(runner, **more))
    last = list(run(runner, store, benchmark_id))[-1]
    assert last.finished
    return last.report


def test_a_whole_benchmark(runner, store):
    report = report_of(runner, store)
    assert report["status"] == "done"
    assert report["speedup"]["n"] == report["num_prompts"] == 8
    assert report["speedup"]["low"] <= report["speedup"]["median"] <= report["speedup"]["high"]
    assert report["aa"] == {"median": 1.0, "low": 1.0, "high": 1.0, "n": 8}
    assert report["trusted"] is True
    assert set(report["categories"]) == {"even", "odd"}
    assert report["categories"]["odd"]["speedup"]["n"] == 4
    assert report["outputs"]["identical"] == 8
    metrics = report["metrics"]
    assert 0 < metrics["draft_acceptance_rate"] < 1
    assert metrics["tokens_per_step"] > 1
    assert metrics["ttft_p50"] <= metrics["ttft_p99"]
    assert report["baseline"]["draft_acceptance_rate"] is None
    assert json.loads(json_text(report)) == report


def test_the_speedup_is_the_paired_one(runner, store):
    """Without the overhead of a real machine, the scripted engine's times give it exactly."""
    report = report_of(runner, store, prompts=suite(6))
    for request in report["requests"]:
        assert request["speedup"] == pytest.approx(request["baseline_tpot"] / request["tpot"])
        assert request["predicted_speedup"] == pytest.approx(request["speedup"], rel=0.05)
        found = store.runs(comparison_id=f"{report['benchmark_id']}-{request['item']}-0-0").rows
        assert sorted(row.arm for row in found) == ["baseline", "speculative"]
        assert next(r for r in found if r.arm == "speculative").metrics["speedup"] == pytest.approx(request["speedup"])


def test_every_run_is_stored_and_linked(runner, store):
    report = report_of(runner, store)
    links = store.benchmarks.links(report["benchmark_id"])
    assert len(links) == 2 + 3 * 8
    assert {link.phase for link in links} == {"warm-up", "measure"}
    assert [link.arm for link in links[2:8]] == [
        "baseline", "speculative", "again", "again", "speculative", "baseline",
    ]  # fmt: skip
    assert store.runs(source="bench").total == len(links)
    assert all(store.run(link.run_id).status in ("stop", "length") for link in links)


def test_the_report_made_from_the_store_is_the_one_that_was_shown(runner, store):
    report = report_of(runner, store, prompts=suite(6, turns=2))
    again = stored_report(store, report["benchmark_id"])
    assert again == report
    assert store.benchmarks.benchmark(report["benchmark_id"]).report == json.loads(json.dumps(report))


def test_warm_ups_and_cold_runs_are_in_no_figure(runner, store):
    """CASES 25."""
    report = report_of(runner, store, prompts=suite(2), check=False)
    ids = {i for r in report["requests"] for arm in r["run_ids"].values() for i in arm}
    links = store.benchmarks.links(report["benchmark_id"])
    warm = [link for link in links if link.phase == "warm-up"]
    assert [link.arm for link in warm] == ["baseline", "speculative"]
    assert warm[0].cold
    assert not ids & {link.run_id for link in warm}


def test_a_load_in_between_is_noticed_and_the_group_run_again(runner, store):
    benchmark_id = start(store, plan(runner, prompts=suite(2), check=False))
    work = run(runner, store, benchmark_id)
    next(p for p in work if p.done == 2)
    list(runner.start_run(config().model_copy(update={"target": "another"}), "x"))
    report = list(work)[-1].report
    links = [link for link in store.benchmarks.links(benchmark_id) if link.item == 1]
    assert [(link.arm, link.cold) for link in links] == [
        ("speculative", True), ("baseline", False), ("speculative", False), ("baseline", False),
    ]  # fmt: skip
    assert report["speedup"]["n"] == 2


def test_a_disturbed_group_is_run_again_though_not_without_end(runner, store):
    """Other programs ran meanwhile."""
    chosen = config(processor_wait=0.4)
    report = report_of(runner, store, prompts=suite(20), chosen=chosen, check=False)
    links = [link for link in store.benchmarks.links(report["benchmark_id"]) if link.phase == "measure"]
    assert [link.item for link in links[:20:2]] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]  # each group twice, five times
    assert len(links) == 2 * (20 + 5)
    assert (report["num_disturbed"], report["num_runs"]) == (40, 40)
    assert "during 40 of 40 measured runs" in markdown(report)
    quiet = report_of(runner, store, prompts=suite(2), chosen=config(processor_wait=0.01), check=False)
    assert quiet["num_disturbed"] == 0
    assert "held the processor" not in markdown(quiet)


def test_conversations(runner, store):
    """The second turn is asked after the baseline's answer to the first, in both arms."""
    report = report_of(runner, store, prompts=suite(2, turns=2))
    assert [(r["item"], r["turn"]) for r in report["requests"]] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    second = report["requests"][1]
    first = store.run(report["requests"][0]["run_ids"]["baseline"][0])
    for arm in ("baseline", "speculative"):
        row = store.run(second["run_ids"][arm][0])
        assert [(m.role, m.content) for m in row.config.history] == [
            ("user", "Prompt 0."), ("assistant", first.output),
        ]  # fmt: skip
        assert row.metrics["num_prompt_tokens"] > first.metrics["num_prompt_tokens"]


def test_two_loads_run_in_passes_and_say_so(runner, store):
    report = report_of(runner, store, chosen=config(separate_baseline=True), prompts=suite(6))
    assert report["order"] == "passes"
    links = [link for link in store.benchmarks.links(report["benchmark_id"]) if link.phase == "measure"]
    assert [link.arm for link in links] == ["baseline"] * 6 + ["speculative"] * 6 + ["again"] * 6
    assert report["speedup"]["n"] == 6
    assert not any(link.cold for link in links)


def test_repeats_are_averaged(runner, store):
    report = report_of(runner, store, prompts=suite(6), repeats=2)
    assert report["speedup"]["n"] == 6
    assert all(len(r["run_ids"]["speculative"]) == 2 and len(r["run_ids"]["baseline"]) == 4 for r in report["requests"])
    assert sum(report["outputs"].values()) == 12


# ---------------------------------------------------------------- verdicts


def test_a_draft_that_costs_more_than_it_saves_is_slower(runner, store):
    """CASES 23: shown as it is."""
    slow = config(method="draft_model", model="d", draft_cost=1.0, acceptance=0.9)
    report = report_of(runner, store, chosen=slow)
    assert report["verdict"] == "SLOWER"
    assert report["speedup"]["high"] < 1
    assert report["metrics"]["speedup"] < 1


def test_pass_fail_and_no_drafts(runner, store):
    good = config(acceptance=0.98, draft_cost=0.0)
    assert report_of(runner, store, chosen=good)["verdict"] == "PASS"
    assert report_of(runner, store, chosen=good, threshold=50.0)["verdict"] == "FAIL"
    nothing = report_of(runner, store, chosen=config(no_draft=1.0))
    assert nothing["verdict"] == "NO DRAFTS"
    assert nothing["metrics"]["draft_acceptance_rate"] is None


def test_a_real_mismatch_is_invalid_and_a_tie_is_not(runner, store):
    wrong = report_of(runner, store, chosen=config(diverge_at=5, divergence="mismatch"))
    assert wrong["verdict"] == "INVALID"
    assert wrong["outputs"]["mismatch"] == 8
    assert wrong["requests"][0]["divergence"]["position"] == 5
    tie = report_of(runner, store, chosen=config(diverge_at=5, divergence="tie"))
    assert tie["outputs"]["tie"] == 8
    assert tie["verdict"] != "INVALID"


def test_counters_that_do_not_reconcile_are_invalid(runner, store):
    assert report_of(runner, store, chosen=config(miscount=True))["verdict"] == "INVALID"


def test_too_few_prompts_prove_nothing(runner, store):
    report = report_of(runner, store, prompts=suite(3))
    assert report["verdict"] == "INCONCLUSIVE"
    assert report["speedup"]["median"] is not None
    assert report["speedup"]["low"] is None
    assert report["trusted"] is False


def test_without_an_aa_check_nothing_is_trusted(runner, store):
    report = report_of(runner, store, check=False)
    assert (report["trusted"], report["trusted_code"]) == (False, "not_run")
    assert "not known" in markdown(report)


def test_samples_are_not_compared(runner, store):
    assert report_of(runner, store, chosen=config(temperature=0.8))["outputs"]["not compared"] == 8


def test_one_word_replies_keep_their_ratios(runner, store):
    """CASES 24."""
    report = report_of(runner, store, chosen=config(k=7, length=1))
    assert report["verdict"] != "INVALID"
    assert all(0 <= (r["draft_acceptance_rate"] or 0) <= 1 and r["flags"] for r in report["requests"])


# ---------------------------------------------------------------- endings


def test_cancel_keeps_what_is_done_and_resume_runs_the_rest(runner, store):
    benchmark_id = start(store, plan(runner))
    work = run(runner, store, benchmark_id)
    next(p for p in work if p.done >= 6)
    work.close()
    row = store.benchmarks.benchmark(benchmark_id)
    assert row.status == "cancelled"
    assert len(row.report["requests"]) == 2
    before = {link.run_id for link in store.benchmarks.links(benchmark_id)}
    last = list(run(runner, store, benchmark_id))[-1]
    assert last.report["speedup"]["n"] == 8
    assert last.done == last.total == 24
    new = [link for link in store.benchmarks.links(benchmark_id) if link.run_id not in before]
    assert len(new) == 2 + 6 * 3
    assert store.benchmarks.benchmark(benchmark_id).status == "done"


def test_cancel_in_the_middle_of_a_run(runner, store):
    slow = config(pace=True, length=4000, tokens_per_second=50)
    benchmark_id = start(store, plan(runner, chosen=slow))
    work = run(runner, store, benchmark_id)
    running = (p for p in work if p.now == "p0" and runner.status().state == "running")
    assert next(running).done == 0
    work.close()
    assert runner.status().state == "idle"
    states = [store.run(link.run_id).status for link in store.benchmarks.links(benchmark_id)]
    assert states == ["length", "length", "cancelled"] + ["cancelled"] * (len(states) - 3)
    assert store.benchmarks.benchmark(benchmark_id).status == "cancelled"


def test_a_benchmark_whose_process_died_is_interrupted_and_resumes(runner, store):
    benchmark_id = start(store, plan(runner, prompts=suite(2)))
    with store._pool.writing() as db:
        db.execute("UPDATE benchmarks SET status = 'running', process_id = 999999999, process_started = 1.0")
    assert store.benchmarks.benchmark(benchmark_id).status == "interrupted"
    assert list(run(runner, store, benchmark_id))[-1].report["status"] == "done"


def test_a_running_one_is_not_run_twice(runner, store):
    benchmark_id = start(store, plan(runner))
    work = run(runner, store, benchmark_id)
    next(work)
    with pytest.raises(PlaygroundError, match="is running"):
        next(run(runner, store, benchmark_id))
    with pytest.raises(PlaygroundError, match="Stop it first"):
        store.benchmarks.delete(benchmark_id)
    work.close()


@pytest.mark.parametrize(("failure", "says"), [("load", "cannot be loaded"), ("mid_run", "failed half-way")])
def test_failing_runs_end_it_with_their_own_words(runner, store, failure, says):
    benchmark_id = start(store, plan(runner, chosen=config(fail=failure)))
    with pytest.raises(PlaygroundError, match=says):
        list(run(runner, store, benchmark_id))
    row = store.benchmarks.benchmark(benchmark_id)
    assert row.status == "error"
    assert says in row.error


def test_deleted_runs_are_forgotten(runner, store):
    report = report_of(runner, store, prompts=suite(2))
    gone = report["requests"][0]["run_ids"]["speculative"]
    store.delete(gone)
    assert [r["item"] for r in stored_report(store, report["benchmark_id"])["requests"]] == [1]
    store.benchmarks.delete(report["benchmark_id"])
    assert store.benchmarks.listed() == []
    assert store.runs(source="bench").total == 7


def test_what_others_run_in_between_waits_its_turn(runner, store):
    benchmark_id = start(store, plan(runner, prompts=suite(6)))
    done = []
    other = threading.Thread(target=lambda: done.extend(runner.start_run(config(), "hello")))
    work = run(runner, store, benchmark_id)
    next(work)
    other.start()
    report = list(work)[-1].report
    other.join()
    assert report["speedup"]["n"] == 6
    assert done


# ---------------------------------------------------------------- concurrency


def test_levels_measure_throughput_in_paired_waves(runner, store):
    paced = config(pace=True, tokens_per_second=2000.0, length=20)
    report = report_of(runner, store, chosen=paced, prompts=suite(3), check=False, levels=(1, 4))
    one, four = report["levels"]["levels"]
    assert (one["level"], four["level"]) == (1, 4)
    assert four["baseline_tokens_per_second"] > one["baseline_tokens_per_second"]
    assert four["speedup"]["n"] == 6
    links = [link for link in store.benchmarks.links(report["benchmark_id"]) if link.phase == "load"]
    assert all(link.wall_seconds for link in links)
    assert "several requests at once" in markdown(report)


def test_levels_need_an_engine_that_serves_several(store):
    embedded = config().model_copy(update={"engine": "embedded", "engine_options": {}})
    with pytest.raises(PlaygroundError, match="one request at a time"):
        start(store, plan(chosen=embedded, levels=(1, 2)))


def test_a_wave_is_cancelled_whole(runner, store):
    slow = config(pace=True, length=4000, tokens_per_second=50)
    from playground.runner import new_id
    from storage import RunInfo

    infos = [RunInfo(new_id(), slow, "x", "bench") for _ in range(3)]
    job = runner.start_batch(infos, together=True)
    seen = set()
    for run_id, event in job:
        seen.add((run_id, type(event).__name__))
        if len({i for i, kind in seen if kind == "Step"}) == 3:
            break
    job.close()
    assert {store.run(info.run_id).status for info in infos} == {"cancelled"}
    assert runner.status().state == "idle"


def test_a_wave_whose_engine_cannot_load_fails_in_every_run(runner, store):
    from playground.runner import new_id
    from storage import RunInfo

    infos = [RunInfo(new_id(), config(fail="load"), "x", "bench") for _ in range(2)]
    list(runner.start_batch(infos, together=True))
    assert [store.run(info.run_id).status for info in infos] == ["error", "error"]
    assert "cannot be loaded" in store.run(infos[0].run_id).error


# ---------------------------------------------------------------- written down


def test_markdown_and_csv_hold_the_figures_and_nothing_that_acts(runner, store):
    prompts = Suite(name=HOSTILE, prompts=(Prompt(id=HOSTILE, category="=1+1", turns=(HOSTILE,)), *suite(6).prompts))
    report = report_of(runner, store, prompts=prompts)
    text = markdown(report)
    assert headline(report) in text
    assert "<script" not in text
    assert "](javascript" not in text
    assert len([line for line in text.splitlines() if line.startswith("| ")]) == 1 + 4
    lines = csv_text(report).split("\r\n")
    assert len([line for line in lines if line]) == 1 + 7
    assert "'=1+1" in lines[1]


def test_the_plan_is_read_back_as_it_was(store):
    made = plan(levels=(1, 2), threshold=1.5, prompts=suite(2, turns=2))
    assert stored_plan(store, start(store, made)) == made
    with pytest.raises(PlaygroundError, match="no benchmark"):
        stored_plan(store, "nothing")
    assert re.fullmatch(r"t, ngram k=4, test", store.benchmarks.listed()[0].title)
