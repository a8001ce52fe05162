"""One engine owns a device at a time, across processes: a lock file per device.

The lock is the kernel's (`flock`), so it goes with its holder however that ends; what is written in the file only names
the holder. Knows nothing of engines and never touches the device itself.
"""

import fcntl
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from playground.errors import PlaygroundError
from playground.events import Loading
from playground.sentence import Sentence

POLL = 0.2  # seconds between tries: also how soon a waiting consumer notices that it was closed


class DeviceLock:
    """The right to use one device, held by one `DeviceLock` at a time on this machine.

    `fileno` may be inherited by a child process: the lock is then free only when both have closed it, so that a killed
    parent does not give away a device its child still uses.
    """

    def __init__(self, folder: Path, device: str) -> None:
        """Opens (and makes) the lock file; takes nothing yet.

        Raises:
            PlaygroundError: the folder cannot be written.
        """
        self.device = device
        self.held = False
        self._path = folder / f"{re.sub(r'[^A-Za-z0-9]+', '-', device)}.lock"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise PlaygroundError(
                Sentence("The lock file {path} cannot be opened: {why}.", path=self._path, why=error.strerror),
                Sentence("Give its folder to this user, or choose another with DRAFTBOARD_DATA=/some/folder."),
                code="unwritable",
            ) from None

    def fileno(self) -> int:
        return self._fd

    def acquire(self, purpose: str, cancelled: Callable[[], bool] = lambda: False) -> Iterator[Loading]:
        """Waits until the device is this lock's, yielding `Loading(stage="device")` that names the holder.

        Yields nothing where the device is free at once. Ends without the lock (`held` is False) once `cancelled()`.
        """
        start = time.monotonic()
        while not self._try(purpose) and not cancelled():
            seconds = time.monotonic() - start
            yield Loading(
                "device",
                Sentence("Waiting for {device}, {holder}.", device=self.device, holder=self._holder()),
                None,
                seconds,
            )
            time.sleep(POLL)

    def release(self) -> None:
        """Gives the device back; the file stays, and stale content blocks nobody."""
        if self.held:
            self.held = False
            os.ftruncate(self._fd, 0)
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def close(self) -> None:
        """Forgets the lock in this process; an heir of `fileno` keeps it until it ends."""
        fd, self._fd, self.held = self._fd, -1, False
        if fd >= 0:
            os.close(fd)

    def _try(self, purpose: str) -> bool:
        if self.held:
            return True
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        self.held = True
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, json.dumps({"pid": os.getpid(), "purpose": purpose}).encode(), 0)
        return True

    def _holder(self) -> str:
        """Who has it, in words; the file may be half-written or the holder just gone."""
        try:
            content = json.loads(os.pread(self._fd, 4096, 0))
            return Sentence("used by process {pid}: {purpose}", pid=int(content["pid"]), purpose=content["purpose"])
        except (ValueError, KeyError, TypeError):
            return Sentence("used by another process")
