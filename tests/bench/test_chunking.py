"""The bench of cutting, on a little text."""

from bench import chunking


def test_figures_of_one_page():
    page = b"<h1>Guide</h1>" + b"<p>Some words that say something.</p>" * 60
    found = chunking.faq("all-minilm-l6-v2", "", [page])
    assert found["chunks"] > 2
    assert found["tokens"] > 300
    assert 0 < found["share"] < 1


def test_figures_of_one_line():
    found = chunking.endless("word ", 30_000)
    assert found["seconds"] > 0
    assert found["of a third"] > 1
