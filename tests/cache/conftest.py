import pytest

from bankml.cache import Cache, vectors


@pytest.fixture(autouse=True)
def _files_for_few_lines(monkeypatch):
    """Even a few lines have their matrix in a file."""
    monkeypatch.setattr(vectors, "SMALL", 0)


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "x.emb")
