"""An engine for tests of the process: it starts a worker and, as `engine_options["then"]` asks, clings to life."""

import ctypes
import subprocess
import threading
import time

from playground.errors import PlaygroundError
from playground.events import Loading, RunFinished


class Engine:
    def __init__(self, config, context):
        self._then = config.engine_options.get("then", "")
        self._closed = threading.Event()
        self._runs = []

    def load(self):
        worker = subprocess.Popen(["sleep", "1000"])
        yield Loading("worker", str(worker.pid))
        match self._then:
            case "stuck":
                ctypes.PyDLL(None).sleep(1000)  # holds the interpreter's lock: no thread of this process runs on
            case "typed":
                raise PlaygroundError("No such model.", "Take another.", code="no_model")
            case "missing":
                import a_package_that_is_not_there  # noqa: F401
            case "untyped":
                raise RuntimeError("CUDA error: out of memory\nmore")
            case "slow":
                time.sleep(1000)

    def submit(self, run_id, config, prompt):
        if prompt == "refuse":
            raise ValueError("refused")
        self._runs.append(run_id)

    def abort(self, run_id):
        pass

    def events(self):
        while not self._closed.wait(0.01) or self._then == "deaf":
            while self._runs:
                run_id = self._runs.pop()
                if self._then == "break":
                    raise RuntimeError("broken")
                if self._then != "mute":
                    yield run_id, RunFinished("stop", 0.0)

    def close(self):
        self._closed.set()
