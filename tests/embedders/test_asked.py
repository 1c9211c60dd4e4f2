"""A query for which the system refuses a thread."""

import threading
from contextlib import closing

import pytest

from bankml.embedders import choose
from bankml.embedders.asked import Asked
from bankml.embedders.queries import QueryVectors
from bankml.errors import BusyError


def test_a_query_is_answered_without_and_computed_when_there_are_threads_again(minilm, monkeypatch):
    def refused(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    embedder = choose(name=minilm)
    with closing(embedder):
        asked = Asked(QueryVectors(embedder))
        with pytest.raises(BusyError, match="can't start new thread"):
            asked.vector("cats", 60)
        monkeypatch.undo()
        assert asked.vector("cats", 60).shape == (384,)
