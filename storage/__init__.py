"""What was run, remembered: one SQLite file whose schema is public (README.md beside this file)."""

from storage.history import RunPage, RunRow
from storage.recorder import RunInfo
from storage.store import Store

__all__ = ["RunInfo", "RunPage", "RunRow", "Store"]
