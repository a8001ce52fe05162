"""How much of a span other programs held the processor that this process wanted: the system's own account of it.

Linux counts, for each thread, the time it was ready to run and had to wait (`/proc/PID/task/TID/schedstat`, second
figure), and for the whole machine the time its host gave to others (`/proc/stat`, steal). A speed measured while either
is large is not the machine's. Knows no run and no engine.
"""

import os
import time
from pathlib import Path

COMPUTES = 0.25
"""A thread that ran for less than this share of the span did no computing; that it waited cost nothing."""

THREADS, MACHINE = Path("/proc/self/task"), Path("/proc/stat")


class ProcessorWait:
    """Begins a span; `share()` tells what of it was waited.

    Args:
        threads, machine: where the system keeps its account; others in tests.
    """

    def __init__(self, threads: Path = THREADS, machine: Path = MACHINE) -> None:
        self._threads, self._machine = threads, machine
        self._began = time.monotonic()
        self._at_first = _ran_and_waited(threads)
        self._stolen_at_first = _stolen(machine)

    def share(self) -> float | None:
        """Waited time / passed time, 0 to 1, of the thread that waited longest among those that compute: threads of
        one multiplication wait for each other. None where the system does not say (no Linux), or nothing computed here.
        """
        passed = time.monotonic() - self._began
        now = _ran_and_waited(self._threads)
        if passed <= 0 or not now:
            return None
        spans = {
            thread: (
                ran - self._at_first.get(thread, (0.0, 0.0))[0],
                waited - self._at_first.get(thread, (0.0, 0.0))[1],
            )
            for thread, (ran, waited) in now.items()
        }
        waits = [waited for ran, waited in spans.values() if ran + waited >= COMPUTES * passed]
        if not waits:
            return None
        stolen = (_stolen(self._machine) - self._stolen_at_first) / (os.cpu_count() or 1)
        return min(1.0, max(0.0, (max(waits) + stolen) / passed))


def _ran_and_waited(threads: Path) -> dict[str, tuple[float, float]]:
    """Per thread (seconds on a processor, seconds ready and waiting for one); empty where there is no such account."""
    found = {}
    try:
        names = os.listdir(threads)
    except OSError:
        return {}
    for name in names:
        try:
            ran, waited, _ = (threads / name / "schedstat").read_text(encoding="ascii").split()
            found[name] = (int(ran) / 1e9, int(waited) / 1e9)
        except (OSError, ValueError):
            continue  # a thread that has just ended, or a system without the account
    return found


def _stolen(machine: Path) -> float:
    """Seconds, summed over processors, that the host gave to others; 0 where it does not say."""
    try:
        first = machine.read_text(encoding="ascii").split("\n", 1)[0].split()
        return int(first[8]) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0
