"""The device lock across processes."""

import subprocess
import sys
import threading

import pytest

from playground.devices import DeviceLock
from playground.errors import PlaygroundError

HOLD = """
import sys, pathlib
from playground.devices import DeviceLock
lock = DeviceLock(pathlib.Path(sys.argv[1]), "cuda:0")
list(lock.acquire("benchmark of x"))
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_waiting_names_the_holder_and_kill_9_frees(tmp_path, holder):
    """A holder killed with -9 leaves a stale file that blocks nobody."""
    lock = DeviceLock(tmp_path, "cuda:0")
    waiting = lock.acquire("a run")
    loading = next(waiting)
    assert loading.stage == "device"
    assert loading.detail == f"Waiting for cuda:0, used by process {holder.pid}: benchmark of x."
    assert not lock.held
    holder.kill()
    list(waiting)
    assert lock.held


def test_other_devices_are_free(tmp_path, holder):
    lock = DeviceLock(tmp_path, "cuda:1")
    assert list(lock.acquire("a run")) == []
    assert lock.held


def test_cancelled_wait_holds_nothing(tmp_path, holder):
    lock = DeviceLock(tmp_path, "cuda:0")
    stop = threading.Event()
    waiting = lock.acquire("a run", stop.is_set)
    next(waiting)
    stop.set()
    assert list(waiting) == []
    assert not lock.held


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xff", b"[]", b'{"pid": "x"}', b'{"pid": 1}'])
def test_unreadable_content_neither_blocks_nor_breaks(tmp_path, content):
    first, second = DeviceLock(tmp_path, "cpu"), DeviceLock(tmp_path, "cpu")
    (tmp_path / "cpu.lock").write_bytes(content)
    assert list(first.acquire("a run")) == []
    (tmp_path / "cpu.lock").write_bytes(content)
    assert next(second.acquire("b")).detail == "Waiting for cpu, used by another process."
    first.release()
    assert list(second.acquire("b")) == []


def test_an_heir_keeps_the_device(tmp_path):
    """A child that inherited the lock keeps the device until it ends, whatever its parent does."""
    lock, other = DeviceLock(tmp_path, "cpu"), DeviceLock(tmp_path, "cpu")
    list(lock.acquire("a run"))
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[lock.fileno()]) as child:
        lock.close()
        next(waiting := other.acquire("b"))
        child.stdin.close()
        child.wait()
    list(waiting)
    assert other.held


def test_unwritable_folder_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(PlaygroundError, match="lock file") as caught:
        DeviceLock(tmp_path / "file" / "locks", "cpu")
    assert caught.value.code == "unwritable"
