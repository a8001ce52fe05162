"""The real application as a subprocess, with the scripted engine and a data folder of its own, for browser tests."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from playground.config import RunConfig
from storage import RunPage, Store
from tests.conftest import ROOT

SECONDS = 60_000  # milliseconds that a page gets for anything: test machines are busy

SCRIPTED: dict[str, Any] = {"length": 60, "tokens_per_second": 120.0, "load_seconds": 0.1, "prefill_seconds": 0.05}


def preset(engine_options: dict[str, Any], **changes: Any) -> dict[str, Any]:
    config = {
        "engine": "scripted",
        "target": "smollm2-135m",
        "engine_options": SCRIPTED | engine_options,
        "speculation": {"method": "ngram", "num_speculative_tokens": 4},
    }
    return config | changes


PRESETS: dict[str, dict[str, Any]] = {
    "default": preset({}),
    "slow": preset({"length": 4000, "tokens_per_second": 30.0}),
    "hostile": preset({"source": "hostile", "length": 90}),
    "mid-run-failure": preset({"fail": "mid_run"}),
    "crash": preset({"fail": "crash"}),
    "load-failure": preset({"fail": "load"}),
    "three": preset({}, speculation={"method": "ngram", "num_speculative_tokens": 3}),
}


@dataclass(frozen=True)
class Board:
    """The application under test. `url` ends with a slash."""

    url: str
    data: Path
    process: "subprocess.Popen[bytes]"

    def store(self) -> Store:
        return Store(self.data / "runs.db")

    def runs(self, **filters: Any) -> RunPage:
        store = self.store()
        try:
            return store.runs(**filters)
        finally:
            store.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def write_presets(folder: Path) -> None:
    folder.mkdir(parents=True)
    for name, config in PRESETS.items():
        RunConfig.model_validate(config)
        text = yaml.safe_dump({"name": name, "config": config})
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")


def start(data: Path, **settings: str) -> Board:
    """The application, once it answers."""
    port = free_port()
    environment = os.environ | {"DRAFTBOARD_DATA": str(data), "DRAFTBOARD_PORT": str(port)} | settings
    process = subprocess.Popen([sys.executable, "app.py"], cwd=ROOT, env=environment)
    url = f"http://127.0.0.1:{port}/"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert process.poll() is None, "the application ended at start"
        try:
            with urllib.request.urlopen(f"{url}healthz", timeout=5):
                return Board(url, data, process)
        except OSError:
            time.sleep(0.2)
    raise AssertionError("the application does not answer")


@pytest.fixture(scope="session")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Board]:
    """One application for the whole session; its history grows from test to test."""
    data = tmp_path_factory.mktemp("board")
    write_presets(data / "presets")
    board = start(data)
    yield board
    board.process.terminate()
    assert board.process.wait(30) is not None


@pytest.fixture
def tab(board: Board, browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens tabs, each with a browser profile of its own. Afterwards: no script error, no request to others."""
    contexts: list[Any] = []
    wrong: list[str] = []

    def open_tab(path: str = "", *, context: Any = None, **options: Any) -> Any:
        if context is None:
            context = browser.new_context(viewport={"width": 1440, "height": 900}, locale="en-US", **options)
            context.grant_permissions(["clipboard-read", "clipboard-write"], origin=board.url)
            contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(SECONDS)
        page.on("pageerror", lambda error: wrong.append(f"script: {error}"))
        page.on("console", complaint)
        page.on("request", lambda request: foreign(request.url))
        page.on("dialog", lambda dialog: (wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.goto(board.url + path)
        page.locator("#run").wait_for()
        page.locator("#chip .chip-text:not(:empty)").wait_for()
        return page

    def complaint(said: Any) -> None:
        # A reload cuts off the requests under way, and Gradio's client says so on its way out: no fault of the page.
        cut_off = ("AbortError: ", "Unexpected error Connection errored out")
        if said.type == "error" and not said.text.startswith(cut_off):
            wrong.append(f"console: {said.text}")

    def foreign(url: str) -> None:
        if not url.startswith((board.url, "data:", "blob:")):
            wrong.append(f"request to {url}")

    yield open_tab
    for context in contexts:
        context.close()
    assert not wrong, wrong


def choose(page: Any, name: str, says: str = "") -> None:
    """Picks a preset and waits until the controls say so: as `PRESETS` has it, or as the preset called `says` there."""
    pick(page, "ctl-preset", name)
    config = PRESETS[says or name]
    wanted = {f"engine-options-scripted-{field}": value for field, value in config["engine_options"].items()}
    wanted.setdefault("engine-options-scripted-fail", "–")
    wanted["speculation-num-speculative-tokens"] = config["speculation"]["num_speculative_tokens"]
    for field, value in wanted.items():
        shown = f"{value:g}" if isinstance(value, float) else str(value)
        script = "([id, value]) => document.querySelector(`#ctl-${id} input`)?.value === value"
        page.wait_for_function(script, arg=[field.replace("_", "-"), shown])


def pick(page: Any, box: str, name: str) -> None:
    """Chooses from a list; once more where the list closed before the click had landed."""
    field = page.locator(f"#{box} input")
    for _ in range(3):
        field.click()
        page.get_by_role("option", name=name, exact=True).last.click()  # another list may still be closing
        try:
            page.wait_for_function(
                "([id, value]) => document.querySelector(`#${id} input`).value === value", arg=[box, name], timeout=5000
            )
        except Exception as error:
            if "Timeout" not in str(error):
                raise
        else:
            return
    raise AssertionError(f"{name} could not be chosen in {box}")


def ask(page: Any, prompt: str = "Tell me about drafts.") -> None:
    """Runs a prompt; returns once the run has begun, which a fast one may have ended again."""
    page.locator("#prompt textarea").fill(prompt)
    page.evaluate(
        """() => { const run = document.querySelector("#run"); window.begun = false;
          new MutationObserver(() => { window.begun ||= run.disabled; }).observe(run, { attributes: true }); }"""
    )
    page.keyboard.press("Control+Enter")
    page.wait_for_function("window.begun")


def finished(page: Any) -> None:
    page.locator("#run:not(:disabled)").wait_for()


def text_of(page: Any, arm: str) -> str:
    """What a pane shows, as it would be copied: without rejected drafts."""
    script = """(arm) => [...document.querySelectorAll(`#pane-${arm} .db-pane-box span`)]
        .filter((s) => !s.matches('.x, .u, .n')).map((s) => s.textContent).join('')"""
    shown: str = page.evaluate(script, arm)
    return shown


def pane_state(page: Any, arm: str) -> str:
    state: str = page.locator(f"#pane-{arm} .db-pane").get_attribute("data-state")
    return state
