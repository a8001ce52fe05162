"""Remote runs through the runner, the store and the command line: both arms, a stored baseline, no key anywhere."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing

import pytest

from playground.errors import PlaygroundError
from playground.events import RunFinished
from playground.metrics import RunResult
from playground.runner import Runner
from playground.settings import Settings
from storage import Store
from tests.remote_standin import standin
from tests.test_remote import GOOD, KEY, SPEC, config, ending, message, vllm

PLAIN = vllm(*[message(f" {i}", [i], i) for i in range(1, 8)], message(" 8", [8], 8, "length"), ending(8))
FAST = vllm(*GOOD, ending(8, **SPEC))


@pytest.fixture
def store(settings) -> Iterator[Store]:
    with closing(Store(settings.database_path)) as store:
        yield store


@pytest.fixture
def runner(settings, store) -> Iterator[Runner]:
    with closing(Runner(settings, store)) as runner:
        yield runner


def test_a_comparison_over_two_servers_is_recorded_and_replayed(tmp_path, store):
    with standin(FAST) as fast, standin(PLAIN) as plain:
        settings = Settings(data=tmp_path, remote_keys={fast.url: KEY})
        of = config(fast.url, options={"baseline_url": plain.url})
        with closing(Runner(settings, store)) as runner:
            job = runner.start_compare(of, "Count.")
            events = list(job)
    arms = {arm: [e for a, e in events if a == arm] for arm in ("baseline", "speculative")}
    results = {arm: RunResult.of(found) for arm, found in arms.items()}
    assert {arm: result.tokens_per_step for arm, result in results.items()} == {"baseline": 1.0, "speculative": 7 / 3}
    for arm, run_id in job.run_ids.items():
        assert RunResult.of(store.replay(run_id)).metrics() == results[arm].metrics()
    row = store.run(job.run_ids["speculative"])
    assert row.metrics["draft_acceptance_rate"] == 0.5
    assert row.environment["server"] == fast.url
    lines = list(store.export_jsonl(job.run_ids.values()))
    with closing(Store(tmp_path / "other.db")) as other:
        other.import_jsonl(lines)
        assert RunResult.of(other.replay(job.run_ids["speculative"])).metrics() == results["speculative"].metrics()
    files = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    assert not any(KEY.encode() in content for content in files)
    assert KEY not in "".join(lines)


def test_a_stored_run_stands_for_the_baseline_of_one_server(runner, store):
    """The same server, started again with speculation: only what is the same in all else may stand for it."""
    with standin(PLAIN) as server:
        of = config(server.url)
        earlier = runner.run(of.baseline(), "Count.")
        list(earlier)
        list(runner.run(config(server.url, sampling={"max_tokens": 9}).baseline(), "Count."))
        list(runner.run(of.baseline(), "Count again."))
        server.answers.update(FAST)
        job = runner.start_compare(of, "Count.")
        events = [(arm, event) for arm, event in job]
        asked = len(server.bodies())
    baseline = RunResult.of(e for arm, e in events if arm == "baseline")
    assert baseline.environment["recorded_run"] == earlier.run_id
    assert any("recorded on" in warning for warning in baseline.environment["warnings"])
    assert baseline.tokens_per_step == 1.0
    assert RunResult.of(e for arm, e in events if arm == "speculative").tokens_per_step == 7 / 3
    assert set(store.comparison(job.comparison_id)) == {"baseline", "speculative"}
    assert asked == 5  # one warm-up, three runs without, one with


def test_without_any_baseline_it_says_how_to_get_one(runner):
    with standin(FAST) as server, pytest.raises(PlaygroundError) as caught:
        runner.start_compare(config(server.url), "Count.")
    assert caught.value.code == "no_baseline"
    assert "baseline_url" in caught.value.hint


def test_a_server_that_goes_away_ends_the_run_and_not_the_engine(runner):
    """CASES 29."""
    with standin(FAST) as server:
        of = config(server.url)
        assert list(runner.run(of, "Count."))[-1].reason == "length"
    finished = list(runner.run(of, "Count."))[-1]
    assert isinstance(finished, RunFinished)
    assert finished.code == "unreachable"


def test_the_command_line_compares_two_servers(tmp_path):
    with standin(FAST) as fast, standin(PLAIN) as plain:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "playground", "compare", "--engine", "remote", "--target", "m", "--json"),
                *("--url", fast.url, "--baseline-url", plain.url, "--prompt", "Count."),
            ],
            env=os.environ | {"DRAFTBOARD_DATA": str(tmp_path)},
            capture_output=True,
            text=True,
        )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.strip().splitlines()[-1])
    assert found["config"]["speculation"]["method"] == "server"
    assert found["speculative"]["draft_acceptance_rate"] == 0.5
    assert found["baseline"]["num_delivered"] == found["speculative"]["num_delivered"] == 8
    assert found["outputs_identical"] is False
    assert "untold" in found["environment"]
