"""Stores with records and documents, embedded by a small real model."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from bankml.embedders import Embedder, choose
from bankml.library.model import binding
from bankml.library.model.fingerprint import fingerprint
from bankml.store import DocumentRow, Passage, Store, documents, vectors
from oracle import seeded
from tests.memory.remembered import record, remember

FACTS = (
    ("The cache keeps vectors", "Vectors are kept by the sha256 of their text."),
    ("Postgres is the team's database", "pgvector finds what is near, HNSW makes it fast."),
    ("Tokens expire after an hour", "The token is renewed by auth.py before a request."),
    ("Bread needs flour", "Flour, water, salt, and some hours of patience."),
    ("The cat sleeps on the roof", "A kitten naps in the sun."),
    ("Заметка о базе", "Векторы лежат в таблице."),  # noqa: RUF001
    ("資料庫的決定", "向量存在資料表中。"),
)
DOCUMENTS = {"/team/docs/moon.md": ["The moon orbits the earth.", "Planets circle the sun."]}


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedder]:
    """64 dimensions, of the licence MIT."""
    embedder = choose(name=seeded.tiny(tmp_path_factory.mktemp("tiny") / "tiny.gguf"))
    yield embedder
    embedder.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty one."""
    with Store.create(tmp_path / "base" / "team.db") as store:
        yield store


@pytest.fixture
def filled(store: Store, tiny: Embedder) -> Store:
    """With the facts and the documents."""
    remember(store, tiny, *(record(number, *fact) for number, fact in enumerate(FACTS)))
    for path, texts in DOCUMENTS.items():
        add(store, tiny, path, texts)
    return store


@pytest.fixture
def added() -> Callable[..., None]:
    return add


def add(store: Store, embedder: Embedder | None, path: str, texts: Sequence[str]) -> None:
    """A document of these passages in the place of what it had."""
    row = DocumentRow(path.encode(), "markdown", Path(path).stem, "0" * 64, 1, 0, "1")
    passages = [Passage(text, "", 0, len(text), number, None, 9) for number, text in enumerate(texts, 1)]
    with store.writing() as db:
        new = documents.replace(db, row, passages).added
        if embedder and new:
            binding.check(db, embedder)
            vectors.insert(db, [id for id, _ in new], fingerprint(embedder), embedder.embed([text for _, text in new]))
