"""Where the real servers are on this machine: in this Python, or beside a command of theirs on PATH. Starts nothing."""

import importlib.util
import shutil
import sys
from pathlib import Path


def python_with(package: str, *commands: str) -> str | None:
    """A Python that can import `package`: ours, or the one beside one of its commands on PATH."""
    if importlib.util.find_spec(package) is not None:
        return sys.executable
    for command in commands:
        found = shutil.which(command)
        python = Path(found).parent / "python" if found else None
        if python and python.exists():
            return str(python)
    return None
