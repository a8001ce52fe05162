"""The remote engine against vLLM's own OpenAI server on loopback, with n-gram speculation and without."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from playground.config import RunConfig
from playground.engines import EngineContext
from playground.engines.remote import Engine
from playground.errors import PlaygroundError
from playground.events import RunFinished, Step
from playground.metrics import RunResult
from tests import tiny
from tests.test_remote import config, loaded, run
from tests.test_vllm_law import PROMPT as LETTERS
from tests.test_vllm_law import only_letters

pytestmark = [pytest.mark.vllm, pytest.mark.slow]

KEY = "sk-of-a-test"
PROMPT = LETTERS * 2
SPECULATION = '{"method":"ngram","num_speculative_tokens":4,"prompt_lookup_max":3,"prompt_lookup_min":1}'
PATIENCE = 600.0


@pytest.fixture(scope="module")
def servers(tmp_path_factory) -> Iterator[dict[str, str]]:
    """Addresses of both servers, once they answer."""
    folder = tmp_path_factory.mktemp("server")
    shape = {"hidden_size": 128, "intermediate_size": 128, "max_position_embeddings": 256, "initializer_range": 0.12}
    model = only_letters(tiny.make_model(folder / "model", **shape))
    more = {"fast": ["--speculative-config", SPECULATION, "--per-request-spec-decode-metrics", "detailed"], "plain": []}
    begun, urls = [], {}
    try:
        for name, arguments in more.items():  # one after the other: both profile the machine's memory
            urls[name], process = start(model, arguments, folder / f"{name}.log")
            begun.append(process)
            wait(urls[name], process, folder / f"{name}.log")
        yield urls
    finally:
        for process in begun:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def start(model: Path, arguments: list[str], log: Path) -> tuple[str, "subprocess.Popen[bytes]"]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        *(
            sys.executable,
            "-m",
            "vllm.entrypoints.openai.api_server",
            "--model",
            str(model),
            "--served-model-name",
            "m",
        ),
        *("--dtype", "float32", "--enforce-eager", "--max-num-seqs", "4", "--host", "127.0.0.1", "--port", str(port)),
        *("--api-key", KEY, *arguments),
    ]
    quiet = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "HF_HUB_OFFLINE": "1"}
    small = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE", "VLLM_CPU_KVCACHE_SPACE": "1"}
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=output, env=os.environ | quiet | small, process_group=0
        )
    return f"http://127.0.0.1:{port}", process


def wait(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=5):
                return
        except OSError:
            time.sleep(1)
    pytest.fail(f"the server did not start: {log.read_text(errors='replace')[-2000:]}")


@pytest.fixture(scope="module")
def engine(servers) -> Iterator[Engine]:
    with loaded(of(servers), context(servers)) as engine:
        yield engine


def of(servers: dict[str, str], **more: Any) -> RunConfig:
    sampling = {"max_tokens": 40, "ignore_eos": True} | more
    return config(servers["fast"], chat=False, options={"baseline_url": servers["plain"]}, sampling=sampling)


def context(servers: dict[str, str], key: str = KEY) -> EngineContext:
    return EngineContext(keys={url: SecretStr(key) for url in servers.values()})


def ids(events: list[Any]) -> list[int]:
    return [token.id for event in events if isinstance(event, Step) for token in event.tokens]


def test_both_arms_say_the_same_and_the_figures_are_vllms(engine, servers):
    """Greedy float32: the ids are those without speculation; per pass the stream and the server's list agree."""
    fast, plain = run(engine, of(servers), PROMPT), run(engine, of(servers).baseline(), PROMPT)
    assert ids(fast) == ids(plain)
    assert fast[-1].text == plain[-1].text
    results = RunResult.of(fast), RunResult.of(plain)
    assert [result.reconciled for result in results] == [True, True]
    assert [result.num_delivered for result in results] == [40, 40]
    assert results[1].tokens_per_step == 1.0
    assert results[0].num_draft_tokens > 0
    assert results[0].num_accepted_tokens > 0
    assert sum(results[0].accepted_at) == results[0].num_accepted_tokens
    assert sum(results[0].drafted_at) == results[0].num_draft_tokens
    assert results[0].tokens_per_step > 1
    shown = sum(token.origin == "accepted" for e in fast if isinstance(e, Step) for token in e.tokens)
    assert results[0].num_accepted_tokens - 4 <= shown <= results[0].num_accepted_tokens


@pytest.mark.parametrize("max_tokens", [1, 2, 5])
def test_max_tokens_is_exact(engine, servers, max_tokens):
    """CASES 11."""
    result = RunResult.of(run(engine, of(servers, max_tokens=max_tokens), PROMPT))
    assert result.num_delivered == max_tokens
    assert result.reconciled is True


def test_seeds(engine, servers):
    """CASES 20. Without speculation: a stock CPU build samples wrongly with it."""
    sampled = of(servers, temperature=1.0, seed=7).baseline()
    assert ids(run(engine, sampled, PROMPT)) == ids(run(engine, sampled, PROMPT))
    free = of(servers, temperature=1.0).baseline()
    assert ids(run(engine, free, PROMPT)) != ids(run(engine, free, PROMPT))


def test_candidates(engine, servers):
    asked = of(servers, max_tokens=6)
    asked = asked.model_copy(update={"engine_options": asked.engine_options | {"candidates": 3}})
    with loaded(asked, context(servers)) as other:
        events = run(other, asked, PROMPT)
    steps = [event for event in events if isinstance(event, Step)]
    assert all(1 <= len(best) <= 3 for step in steps for best in step.target_candidates)
    assert all(0 < token.target_prob <= 1 for step in steps for token in step.tokens)


def test_stopping_leaves_the_server_able(engine, servers):
    """CASES 26."""
    before = ids(run(engine, of(servers), PROMPT))
    engine.submit("a", of(servers, max_tokens=200), PROMPT)
    for _, event in engine.events():
        if isinstance(event, Step) and event.index == 2:
            engine.abort("a")
        if isinstance(event, RunFinished):
            break
    assert event.reason == "cancelled"
    assert ids(run(engine, of(servers), PROMPT)) == before


def test_a_prompt_that_is_too_long_is_refused_in_vllms_words(engine, servers):
    finished = run(engine, of(servers), LETTERS * 60)[-1]
    assert finished.code == "refused"
    assert "256" in finished.error


def test_a_wrong_key_and_a_wrong_model(servers):
    with pytest.raises(PlaygroundError) as caught:
        list(Engine(of(servers), context(servers, "sk-wrong")).load())
    assert caught.value.code == "unauthorized"
    with pytest.raises(PlaygroundError) as caught:
        list(Engine(of(servers).model_copy(update={"target": "other"}), context(servers)).load())
    assert caught.value.code == "no_such_model"
    assert "It serves: m." in caught.value.hint


def test_a_speculating_server_alone_runs_no_baseline(servers):
    alone = config(servers["fast"], chat=False)
    with loaded(alone, context(servers)) as engine:
        assert run(engine, alone.baseline(), PROMPT)[-1].code == "no_baseline"
