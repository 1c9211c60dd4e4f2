"""A store of the test's own, and a model that is loaded once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bankml.embedders import Embedder, choose
from bankml.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.create(tmp_path / "base" / "kb.db") as store:
        yield store


@pytest.fixture(scope="session")
def minilm_embedder(minilm: Path) -> Iterator[Embedder]:
    embedder = choose(name=str(minilm))
    yield embedder
    embedder.close()
