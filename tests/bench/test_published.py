"""The bench of published stores, on small ones."""

from bench import published


def test_figures_of_small_stores(dsn, stocked_home):
    found = published.measure(dsn, ["en"], records=5, queries=3, count=100)
    assert found["answers"]["mean"] >= 0.9
    assert [found["volume"][name]["written"] for name in ("first", "again", "changed")] == [100, 0, 50]
    assert published.told(found)[0].startswith("overlap@10: ")
