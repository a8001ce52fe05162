"""Long work: it goes on without followers, stops when asked, and says why it failed."""

import threading

import pytest

from playground.errors import PlaygroundError
from playground.work import Works


def counting(go, closed=None):
    try:
        for number in range(1000):
            yield number
            go.wait(0.01)
    finally:
        if closed is not None:
            closed.set()


def test_it_goes_on_without_followers_and_stops_when_asked():
    works, closed = Works(), threading.Event()
    work = works.start("bench-1", lambda: counting(threading.Event(), closed))
    stream = work.follow()
    next(stream)
    stream.close()
    again = work.follow()
    seen = next(again)
    while work.latest is None or work.latest < (seen or 0) + 3:
        next(again)
    assert works.find("bench") is work
    work.stop()
    list(again)
    work.join(10)
    assert closed.is_set()
    assert work.ended
    assert works.find("bench") is None


def test_a_follower_hears_the_last_stage():
    work = Works().start("x", lambda: iter([1, 2, 3]))
    assert list(work.follow())[-1] == 3


def test_failures_are_kept_in_words():
    def failing():
        yield 1
        raise PlaygroundError("No room.", "Make some.")

    def broken():
        yield 1
        raise ValueError("odd")

    work = Works().start("x", failing)
    work.join(10)
    assert work.error.message == "No room."
    work = Works().start("x", broken)
    work.join(10)
    assert work.error.code == "internal"


def test_one_name_runs_once():
    works = Works()
    go = threading.Event()
    works.start("x", lambda: counting(go))
    with pytest.raises(PlaygroundError, match="is running"):
        works.start("x", lambda: iter(()))
    works.stop_all()
    works.start("x", lambda: iter(())).join(10)
