"""Threads that the system refuses."""

import threading

import pytest

from bankml.embedders.queries import QueryVectors
from bankml.errors import BusyError
from bankml.history.asked import Asked
from bankml.history.model import Model


@pytest.fixture
def no_threads(monkeypatch):
    def refused(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)


def test_a_query_is_answered_without_and_computed_when_there_are_threads_again(embedder, no_threads, monkeypatch):
    asked = Asked(QueryVectors(embedder))
    with pytest.raises(BusyError, match="can't start new thread"):
        asked.vector("cats", 60)
    monkeypatch.undo()
    assert asked.vector("cats", 60).shape == (384,)


def test_a_model_that_cannot_be_looked_for_is_said(embedder, no_threads):
    model = Model(lambda: embedder)
    assert model.look(None) is None
    assert "can't start new thread" in model.why
    assert not model.looking


def test_a_fault_in_choosing_is_said():
    def broken():
        raise ValueError("out of order")

    model = Model(broken)
    assert model.look(None) is None
    assert model.why == "ValueError: out of order"
