"""Which process records a run, and whether it still lives.

A process is its id and its start time, because ids are used again.
"""

import os
from functools import cache

import psutil

_CLOCK_SLACK = 2.0  # seconds: start times are derived from a wall clock that may be corrected meanwhile


def this_process() -> tuple[int, float]:
    """(process id, start time in seconds since 1970) of this process."""
    return os.getpid(), _started(os.getpid())


def lives(process_id: int | None, started: float | None) -> bool:
    """Whether that process still runs."""
    if process_id is None or started is None:
        return False
    if process_id == os.getpid():
        return abs(_started(process_id) - started) <= _CLOCK_SLACK
    try:
        process = psutil.Process(process_id)
        same = abs(float(process.create_time()) - started) <= _CLOCK_SLACK
        return same and bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True


@cache
def _started(process_id: int) -> float:
    return float(psutil.Process(process_id).create_time())
