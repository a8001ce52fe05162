"""The runner with a real model: what only a real engine's process can show."""

import os
import signal

import pytest

from playground.config import RunConfig, SamplingParams, Speculation
from playground.events import Loading, RunFinished, Step
from playground.runner import Runner
from playground.settings import Settings
from storage import Store
from tests.children import children

pytestmark = pytest.mark.real


@pytest.fixture
def runner(tmp_path):
    settings = Settings(data=tmp_path, device="cpu", threads=1)
    store = Store(settings.database_path)
    before = children()
    runner = Runner(settings, store)
    yield runner
    runner.close()
    store.close()
    assert children() <= before


def config(model, max_tokens=24):
    return RunConfig(
        target=str(model),
        dtype="float32",
        speculation=Speculation(method="ngram", num_speculative_tokens=3),
        sampling=SamplingParams(max_tokens=max_tokens, ignore_eos=True),
    )


def pid(runner):
    return runner._engine._loaded.process.pid


PROMPT = "Repeat three times: the quick brown fox jumps over the lazy dog."


def test_compare_stop_crash_and_go_on(runner, default_model):
    """CASES 26 and 29, with a model: one load serves it all until the engine is killed."""
    events = list(runner.start_compare(config(default_model), PROMPT))
    ids = {
        arm: [token.id for of, event in events if of == arm and isinstance(event, Step) for token in event.tokens]
        for arm in ("baseline", "speculative")
    }
    assert len(ids["baseline"]) == 24
    assert ids["baseline"] == ids["speculative"]
    first = pid(runner)

    closed = runner.start_run(config(default_model, 4000), PROMPT)
    next(event for event in closed if isinstance(event, Step))
    closed.close()
    assert list(runner.start_run(config(default_model), PROMPT))[-1].reason == "length"
    assert pid(runner) == first

    killed = runner.start_run(config(default_model, 4000), PROMPT)
    next(event for event in killed if isinstance(event, Step))
    os.kill(first, signal.SIGKILL)
    ending = list(killed)[-1]
    assert isinstance(ending, RunFinished)
    assert ending.code == "engine_died"
    assert list(runner.start_run(config(default_model), PROMPT))[-1].reason == "length"
    assert pid(runner) != first


def test_abort_while_loading_a_model(runner, default_model):
    before = children()
    run = runner.start_run(config(default_model), PROMPT)
    next(event for event in run if isinstance(event, Loading) and event.stage != "start")
    run.abort()
    assert list(run)[-1].reason == "cancelled"
    assert children() <= before


def test_a_folder_without_a_model_is_one_sentence(runner, tmp_path):
    """CASES 33."""
    (tmp_path / "empty").mkdir()
    ending = list(runner.start_run(config(tmp_path / "empty"), PROMPT))[-1]
    assert ending.reason == "error"
    assert ending.hint
    assert runner.status().state == "none"
