"""Tier C: vLLM's server starts on this machine's CPU with an exported file, answers one request, and has speculated.

The default model stands in for every model the file names, and one device for many: what is proved is that the server
takes the file and speculates as it says, not that the models are good. Minutes; ends with nothing left running.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import yaml

from playground.exporters import Export
from playground.models import DEFAULT, model_paths
from playground.sentence import Sentence
from playground.settings import load_settings
from playground.validation import Check, not_installed
from playground.validation.vllm import python

BY = Sentence("a smoke start of vLLM's server")
METHODS = ("ngram", "ngram_gpu", "draft_model")
"""Methods the default model can stand in for."""

SECONDS = 1200
PROMPT = "Repeat this line twice: one two three four five six seven eight nine ten."


def hindrance(export: Export) -> Sentence | None:
    """None where the exported file can be started here, else why not."""
    spec = _serve(export).get("speculative-config")
    if python() is None:
        return not_installed("vLLM")
    if not spec:
        return Sentence("the file does not speculate")
    if spec["method"] not in METHODS or spec.get("parallel_drafting"):
        return Sentence("method {method} needs heads or weights that the default model has not", method=spec["method"])
    if not model_paths(load_settings()).get(DEFAULT):
        return Sentence("the default model {model} is not prepared", model=DEFAULT)
    return None


def _serve(export: Export) -> dict[str, Any]:
    text = next(text for name, text in export.files.items() if name.endswith(".vllm.yaml"))
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def start(export: Export) -> Check:
    """Starts, asks once, stops."""
    if why := hindrance(export):
        return Check("C", BY, "not-run", why)
    serve = _serve(export)
    model = model_paths(load_settings())[DEFAULT]
    with tempfile.TemporaryDirectory() as folder:
        path, log = Path(folder) / "serve.yaml", Path(folder) / "log"
        path.write_text(yaml.safe_dump(stand_in(serve, model)), encoding="utf-8")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        server = _start(path, port, log)
        try:
            counters = _asked(server, port)
        except _NoAnswer as error:
            lines = [line for line in log.read_text(errors="replace").splitlines() if "Error" in line]
            why = Sentence("{what}: {line}", what=error.what, line=lines[-1][-300:]) if lines else error.what
            return Check("C", BY, "refused", why)
        finally:
            _stop(server)
    drafted, accepted = counters.get("num_draft_tokens", 0), counters.get("num_accepted_draft_tokens", 0)
    if not drafted:
        return Check("C", BY, "refused", Sentence("it answered and drafted nothing"))
    counted = Sentence("one request: {drafted} tokens drafted, {accepted} accepted", drafted=drafted, accepted=accepted)
    return Check("C", BY, "passed", counted)


def stand_in(serve: dict[str, Any], model: str) -> dict[str, Any]:
    """The file with the default model in place of its own, small enough for any machine; all else as exported."""
    spec = dict(serve["speculative-config"])
    if spec.get("model"):
        spec["model"] = model
    spec.pop("draft_tensor_parallel_size", None)
    own = {"tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size", "quantization", "kv-cache-dtype"}
    kept = {key: value for key, value in serve.items() if key not in own}
    small = {"model": model, "dtype": "float32", "max-model-len": 512, "max-num-seqs": 2, "enforce-eager": True}
    metrics = {"per-request-spec-decode-metrics": "summary", "enable-prompt-tokens-details": True}
    return kept | small | metrics | {"speculative-config": spec}


def _start(path: Path, port: int, log: Path) -> "subprocess.Popen[bytes]":
    found = python()
    assert found is not None
    environment = os.environ | {
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "HF_HUB_OFFLINE": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "OMP_WAIT_POLICY": "PASSIVE",
        "CUDA_VISIBLE_DEVICES": "",
    }
    # `vllm serve` itself stops on CPU builds; this is the server it starts.
    words = [found, "-m", "vllm.entrypoints.openai.api_server", "--config", str(path)]
    words += ["--host", "127.0.0.1", "--port", str(port)]
    with log.open("wb") as file:
        return subprocess.Popen(
            words, stdout=file, stderr=subprocess.STDOUT, env=environment, start_new_session=True, cwd=path.parent
        )


class _NoAnswer(Exception):
    """The server ended, or took too long."""

    def __init__(self, what: Sentence) -> None:
        super().__init__(what)
        self.what = what


def _asked(server: "subprocess.Popen[bytes]", port: int) -> dict[str, Any]:
    """The counters of one greedy answer."""
    deadline = time.monotonic() + SECONDS
    while True:
        if server.poll() is not None:
            raise _NoAnswer(Sentence("the server ended while starting"))
        if time.monotonic() > deadline:
            raise _NoAnswer(Sentence("the server did not start within {n} s", n=SECONDS))
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
            break
        time.sleep(1)
    body = {"messages": [{"role": "user", "content": PROMPT}], "max_tokens": 48, "temperature": 0}
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            found = json.load(answer)
    except (OSError, urllib.error.URLError) as error:
        raise _NoAnswer(Sentence("it did not answer ({error})", error=str(error))) from None
    counters = (found.get("metrics") or {}).get("speculative_decoding") or {}
    return dict(counters)


def _stop(server: "subprocess.Popen[bytes]") -> None:
    """The server and its workers, which are its own session."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, sign)
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(30)
            if sign is signal.SIGTERM:
                time.sleep(1)
