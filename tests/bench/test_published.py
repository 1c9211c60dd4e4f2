"""The bench of published stores, on small ones."""

from bench import published


def test_figures_of_small_stores(dsn, stocked_home):
    found = published.measure(dsn, ["en"], records=5, queries=3, count=100)
    assert min(found["answers"][kind]["mean"] for kind in ("own", "questions")) >= 0.9
    assert [found["volume"][name]["written"] for name in ("first", "again", "changed")] == [100, 0, 50]
    own, asked, *_ = published.told(found)
    assert "own titles and sentences" in own
    assert "questions of the FAQ" in asked
