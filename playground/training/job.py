"""Starting, following and ending the child process of a training. Knows processes and folders; touches no device."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from playground.errors import PlaygroundError
from playground.headfiles import write_json
from playground.modelfiles import read_object
from playground.models import model_paths, resolve
from playground.sentence import Sentence
from playground.settings import ROOT, Settings
from playground.training.options import FREE, TrainOptions
from playground.training.progress import read_progress

POLL = 0.5
STOP_GRACE = 120.0
"""Seconds to save in; a batch of answers ends within a token, a training step within seconds."""

LAST = "training.json"
"""In the data folder: where the latest training is."""


class Training:
    """One training's folder, with its process where this program has started it."""

    def __init__(self, out: Path, process: "subprocess.Popen[bytes] | None" = None) -> None:
        self.out = out
        self._process = process

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def status(self) -> dict[str, Any]:
        """The progress file's content; a process that died without a word is told as failed, or stopped before."""
        running = self.running
        found = read_progress(self.out) or {"state": "running", "stage": "start", "history": []}
        if running or found["state"] != "running":
            return found
        if self._process is None:
            return {**found, "state": "cancelled"}
        return {**found, "state": "failed", "error": self._died().as_dict()}

    def follow(self) -> Iterator[dict[str, Any]]:
        """The status whenever it changes, the last one being no longer "running"."""
        said = None
        while True:
            running, now = self.running, self.status()
            if now != said:
                said = now
                yield now
            if not running:
                return
            time.sleep(POLL)

    def stop(self, wait: bool = False) -> None:
        """Asks it to save and end; with `wait` returns when it has, if need be by force."""
        if self._process is None or not self.running:
            return
        self._process.send_signal(signal.SIGTERM)
        if wait:
            try:
                self._process.wait(STOP_GRACE)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def _died(self) -> PlaygroundError:
        assert self._process is not None
        code = self._process.returncode
        how = (
            Sentence("by signal {number}", number=-code)
            if code < 0
            else Sentence("with exit code {number}", number=code)
        )
        log = self.out / "work" / "log.txt"
        last = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:] if log.exists() else []
        what = Sentence("The training's process ended {how}.", how=how)
        if last:
            words = last[0][:300].rstrip(".")
            what = Sentence("The training's process ended {how}; its last line: {words}.", how=how, words=words)
        return PlaygroundError(
            what,
            Sentence("Start it again with the same folder: it goes on from its last checkpoint."),
            code="training_died",
        )


def start_training(settings: Settings, options: TrainOptions, out: Path, *, restart: bool = False) -> Training:
    """Starts it, or goes on with the one in `out`.

    Args:
        restart: forget what is in `out` and begin anew.

    Raises:
        PlaygroundError: the target or a file is not here, `out` holds something else or another training, or it is
            running already.
    """
    paths = model_paths(settings)
    resolve(options.target, paths, offline=settings.offline)
    for file in (*options.data, *([options.prompts] if options.prompts else [])):
        if not file.is_file():
            raise PlaygroundError(
                Sentence("There is no file {file}.", file=file), Sentence("Correct its path."), code="no_such_file"
            )
    out = out.expanduser().absolute()
    context = settings.engine_context(paths)
    order = {
        "options": options.model_dump(mode="json"),
        "context": asdict(context),
        "locks": str((settings.data / "locks").absolute()),
    }
    _prepare(out, order, restart)
    log = (out / "work" / "log.txt").open("ab")
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "playground.training.worker", str(out)],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            cwd=ROOT,
            start_new_session=True,  # Ctrl-C is for the parent, which asks the worker to save
        )
    finally:
        log.close()
    write_json(settings.data / LAST, {"out": str(out)})
    return Training(out, process)


def last_training(settings: Settings) -> Training | None:
    """The latest one started here, running elsewhere or over; None where there was none."""
    found = read_object(settings.data / LAST) if (settings.data / LAST).exists() else None
    out = Path(found["out"]) if found and isinstance(found.get("out"), str) else None
    return Training(out) if out is not None and read_progress(out) else None


def _prepare(out: Path, order: dict[str, Any], restart: bool) -> None:
    work = out / "work"
    before = read_object(work / "order.json") if work.is_dir() else None
    if before is None and out.is_dir() and any(out.iterdir()) and not restart:
        raise PlaygroundError(
            Sentence("The folder {out} is not empty and holds no training.", out=out),
            Sentence("Choose another one."),
            code="not_empty",
        )
    _not_running(out)
    if restart and before is not None:
        shutil.rmtree(work)
        (out / "progress.json").unlink(missing_ok=True)
        before = None
    if before is not None:
        changed = _changed(before.get("options", {}), order["options"])
        if changed:
            raise PlaygroundError(
                Sentence(
                    "The folder {out} holds a training with other options: {options}.",
                    out=out,
                    options=", ".join(changed),
                ),
                Sentence("Choose another folder, give the same options to go on with it, or --restart to begin anew."),
                code="other_training",
            )
    try:
        work.mkdir(parents=True, exist_ok=True)
        (out / "progress.json").unlink(missing_ok=True)
        write_json(work / "order.json", order)
    except OSError as error:
        raise PlaygroundError(
            Sentence("The folder {out} cannot be written: {why}.", out=out, why=error.strerror),
            Sentence("Choose another one."),
            code="unwritable",
        ) from None


def _changed(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    return sorted(name for name in now if name not in FREE and before.get(name) != json.loads(json.dumps(now[name])))


def _not_running(out: Path) -> None:
    found = read_progress(out) if out.is_dir() else None
    pid = found.get("pid") if found and found.get("state") == "running" else None
    if isinstance(pid, int) and _is_worker(pid, out):
        raise PlaygroundError(
            Sentence("A training in {out} is running already, as process {pid}.", out=out, pid=pid),
            Sentence("Wait for it, or stop it."),
            code="running",
        )


def _is_worker(pid: int, out: Path) -> bool:
    import psutil

    try:
        return pid != os.getpid() and str(out) in psutil.Process(pid).cmdline()
    except psutil.Error:
        return False
