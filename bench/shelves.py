"""Libraries that keep texts with their vectors and search them: bankml's store and those that people take from PyPI.

Each is given the same texts and vectors, and used as its own documentation does it: its defaults, its fastest way to
add many, cosine, the texts of what is found in every answer. What a library has not (ranking by words in chromadb)
is left out. Nothing of one is imported where another is measured.
"""

import logging
import os
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from bench.job import Floats, Job

Search = Callable[[str, Floats], list[int]]
"""A question and its vector (dims,): the numbers of the k best texts, best first."""

Stage = tuple[str, Callable[[], None], dict[str, Search]]
"""What is made, who makes it, and the searches by "words", "meaning" and "fused" that are to be had then."""

LANCE_LANGUAGES = {"de": "German", "fr": "French", "it": "Italian", "nl": "Dutch", "pt": "Portuguese", "ru": "Russian"}
UNSPACED = ("ja", "ko", "zh-cn")


class Shelf(Protocol):
    """One library with one folder. A stage is on the disk when its maker has returned and its files are synced."""

    def __init__(self, folder: Path, job: Job, vectors: Floats, asked: Floats) -> None: ...
    @property
    def version(self) -> str: ...
    def stages(self) -> list[Stage]: ...


class Bankml:
    """The store, filled through its own API (SQLite, a write-ahead log, synchronous=FULL), 1,000 texts a transaction.

    It embeds a question by itself: here it is given the vector.
    """

    def __init__(self, folder: Path, job: Job, vectors: Floats, asked: Floats) -> None:
        from bankml.embedders import choose

        self._path, self._job, self._vectors = folder / "kb.db", job, vectors
        self._embedder = _Given(choose(name=job.model), dict(zip(job.questions, asked, strict=True)))
        self._searcher: Any = None
        self._numbers: dict[int, int] = {}

    @property
    def version(self) -> str:
        return version("bankml")

    def stages(self) -> list[Stage]:
        return [("", self._fill, {mode: self._search(mode) for mode in ("words", "meaning", "fused")})]

    def _fill(self) -> None:
        from bankml.library.search.searcher import Searcher
        from bench.passages import stored

        store, ids = stored(self._path, self._embedder, iter(self._job.texts), self._vectors)
        self._numbers = {id: number for number, id in enumerate(ids)}
        self._searcher = Searcher(store, lambda: self._embedder)

    def _search(self, mode: str) -> Search:
        return lambda question, _: [
            self._numbers[hit.id] for hit in self._searcher.search(question, self._job.k, mode).results
        ]


class _Given:
    """An embedder that knows the vectors of the questions."""

    def __init__(self, embedder: Any, known: dict[str, Floats]) -> None:
        self._embedder, self._known = embedder, known

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)

    def embed(self, texts: list[str], **_: Any) -> Floats:
        (text,) = texts
        return self._known[text][None]


class Chroma:
    """chromadb's PersistentClient (SQLite, and HNSW written every 1,000 texts), as many texts a call as it takes."""

    def __init__(self, folder: Path, job: Job, vectors: Floats, asked: Floats) -> None:
        import chromadb

        settings = chromadb.config.Settings(anonymized_telemetry=False)
        self._client = chromadb.PersistentClient(str(folder), settings=settings)
        self._collection = self._client.create_collection(
            "texts", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )
        self._job, self._vectors = job, vectors

    @property
    def version(self) -> str:
        return version("chromadb")

    def stages(self) -> list[Stage]:
        return [("", self._fill, {"meaning": self._meaning})]

    def _fill(self) -> None:
        most = self._client.get_max_batch_size()
        for start in range(0, len(self._job.texts), most):
            texts = list(self._job.texts[start : start + most])
            ids = [str(start + number) for number in range(len(texts))]
            self._collection.add(ids=ids, embeddings=self._vectors[start : start + most], documents=texts)

    def _meaning(self, _: str, vector: Floats) -> list[int]:
        found = self._collection.query(query_embeddings=[vector], n_results=self._job.k, include=["documents"])
        return [int(id) for id in found["ids"][0]]


class Lance:
    """lancedb on a folder: one table in one call, its full-text index in the texts' language; vectors are searched
    exactly, as it does by itself, and then by its index IVF_HNSW_SQ. Its fusion is reciprocal rank."""

    def __init__(self, folder: Path, job: Job, vectors: Floats, asked: Floats) -> None:
        import lancedb

        self._db = lancedb.connect(str(folder))
        self._job, self._vectors = job, vectors
        self._table: Any = None

    @property
    def version(self) -> str:
        return version("lancedb")

    def stages(self) -> list[Stage]:
        every = {"words": self._words, "meaning": self._meaning, "fused": self._fused}
        return [("", self._fill, every), ("IVF_HNSW_SQ", self._index, {"meaning": self._meaning, "fused": self._fused})]

    def _fill(self) -> None:
        import pyarrow
        from lancedb.index import FTS

        dims = self._vectors.shape[1]
        rows = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(self._vectors.ravel()), dims)
        ids = pyarrow.array(range(len(self._job.texts)), pyarrow.int64())
        texts = pyarrow.array(self._job.texts, pyarrow.string())
        self._table = self._db.create_table("texts", pyarrow.table({"id": ids, "text": texts, "vector": rows}))
        unspaced = {"base_tokenizer": "ngram", "ngram_min_length": 2, "ngram_max_length": 2, "stem": False}
        spaced = {"language": LANCE_LANGUAGES.get(self._job.language, "English")}
        settings = unspaced if self._job.language in UNSPACED else spaced
        self._table.create_index("text", config=FTS(**settings))
        self._table.wait_for_index(["text_idx"])

    def _index(self) -> None:
        from lancedb.index import HnswSq

        self._table.create_index("vector", config=HnswSq(distance_type="cosine"))
        self._table.wait_for_index(["vector_idx"])

    def _words(self, question: str, _: Floats) -> list[int]:
        return self._found(self._table.search(_match(question), query_type="fts"), "_score")

    def _meaning(self, _: str, vector: Floats) -> list[int]:
        return self._found(self._table.search(vector).distance_type("cosine"), "_distance")

    def _fused(self, question: str, vector: Floats) -> list[int]:
        both = self._table.search(query_type="hybrid").vector(vector).text(_match(question)).distance_type("cosine")
        return [row["id"] for row in both.limit(self._job.k).to_list()]

    def _found(self, query: Any, score: str) -> list[int]:
        return [row["id"] for row in query.select(["id", "text", score]).limit(self._job.k).to_list()]


def _match(question: str) -> Any:
    """A question whose signs mean nothing."""
    from lancedb.query import MatchQuery

    return MatchQuery(question, "text")


class Txtai:
    """txtai with its defaults: faiss (exact up to 5,000 texts, cells above), texts in SQLite, BM25; saved at the end.

    It embeds by a function, which here knows the vectors. An index of both arms always asks both, so that meaning is
    searched in another one without words.
    """

    def __init__(self, folder: Path, job: Job, vectors: Floats, asked: Floats) -> None:
        from txtai import Embeddings

        known = dict(zip(job.texts, vectors, strict=True)) | dict(zip(job.questions, asked, strict=True))

        def embed(texts: list[str]) -> Floats:
            import numpy as np

            return np.stack([known[text] for text in texts])

        given = {"method": "external", "transform": embed, "content": True}
        self._folder, self._job = folder, job
        self._both, self._meaning = Embeddings(**given, hybrid=True), Embeddings(**given)

    @property
    def version(self) -> str:
        return version("txtai")

    def stages(self) -> list[Stage]:
        return [
            ("vectors alone", lambda: self._fill(self._meaning, "meaning"), {"meaning": self._search(self._meaning)}),
            ("both", lambda: self._fill(self._both, "both"), {"fused": self._search(self._both)}),
        ]

    def _fill(self, embeddings: Any, name: str) -> None:
        embeddings.index((number, text, None) for number, text in enumerate(self._job.texts))
        embeddings.save(str(self._folder / name))

    def _search(self, embeddings: Any) -> Search:
        return lambda question, _: [int(hit["id"]) for hit in embeddings.search(question, self._job.k)]


SHELVES: dict[str, type[Shelf]] = {"bankml": Bankml, "chromadb": Chroma, "lancedb": Lance, "txtai": Txtai}


def quiet() -> None:
    """No library calls home, and none's warnings stand between the figures."""
    os.environ |= {"ANONYMIZED_TELEMETRY": "False", "HF_HUB_OFFLINE": "1", "RUST_LOG": "error", "LANCE_LOG": "error"}
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
