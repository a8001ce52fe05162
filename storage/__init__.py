"""What was run, remembered: one SQLite file whose schema is public (README.md beside this file)."""

from storage.history import RunPage, RunRow
from storage.store import Store
from storage.writer import RunInfo

__all__ = ["RunInfo", "RunPage", "RunRow", "Store"]
