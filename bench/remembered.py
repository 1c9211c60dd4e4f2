"""Stores of records and documents for benches: of real texts with their own vectors, or with random ones."""

import sqlite3
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from bankml.embedders import Embedder
from bankml.embedders.embedder import Floats
from bankml.evaluation.model import Model
from bankml.library.model import binding
from bankml.library.model.configuration import Configuration
from bankml.library.model.fingerprint import fingerprint
from bankml.memory.passages import cut
from bankml.store import DocumentRow, Passage, Record, Store, documents, records, vectors
from bankml.store.documents import Replaced
from bankml.store.record import new_id
from bench.nearest import random_rows
from bench.passages import passages

MOMENT = 1_700_000_000_000_000  # microseconds: when all were written
BATCH = 1_000  # records of a transaction


class Shelf:
    """A new store that is bound to a model, whose vectors are kept from run to run."""

    def __init__(self, path: Path, embedder: Embedder, model: Model) -> None:
        self.store, self._embedder, self._model = _created(path, embedder), embedder, model
        self._recipe, self._configuration = fingerprint(embedder), Configuration.read(path)

    def remember(self, texts: Sequence[tuple[str, str]]) -> list[str]:
        """Titles and contents as records, cut as `bankml remember` cuts them; their ids."""
        made = [Record(new_id(), title, content, MOMENT, MOMENT) for title, content in texts]
        cuts = [cut(one.title, one.text, self._embedder, self._configuration) for one in made]
        self._model.documents([passage.embedded for one in cuts for passage in one.passages])  # in one progress
        for record, one in zip(made, cuts, strict=True):
            with self.store.writing() as db:
                self._embed(db, records.put(db, record, one.passages, one.recipe))
        return [one.id for one in made]

    def add(self, name: str, texts: Sequence[str]) -> int:
        """Passages, as a document of this name; its id."""
        row = DocumentRow(f"/faq/{name}".encode(), "text", "", "0" * 64, 1, 0, "1")
        with self.store.writing() as db:
            replaced = documents.replace(db, row, [Passage(text, "", 0, len(text), 1, None, 200) for text in texts])
            self._embed(db, replaced)
        return replaced.document_id

    def _embed(self, db: sqlite3.Connection, replaced: Replaced) -> None:
        ids, texts = zip(*replaced.added, strict=True)
        vectors.insert(db, ids, self._recipe, self._model.documents(texts))


def many(path: Path, embedder: Embedder, count: int) -> Store:
    """So many records of a passage each, real sentences with random vectors: what these say changes no time."""
    store, rows, source = _created(path, embedder), random_rows(count, embedder.dims), passages(["en"], count)
    for start in range(0, count, BATCH):
        _batch(store, fingerprint(embedder), rows[start : start + BATCH], list(islice(source, BATCH)))
    return store


def _batch(store: Store, recipe: str, rows: Floats, texts: Sequence[str]) -> None:
    with store.writing() as db:
        for row, text in zip(rows, texts, strict=True):
            record = Record(new_id(), f"Note {text[:40]}", text, MOMENT, MOMENT)
            replaced = records.put(db, record, [Passage(text, record.title, 0, len(text), None, None, 200)], "1")
            vectors.insert(db, [id for id, _ in replaced.added], recipe, row[None])


def _created(path: Path, embedder: Embedder) -> Store:
    store = Store.create(path)
    with store.writing() as db:
        binding.check(db, embedder)
    return store
