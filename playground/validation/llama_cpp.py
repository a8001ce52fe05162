"""Tier B for llama.cpp: `llama-server ... --list-devices`, which reads all arguments in order and starts nothing.

For the preset file, whose values the router does not look at before a model is loaded, a router is started for a moment
on this machine alone and asked what it would start; that is then checked in the same way.
"""

import json
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

from playground.exporters import Export
from playground.importers import _command as command
from playground.sentence import Sentence
from playground.validation import Check, not_installed, own_parser

SECONDS = 20


def binary() -> str | None:
    return shutil.which("llama-server")


def parse(export: Export) -> Check:
    """Of the command line and of the preset file of an export."""
    found = binary()
    if found is None:
        return Check("B", own_parser("llama-server"), "not-run", not_installed("llama-server"))
    by = own_parser(f"llama-server {_version(found)}")
    script = next(text for name, text in export.files.items() if name.endswith(".llama.sh"))
    words = command.words("the script", script)
    start = words.index("llama-server") + 1
    if error := refusal(found, command.one_command(words, start)):
        return Check("B", by, "refused", Sentence("the command line: {error}", error=error))
    ini = next(text for name, text in export.files.items() if name.endswith(".llama.ini"))
    if error := _preset_refusal(found, ini):
        return Check("B", by, "refused", Sentence("the preset file: {error}", error=error))
    return Check("B", by, "passed")


def refusal(found: str, arguments: list[str]) -> str:
    """ "" where all arguments are accepted, else llama-server's own words."""
    try:
        done = subprocess.run(
            [found, *arguments, "--list-devices"],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"it cannot be run: {error}"[:300]
    if done.returncode == 0:
        return ""
    lines = [line for line in (done.stderr + done.stdout).splitlines() if "error" in line.lower()]
    return (lines or ["it stops"])[0][:300]


def _preset_refusal(found: str, text: str) -> str:
    with tempfile.TemporaryDirectory() as folder, socket.socket() as probe:
        path = Path(folder) / "models.ini"
        path.write_text(text, encoding="utf-8")
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        router = subprocess.Popen(
            [found, "--models-preset", str(path), "--host", "127.0.0.1", "--port", str(port), "--no-webui"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
        )
        try:
            arguments = _child_arguments(router, port)
        finally:
            router.terminate()
            try:
                _, errors = router.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                router.kill()
                _, errors = router.communicate()
    if arguments is None:
        lines = [line for line in errors.splitlines() if "error" in line.lower() or "unknown" in line.lower()]
        return (lines or ["the router does not take it"])[0][:300]
    return refusal(found, arguments)


def _child_arguments(router: "subprocess.Popen[str]", port: int) -> list[str] | None:
    """What the router would start its first model with."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline and router.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/models", timeout=2) as answer:
                models = json.load(answer)["data"]
                return [str(word) for word in models[0]["status"]["args"][1:]] if models else None
        except (OSError, ValueError, KeyError):
            time.sleep(0.1)
    return None


def _version(found: str) -> str:
    try:
        done = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    first = next(iter((done.stderr + done.stdout).strip().splitlines()), "")
    return first.removeprefix("version:").strip()[:60]
