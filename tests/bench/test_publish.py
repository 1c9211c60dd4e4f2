"""The bench of publishing, on a small history."""

from bench import publish


def test_figures_of_a_small_history(dsn):
    found = publish.measure(dsn, lines=200, dims=8, characters=100)
    assert (found["first"]["lines"], found["few_beside"]["lines"], found["again"]["lines"]) == (200, 10, 200)
    assert found["first"]["index_seconds"] > 0
    assert found["few_beside"]["index_seconds"] is None
    assert found["recall@10"][200] > 0.9
    assert publish.told(found)[0].startswith("first publishing: 200 lines in ")
