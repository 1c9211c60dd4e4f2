"""The upkeep of a small knowledge base is timed."""

from bench import upkeep


def test_figures_of_a_small_one(monkeypatch):
    monkeypatch.setattr(upkeep.sections, "sections", lambda language: ["some words of a text"] * 200)
    found = upkeep.measured(120, 32)
    assert set(found) >= {"swap", "removing the old, longest", "status", "doctor: words", "doctor: matrix"}
    assert all(ms > 0 for ms in found.values())
