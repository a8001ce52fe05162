"""The server: refuses to start with one sentence, answers only who may ask, ends with everything it started."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import yaml

from playground.config import RunConfig, Speculation
from playground.runner import Runner
from playground.settings import Settings
from playground.ui.context import Context
from playground.ui.endpoint import compare_endpoint
from playground.ui.page import page
from storage import Store
from tests.conftest import ROOT

pytestmark = pytest.mark.slow

SCRIPTED = {"engine": "scripted", "engine_options": {"load_seconds": 0.1}, "speculation": {"method": "ngram"}}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def begin(data: Path, port: int, **settings: str) -> "subprocess.Popen[str]":
    (data / "presets").mkdir(parents=True, exist_ok=True)
    (data / "presets" / "default.yaml").write_text(yaml.safe_dump({"name": "default", "config": SCRIPTED}))
    environment = os.environ | {"DRAFTBOARD_DATA": str(data), "DRAFTBOARD_PORT": str(port)} | settings
    return subprocess.Popen(
        [sys.executable, "app.py"], cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def answers(port: int, path: str = "healthz", **headers: str) -> "tuple[int, dict[str, str], bytes]":
    request = urllib.request.Request(f"http://127.0.0.1:{port}/{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read()


def wait_for(port: int, process: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()
        try:
            answers(port)
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise AssertionError("no answer")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Port of an application that asks for a password."""
    port = free_port()
    process = begin(
        tmp_path_factory.mktemp("guarded"), port, DRAFTBOARD_AUTH_USER="ann", DRAFTBOARD_AUTH_PASSWORD="secret"
    )
    wait_for(port, process)
    yield port
    process.terminate()
    process.wait(30)


def test_health_is_for_everybody_and_the_rest_for_who_knows_the_password(guarded: int) -> None:
    assert json.loads(answers(guarded)[2]) == {"status": "ok"}
    for path in ("config", "gradio_api/info", "gradio_api/queue/data?session_hash=x"):
        assert answers(guarded, path)[0] == 401, path
    page = answers(guarded, "")[2].decode()
    assert "smollm2" not in page  # the login page tells nothing of what is behind it


def test_no_other_origin_may_read(guarded: int) -> None:
    for path in ("healthz", "", "config"):
        headers = {k.lower(): v for k, v in answers(guarded, path, Origin="http://evil.example")[1].items()}
        assert "access-control-allow-origin" not in headers, path


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_and_its_engine(tmp_path: Path, number: int) -> None:
    port = free_port()
    process = begin(tmp_path, port)
    wait_for(port, process)
    family = psutil.Process(process.pid)
    deadline = time.monotonic() + 60
    while not (children := family.children(recursive=True)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert children, "the engine was not loaded beforehand"
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert f"http://127.0.0.1:{port}" in out
    _, alive = psutil.wait_procs(children, timeout=10)
    assert not alive


def test_a_taken_port_is_said_before_anything_starts(tmp_path: Path) -> None:
    """CASES 34"""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        process = begin(tmp_path, port)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 2
    assert f"Port {port} on 127.0.0.1 cannot be used" in err
    assert "DRAFTBOARD_PORT" in err
    assert "Traceback" not in err


def test_a_folder_that_cannot_be_written_is_said_before_anything_starts(tmp_path: Path) -> None:
    """CASES 34"""
    (tmp_path / "file").write_text("")
    environment = os.environ | {"DRAFTBOARD_DATA": str(tmp_path / "file" / "data"), "DRAFTBOARD_PORT": str(free_port())}
    done = subprocess.run([sys.executable, "app.py"], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 2
    assert "cannot be written" in done.stderr
    assert "DRAFTBOARD_DATA" in done.stderr
    assert "Traceback" not in done.stderr


def test_another_host_without_a_password_is_refused(tmp_path: Path) -> None:
    environment = os.environ | {"DRAFTBOARD_DATA": str(tmp_path), "DRAFTBOARD_HOST": "0.0.0.0"}
    done = subprocess.run([sys.executable, "app.py"], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 2
    assert "DRAFTBOARD_AUTH_USER" in done.stderr


def test_an_engine_loaded_beforehand_serves_the_next_run_without_loading(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    store = Store(tmp_path / "runs.db")
    runner = Runner(settings, store)
    config = RunConfig(
        engine="scripted", engine_options={"load_seconds": 0.1, "pace": False}, speculation=Speculation(method="ngram")
    )
    try:
        runner.preload(config)
        assert runner.status().state == "idle"
        kinds = [type(event).__name__ for event in runner.start_run(config, "Hello")]
        assert "Loading" not in kinds
        assert kinds[-1] == "RunFinished"
        assert store.runs().total == 1
    finally:
        runner.close()
        store.close()


def test_programs_get_a_comparison_as_json_from_the_one_named_endpoint(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs.db")
    runner = Runner(Settings(data=tmp_path), store)
    context = Context.of(Settings(data=tmp_path), store, runner)
    compare = compare_endpoint(context)
    overrides = {"engine": "scripted", "engine_options": {"load_seconds": 0.1, "pace": False}, "max_tokens": 20}
    try:
        found = json.loads(json.dumps(compare("Hello", "default", overrides), allow_nan=False))
        assert found["outputs_identical"] is True
        assert found["speculative"]["num_delivered"] == 20
        assert store.runs(source="api").total == 2
        assert "temperature" in compare("Hello", "default", {"temperature": "hot"})["error"]
        assert set(page(context).get_api_info()["named_endpoints"]) == {"/compare"}
    finally:
        runner.close()
        store.close()
