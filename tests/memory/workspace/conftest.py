"""Stores of repositories, made of records."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bankml.embedders import Embedder, choose
from bankml.store import Store
from tests.memory.remembered import remember


@pytest.fixture(scope="session")
def minilm_embedder(minilm: Path) -> Iterator[Embedder]:
    embedder = choose(name=str(minilm))
    yield embedder
    embedder.close()


@pytest.fixture
def make(tmp_path: Path, minilm_embedder: Embedder) -> Iterator[Callable]:
    """A store of some records in a folder of this name."""
    stores = []

    def make(name: str, *given, embedder: Embedder | None = minilm_embedder) -> Store:
        store = Store.create(tmp_path / name / "kb.db")
        stores.append(store)
        remember(store, embedder, *given)
        return store

    yield make
    for store in stores:
        store.close()
