"""The product's own server, with a stopwatch at the engine's mouth: `python -m tests.benchmarks.watched_server LOG`.

Appends one JSON line to LOG when a run starts and when it ends, with the wall clock, so that a benchmark in another
process can tell when the engine made its last token. Changes nothing else.
"""

import json
import sys
import time
from collections.abc import Generator
from pathlib import Path

from playground.config import RunConfig
from playground.events import Event, RunFinished, RunStarted, Step
from playground.process import EngineProcess


def watch(log: Path) -> None:
    """From now on every run of every engine process is noted in `log`."""
    generate = EngineProcess.generate

    def watched(self: EngineProcess, run_id: str, config: RunConfig, prompt: str) -> Generator[Event, None, None]:
        started, last_at, reason = 0.0, 0.0, "cancelled"  # a stream that is closed early ends the run so
        events = generate(self, run_id, config, prompt)
        try:
            for event in events:
                if isinstance(event, RunStarted):
                    started = time.time()
                    _note(log, run=run_id, what="started", time=started)
                elif isinstance(event, Step):
                    last_at = event.at
                elif isinstance(event, RunFinished):
                    reason = event.reason
                yield event
        finally:
            events.close()
            _note(log, run=run_id, what=reason, time=time.time(), last_token=started + last_at)

    EngineProcess.generate = watched  # type: ignore[method-assign]


def _note(log: Path, **line: object) -> None:
    with log.open("a") as file:
        file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    from app import main

    watch(Path(sys.argv[1]))
    sys.exit(main())
