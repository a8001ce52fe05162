"""What every test shares: a clean environment, the default model, a browser; and loud skips where one is missing.

Knows no part of the product beyond settings and models.
"""

import importlib.util
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

# Before torch or gradio are imported anywhere: repeatable arithmetic on busy machines, and silence on the network.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

from playground import models
from playground.settings import Settings
from tests import machine

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).resolve().parent.parent
OPERATORS = Settings()
"""The settings of whoever runs the tests: only their prepared models are used, never their database."""

for _name in [name for name in os.environ if name.startswith("DRAFTBOARD_") and "_TEST_" not in name]:
    del os.environ[_name]
Settings.model_config["env_file"] = None

MISSING = {
    "real": "the default model is not prepared: make model",
    "vllm": "vLLM is not installed: make test ENGINE=vllm",
    "browser": "no Chromium was found: apt-get install chromium, or name one in DRAFTBOARD_TEST_CHROMIUM",
}
"""Marker -> why its tests cannot run, where they cannot."""


_BEGUN = float(os.environ.get("DRAFTBOARD_TEST_BEGUN") or time.time())
"""When all of it began, in seconds since 1970: `make test` runs pytest twice, once on several cores."""

MINUTES = float(os.environ.get("DRAFTBOARD_TEST_MINUTES", "inf"))
LATE = "no time was left for them (DRAFTBOARD_TEST_MINUTES)"


def default_model_folder() -> Path | None:
    folder = OPERATORS.models_folder / models.DEFAULT
    return folder if folder.is_dir() and not models.inspect(models.DEFAULT, folder).problem else None


def _missing() -> dict[str, str]:
    have = {
        "real": default_model_folder() is not None,
        "vllm": importlib.util.find_spec("vllm") is not None,
        "browser": machine.chromium() is not None,
    }
    return {marker: why for marker, why in MISSING.items() if not have[marker]}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where CI is set nothing is skipped for want of a model or a browser: such tests run, and fail.

    Tests with a browser run late, those with vLLM, which loads for a minute at a time, last.
    """
    items.sort(key=lambda item: 2 * ("vllm" in item.keywords) + ("browser" in item.keywords))
    missing = _missing()
    if machine.in_ci():
        missing = {marker: why for marker, why in missing.items() if marker == "vllm"}
    for marker, why in missing.items():
        for item in items:
            if marker in item.keywords:
                item.add_marker(pytest.mark.skip(reason=why))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """DRAFTBOARD_TEST_MINUTES bounds the whole: past it no further test with vLLM is begun, and the summary says so."""
    if "vllm" in item.keywords and time.time() - _BEGUN > MINUTES * 60:
        pytest.skip(LATE)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    late = [report for report in terminalreporter.stats.get("skipped", []) if LATE in str(report.longrepr)]
    if late:
        terminalreporter.write_line(f"SKIPPED {len(late)} tests with vLLM: {LATE}", red=True, bold=True)
    for marker, why in _missing().items():
        if any(why in str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])):
            terminalreporter.write_line(f"SKIPPED all `{marker}` tests: {why}", red=True, bold=True)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings whose every written file lies in the test's own folder."""
    return Settings(data=tmp_path)


@pytest.fixture(scope="session")
def default_model() -> Path:
    """Folder of SmolLM2-135M-Instruct in safetensors; mark the test `real`."""
    folder = default_model_folder()
    assert folder is not None, MISSING["real"]
    return folder


@pytest.fixture(scope="session")
def browser() -> "Iterator[Browser]":
    """One headless Chromium for the whole session; mark the test `browser`."""
    from playwright.sync_api import sync_playwright

    path = machine.chromium()
    assert path is not None, MISSING["browser"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(machine.CHROMIUM_ARGS))
        yield browser
        browser.close()


@pytest.fixture
def page(browser: "Browser") -> "Iterator[Page]":
    """A fresh tab with its own cookies, at the design's size; a script error in it fails the test."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, locale="en-US")
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    context.close()
    assert not errors, errors
