"""The page under load: the real page in headless Chromium, the scripted engine writing 4,096 tokens into each pane.

How long the last token takes to be seen, the longest frame meanwhile, how soon Stop and a closed tab idle the engine.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import yaml

from playground.config import Preset, RunConfig, SamplingParams, Speculation
from tests import machine
from tests.benchmarks import report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TOKENS = 4096
PATIENCE = 120.0  # seconds until something that should happen counts as failed

WATCH = """
() => {
  const bench = (window.bench = { shown: {}, longest: 0, longTask: 0, clicked: 0 });
  let last = performance.now();
  const frame = (now) => {
    bench.longest = Math.max(bench.longest, now - last);
    last = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  new PerformanceObserver((list) => {
    for (const task of list.getEntries()) bench.longTask = Math.max(bench.longTask, task.duration);
  }).observe({ type: "longtask" });
  for (const arm of ["baseline", "speculative"]) {
    const box = document.querySelector(`#pane-${arm} .db-pane-box`);
    const painted = () => requestAnimationFrame(() => setTimeout(() => {
      if (box.scrollTop + box.clientHeight < box.scrollHeight - 2) painted();  // its end is out of sight
      else bench.shown[arm] = Date.now();
    }));
    const changed = () => { delete bench.shown[arm]; painted(); };
    new MutationObserver(changed).observe(box, { childList: true, subtree: true });
  }
  document.addEventListener("click", () => { bench.clicked = Date.now(); }, true);
}
"""
"""Notes when a pane's last token has been painted in view, the longest gap between frames, and the last click.

Times in milliseconds.
"""

T = TypeVar("T")


def measure(args: argparse.Namespace) -> report.Report:
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        data = Path(scratch)
        _write_preset(data, args)
        log = data / "log.jsonl"
        log.touch()
        browser = playwright.chromium.launch(
            executable_path=machine.chromium(), args=[a for a in machine.CHROMIUM_ARGS if a != "--headless"]
        )
        with _server(data, log) as address:
            _whole_run(browser, address, log)  # warm: the engine's process is up, the page's files are cached
            runs = [_whole_run(browser, address, log) for _ in range(args.repeats)]
            stops = [_idle_after(browser, address, log, _stop) for _ in range(args.repeats)]
            closed = [_idle_after(browser, address, log, _close) for _ in range(args.repeats)]
        browser.close()
    made = report.Report(f"Page, {args.tokens:,} tokens in each pane, {args.rate:g} and more tokens/s")
    made.at_most("last token shown after the engine made it", max(r["lag"] for r in runs), 0.2, "s")
    made.at_most("longest frame", max(r["frame"] for r in runs), 100, "ms")
    made.at_most("Stop until the engine is idle", max(stops), 1.0, "s")
    made.at_most("closed tab until the engine is idle", max(closed), 1.0, "s")
    made.details = {"runs": runs, "stops": stops, "closed": closed}
    return made


def _write_preset(data: Path, args: argparse.Namespace) -> None:
    """The preset the page opens with: the scripted engine, unbroken by an end of sequence."""
    options = {"length": args.tokens + 1, "tokens_per_second": args.rate, "prefill_seconds": 0.05}
    config = RunConfig(
        engine="scripted",
        engine_options=options,
        speculation=Speculation(method="ngram", num_speculative_tokens=5),
        sampling=SamplingParams(max_tokens=args.tokens),
    )
    (data / "presets").mkdir()
    written = Preset(name="default", config=config).model_dump(mode="json", exclude_none=True)
    (data / "presets" / "default.yaml").write_text(yaml.safe_dump(written))


@contextmanager
def _server(data: Path, log: Path) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = os.environ | {"DRAFTBOARD_DATA": str(data), "DRAFTBOARD_PORT": str(port)}
    command = [sys.executable, "-m", "tests.benchmarks.watched_server", str(log)]
    server = subprocess.Popen(command, cwd=report.ROOT, env=environment, stdout=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        _eventually(lambda: _answers(f"{address}/healthz"), "the server to answer")
        yield address
    finally:
        server.terminate()
        server.wait(30)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _open(browser: "Browser", address: str) -> "Page":
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(address)
    page.wait_for_selector("#pane-speculative .db-pane-box")
    page.locator("#prompt textarea").fill("Write a long story.")
    page.evaluate(WATCH)
    return page


def _whole_run(browser: "Browser", address: str, log: Path) -> dict[str, Any]:
    """Both arms to their end: seconds from the engine's last token to its paint, the longest frame, tokens shown."""
    before = len(_lines(log))
    page = _open(browser, address)
    page.evaluate("() => { window.bench.longest = window.bench.longTask = 0; }")
    page.locator("#prompt textarea").press("Control+Enter")
    lines = _eventually(lambda: _ended(log, before, 2), "both arms to end")
    page.wait_for_timeout(1500)
    page.wait_for_function("() => Object.keys(window.bench.shown).length === 2")
    bench = page.evaluate("() => window.bench")
    gone = ":not(.x):not(.u):not(.n)"
    spans = {a: page.locator(f"#pane-{a} .db-pane-box span{gone}").count() for a in ("baseline", "speculative")}
    page.close()
    shown = [bench["shown"][arm] / 1000 for arm in ("baseline", "speculative")]
    lags = [at - line["last_token"] for at, line in zip(shown, lines, strict=True)]
    return {"lag": max(lags), "lags": lags, "frame": bench["longest"], "long_task": bench["longTask"], "spans": spans}


def _idle_after(browser: "Browser", address: str, log: Path, act: "Callable[[Page], float]") -> float:
    """Seconds from `act` in the middle of a run until the engine's run has ended; no second arm may follow."""
    before = len(_lines(log))
    page = _open(browser, address)
    page.locator("#prompt textarea").press("Control+Enter")
    _eventually(lambda: len(_lines(log)) > before, "the run to start")
    page.wait_for_timeout(1500)
    acted = act(page)
    line = _eventually(lambda: _ended(log, before, 1), "the run to end")[0]
    time.sleep(0.5)
    assert line["what"] == "cancelled", line
    assert len(_lines(log)) == before + 2, "another arm began after the run was cancelled"
    if not page.is_closed():
        page.close()
    return float(line["time"] - acted)


def _stop(page: "Page") -> float:
    page.locator("#stop").click()
    return float(page.evaluate("() => window.bench.clicked")) / 1000


def _close(page: "Page") -> float:
    at = time.time()
    page.close()
    return at


def _lines(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def _ended(log: Path, before: int, count: int) -> list[dict[str, Any]]:
    """The ends of `count` runs noted after the first `before` lines; [] while there are fewer."""
    ends = [line for line in _lines(log)[before:] if line["what"] != "started"]
    return ends[:count] if len(ends) >= count else []


def _eventually(found: Callable[[], T], what: str) -> T:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if value := found():
            return value
        time.sleep(0.02)
    raise TimeoutError(f"Waited {PATIENCE:.0f} s for {what}.")


def parser() -> argparse.ArgumentParser:
    made = report.parser(__doc__ or "")
    made.add_argument("--tokens", type=int, default=TOKENS)
    made.add_argument("--rate", type=float, default=400.0, help="baseline tokens/s of the scripted engine")
    made.add_argument("--repeats", type=int, default=3, help="the worst of them counts")
    return made


if __name__ == "__main__":
    sys.exit(report.main(measure, parser()))
