"""Makes the virtual environment `.venv` with the pinned dependencies: what `make run` and `make test` begin with.

Run by any Python >= 3.11 before anything is installed, so: standard library only, and no import of ours. Knows nothing
of the product. Usage: `python3 -I playground/bootstrap.py run|test`.
"""

import fcntl
import hashlib
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
KINDS = {"run": "", "test": "[test]"}
"""Kind of environment -> the extras of pyproject.toml it needs; "test" holds all of "run"."""

TORCH_INDEX = "TORCH_INDEX"
"""Variable naming another index for PyTorch alone, such as PyTorch's own one with CPU builds."""


def main(kind: str) -> int:
    if kind not in KINDS:
        return _say(f"Choose one of: {', '.join(KINDS)}.")
    VENV.mkdir(exist_ok=True)
    with _locked(VENV / "bootstrap.lock"):
        if _is_ready(kind):
            return 0
        if problem := _cannot_make_venv():
            return _say(problem)
        if not _has_pip():
            print("Making a virtual environment in .venv", flush=True)
            if subprocess.run([sys.executable, "-m", "venv", str(VENV)]).returncode:
                return _say("The virtual environment could not be made; the lines above say why.")
        print(f"Installing the pinned dependencies into .venv (once, {_size()})", flush=True)
        if _install(kind):
            return _say(
                "The dependencies could not be installed; pip says why above. The first time needs the network and "
                "some GB of disk. The same command again goes on from here."
            )
        _stamp(kind).write_text(_fingerprint())
    return 0


def _is_ready(kind: str) -> bool:
    """Whether .venv already holds `kind` as pyproject.toml now asks for it, from this folder."""
    stamps = [_stamp("test"), _stamp(kind)]
    return PYTHON.exists() and any(s.exists() and s.read_text() == _fingerprint() for s in stamps)


def _stamp(kind: str) -> Path:
    return VENV / f"installed-{kind}"


def _fingerprint() -> str:
    """Changes with the wanted packages, the folder (an editable install points at it) and the interpreter."""
    parts = [(ROOT / name).read_bytes() for name in ("pyproject.toml", "constraints.txt")]
    config = VENV / "pyvenv.cfg"
    parts += [str(ROOT).encode(), config.read_bytes() if config.exists() else b""]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _cannot_make_venv() -> str:
    try:
        import ensurepip
        import venv  # noqa: F401
    except ImportError:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        return (
            f"This Python {version} cannot make virtual environments: its ensurepip or venv module is not installed. "
            f"On Debian or Ubuntu: apt-get install python{version}-venv; elsewhere install Python from python.org."
        )
    return "" if ensurepip.version() else "This Python's ensurepip carries no pip; install Python from python.org."


def _has_pip() -> bool:
    """False also for a half-made environment, which `python -m venv` then completes in place."""
    if not PYTHON.exists():
        return False
    return subprocess.run([str(PYTHON), "-m", "pip", "--version"], capture_output=True).returncode == 0


def _install(kind: str) -> int:
    """pip's exit code. The constraints pin every package, also those that ours need."""
    command = [str(PYTHON), "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
    if index := os.environ.get(TORCH_INDEX):
        command += ["--extra-index-url", index]
    command += ["--constraint", str(ROOT / "constraints.txt"), "--editable", f"{ROOT}{KINDS[kind]}"]
    return subprocess.run(command, cwd=ROOT).returncode


def _size() -> str:
    """What to expect: on x86-64 Linux PyTorch comes with CUDA unless another index gives a CPU build."""
    if not sysconfig.get_platform().startswith("linux-x86") or os.environ.get(TORCH_INDEX):
        return "about 2 GB"
    gpu = Path("/proc/driver/nvidia").exists() or Path("/dev/nvidia0").exists() or Path("/dev/dxg").exists()
    return "2 to 6 GB" if gpu else f"2 to 6 GB; no NVIDIA GPU here, so {TORCH_INDEX}=... may save some, see README.md"


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One at a time. The system drops the lock with the process, so that a killed one leaves nothing stale."""
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Another make is setting up .venv; waiting for it.", flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _say(problem: str) -> int:
    print(problem, file=sys.stderr, flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "run"))
