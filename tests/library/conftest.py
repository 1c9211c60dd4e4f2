"""A store of the test's own, and small models that embed hundreds of texts in no time."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from bankml.embedders import Embedder, choose
from bankml.settings import Settings
from bankml.store import DocumentRow, Passage, Store, documents
from oracle import seeded


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a knowledge base is to be made."""
    return tmp_path / "base" / "kb.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    """A new one, bound to no model."""
    with Store.create(path) as store:
        yield store


@pytest.fixture
def settings() -> Settings:
    return Settings.read()


@pytest.fixture
def put() -> Callable[..., list[int]]:
    """Puts a document of these passages into a store, without vectors; the ids of its new chunks."""

    def put(store: Store, path: str, texts: Sequence[str], **row: object) -> list[int]:
        passages = [Passage(text, "", 0, len(text), 1, None, len(text.split()) + 2) for text in texts]
        facts = {"type": "text", "title": path, "sha256": "0" * 64, "size": 1, "modified": 0, "recipe": "1"} | row
        with store.writing() as db:
            return [number for number, _ in documents.replace(db, DocumentRow(path.encode(), **facts), passages).added]

    return put


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of 64 dimensions."""
    return seeded.tiny(tmp_path_factory.mktemp("small") / "small.gguf")


@pytest.fixture(scope="session")
def smaller(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of 32 dimensions."""
    return seeded.tiny(tmp_path_factory.mktemp("smaller") / "smaller.gguf", hidden=32, seed=1)


@pytest.fixture
def embedder() -> Callable[[Path], Embedder]:
    """Of a model's file."""
    return lambda path: choose(name=path)
