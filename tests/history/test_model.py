"""A model that cannot be looked for."""

import threading

from bankml.history.model import Model


def test_a_thread_that_the_system_refuses_is_said(embedder, monkeypatch):
    def refused(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
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
