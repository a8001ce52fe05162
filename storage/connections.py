"""Connections to one SQLite file: opened, pooled, and every failure of theirs as one sentence with its fix.

A connection is borrowed for one read or one transaction and never held while a generator waits, so that threads of the
page and other processes always find the file free. Knows SQLite and the schema's migrations; no runs, no events.
"""

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from playground.errors import PlaygroundError
from playground.sentence import Sentence

if TYPE_CHECKING:
    from sqlite_utils import Database

PATIENCE = 10.0
"""Seconds a read, or a write that must succeed, waits for other writers."""

BRIEF_PATIENCE = 0.2
"""Seconds a write waits that can be done later, while somebody waits for what is behind it."""


class Connections:
    """A pool of connections to `path`: thread-safe, as many as are in use at once.

    Raises:
        PlaygroundError: from the constructor, where the file cannot be opened, is no database, or is too new.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._free: list[Database] = []
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _cannot_open(path, error.strerror or str(error)) from None
        with self.writing() as db:
            from storage.schema import migrate  # sqlite_utils takes a second to import; `--help` needs none of it

            migrate(db)

    @contextmanager
    def reading(self) -> Iterator["Database"]:
        """A connection for queries; each statement sees the newest committed state."""
        db = self._take()
        try:
            yield db
        except sqlite3.Error as error:
            raise storage_error(self.path, error) from error
        finally:
            self._give(db)

    @contextmanager
    def writing(self, patience: float = PATIENCE) -> Iterator["Database"]:
        """A connection inside one transaction, committed at the end of the block, undone by an exception in it.

        Args:
            patience: seconds to wait for another writer before giving up.
        """
        with self.reading() as db:
            try:
                db.execute(f"PRAGMA busy_timeout = {int(patience * 1000)}")
                # IMMEDIATE: take the write lock now. A transaction that reads first and writes later fails at once,
                # without waiting, when another process wrote in between.
                db.execute("BEGIN IMMEDIATE")
                yield db
                db.execute("COMMIT")
            except BaseException:
                db.rollback()
                raise
            finally:
                db.execute(f"PRAGMA busy_timeout = {int(PATIENCE * 1000)}")

    def close(self) -> None:
        """Close the idle connections; the last one to close folds the write-ahead log into the file."""
        with self._lock:
            while self._free:
                self._free.pop().close()

    def _take(self) -> "Database":
        with self._lock:
            if self._free:
                return self._free.pop()
        try:
            return _connect(self.path)
        except sqlite3.Error as error:
            raise storage_error(self.path, error) from error

    def _give(self, db: "Database") -> None:
        with self._lock:
            self._free.append(db)


def _connect(path: Path) -> "Database":
    connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    try:
        connection.row_factory = sqlite3.Row
        _log_ahead(connection)
        # With WAL, NORMAL loses nothing when a process dies, and at most the last commits when the machine does.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA cache_size = -16000")
    except sqlite3.Error:
        connection.close()
        raise
    from sqlite_utils import Database

    return Database(connection, recursive_triggers=False, execute_plugins=False)


def _log_ahead(connection: sqlite3.Connection) -> None:
    """Write-ahead logging. SQLite does not wait by itself while another process switches the same new file to it."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > deadline:
                raise
        time.sleep(0.02)


def storage_error(path: Path, error: sqlite3.Error) -> PlaygroundError:
    """What SQLite could not do, as a sentence and its fix."""
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return PlaygroundError(
            Sentence("The database {path} is locked by another program.", path=path),
            Sentence(
                "Close what holds it (another Draftboard, a database browser with unsaved changes) and try again."
            ),
            code="database_locked",
        )
    if name == "SQLITE_FULL":
        return PlaygroundError(
            Sentence("The disk of {path} is full.", path=path),
            Sentence("Free some space (old runs can be deleted in the History tab), then run again."),
            code="disk_full",
        )
    if name in ("SQLITE_NOTADB", "SQLITE_CORRUPT") or name.startswith("SQLITE_CORRUPT"):
        return PlaygroundError(
            Sentence("The file {path} is damaged or no SQLite database.", path=path),
            Sentence(
                "Move it away to start afresh, or try to save its runs: sqlite3 {path} .recover | sqlite3 saved.db",
                path=path,
            ),
            code="database_damaged",
        )
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")):
        return _cannot_open(path, str(error))
    return PlaygroundError(
        Sentence("The database {path} failed: {why}.", path=path, why=error),
        Sentence("Check the disk and its free space; what was recorded before is still there."),
        code="database_failed",
    )


def _cannot_open(path: Path, why: str) -> PlaygroundError:
    return PlaygroundError(
        Sentence("The database {path} cannot be opened for writing: {why}.", path=path, why=why),
        Sentence(
            "Give the file and its folder to this user, or choose another with DRAFTBOARD_DATABASE=/some/file.db."
        ),
        code="unwritable",
    )
