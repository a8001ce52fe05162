"""The processes that this test process has started: of an engine that was closed, none may be left.

A session's browser and pages stay up between tests, so a test compares with what was there when it began.
"""

import psutil


def children() -> set[psutil.Process]:
    """Every descendant of this process."""
    return set(psutil.Process().children(recursive=True))
