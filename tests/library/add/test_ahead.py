"""Work that is done ahead: in order, not too far, and never for nobody."""

import threading
import time

import pytest

from bankml.library.add import ahead
from bankml.library.add.ahead import Ahead


def wait_for(holds):
    for _ in range(10_000):
        if holds():
            return
        time.sleep(0.001)
    raise AssertionError("it never came")


def test_everything_comes_in_order():
    with Ahead(range(2000), lambda number: number * 2, lambda done: 1) as done:
        assert list(done) == list(range(0, 4000, 2))


def test_it_is_ahead_while_the_caller_is_busy():
    begun = threading.Event()

    def work(number: int) -> int:
        if number == 1:
            begun.set()
        return number

    with Ahead(range(2), work, lambda done: 1) as done:
        found = iter(done)
        assert next(found) == 0
        assert begun.wait(10)  # which nobody has asked for yet


def test_it_is_not_too_far_ahead(monkeypatch):
    monkeypatch.setattr(ahead, "ROOM", 100)
    made = []

    def work(number: int) -> int:
        made.append(number)
        return number

    with Ahead(range(50), work, lambda done: 40) as done:
        for taken in done:
            most = min(50, taken + 4)  # two wait to be taken, and one to be among them
            wait_for(lambda most=most: len(made) >= most)
            assert len(made) == most


def test_what_is_heavier_than_the_room_comes_alone():
    with Ahead(range(3), lambda number: number, lambda done: ahead.ROOM * 9) as done:
        assert list(done) == [0, 1, 2]


def test_an_error_comes_behind_what_was_done():
    def work(number: int) -> int:
        if number == 3:
            raise ValueError("three")
        return number

    with Ahead(range(9), work, lambda done: 1) as done:
        taken = iter(done)
        assert [next(taken) for _ in range(3)] == [0, 1, 2]
        with pytest.raises(ValueError, match="three"):
            next(taken)


def test_it_ends_when_the_caller_leaves():
    made = []
    with Ahead(iter(int, 1), lambda number: made.append(number) or number, lambda done: 1) as done:
        next(iter(done))
    assert not done._thread.is_alive()
