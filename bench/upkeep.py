"""What the upkeep of a large knowledge base takes: the swap at the end of a reindex, `status`, each check of `doctor`.

`python -m bench.upkeep [--chunks N] [--dims D]`. Vectors are random: what they say changes no time. Of the model, a
seeded one, only the file is looked at.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bankml.embedders import Embedder, choose
from bankml.library.model.fingerprint import fingerprint
from bankml.library.upkeep import doctor
from bankml.library.upkeep.status import status
from bankml.settings import Settings
from bankml.store import Bound, DocumentRow, Passage, Store, documents, successor, vectors
from bench import sections
from oracle import seeded

WORDS = 180  # of a chunk: some 256 tokens
DOCUMENT = 50  # chunks
STATUS_MS = 300.0  # promised for 100,000 chunks


def filled(path: Path, count: int, embedder: Embedder) -> Store:
    """A store of `count` chunks, pieces of the Debian FAQ, with random vectors."""
    words = " ".join(sections.sections("en")).split()
    chance = np.random.Generator(np.random.Philox(key=count))
    store = Store.create(path)
    bound = Bound(embedder.reference, embedder.dims, embedder.digest, fingerprint(embedder))
    with store.writing() as db:
        vectors.create(db, bound.dims)
        bound.write(db)
    for first in range(0, count, DOCUMENT):
        passages = []
        for number in range(first, min(first + DOCUMENT, count)):
            start = int(chance.integers(0, len(words) - WORDS))
            text = f"{number} " + " ".join(words[start : start + WORDS])
            passages.append(Passage(text, "", 0, len(text), 1, None, 256))
        row = DocumentRow(b"document %d" % first, "text", "T", "0" * 64, 1, 0, "1")
        with store.writing() as db:
            ids = [chunk_id for chunk_id, _ in documents.replace(db, row, passages).added]
            vectors.insert(db, ids, bound.fingerprint, _unit(chance, len(ids), bound.dims))
    return store


def succeeded(store: Store, bound: Bound) -> dict[str, float]:
    """Milliseconds of the last transaction of a reindex, and of those that remove what it replaced."""
    chance = np.random.Generator(np.random.Philox(key=3))
    with store.writing() as db:
        successor.begin(db, bound)
        keys = successor.lacking(db, bound)
    for start in range(0, len(keys), 1000):
        part = keys[start : start + 1000]
        with store.writing() as db:
            successor.insert(db, part, _unit(chance, len(part), bound.dims), bound, ())

    def finish() -> None:
        with store.writing() as db:
            assert not successor.lacking(db, bound)
            successor.finish(db, bound)

    swap = _ms(finish)
    removals = list(_removals(store))
    return {"swap": swap, "removing the old, in all": sum(removals), "removing the old, longest": max(removals)}


def _removals(store: Store) -> Iterator[float]:
    more = True
    while more:
        begun = time.perf_counter()
        with store.writing() as db:
            more = vectors.sweep(db)
        yield (time.perf_counter() - begun) * 1000


def looked_at(store: Store, settings: Settings) -> dict[str, float]:
    """Milliseconds of a status, the best of three, and of each check of doctor."""
    found = {"status": min(_ms(lambda: status(store, settings)) for _ in range(3))}
    for name, check in doctor.checks(store, settings):
        found[f"doctor: {name}"] = _ms(check)
    return found


def _unit(chance: np.random.Generator, count: int, dims: int) -> NDArray[np.float32]:
    rows = chance.standard_normal((count, dims), np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _ms(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    call()
    return (time.perf_counter() - begun) * 1000


def measured(count: int, dims: int) -> dict[str, float]:
    """Milliseconds by name."""
    with tempfile.TemporaryDirectory() as folder:
        model = seeded.tiny(Path(folder) / "model.gguf", hidden=dims)
        embedder = choose(name=model)
        settings = Settings.read({"BANKML_EMBED_MODEL": str(model), "BANKML_HOME": folder})
        with filled(Path(folder) / "kb.db", count, embedder) as store:
            with store.reading() as db:
                bound = Bound.read(db)
            assert bound
            return succeeded(store, bound) | looked_at(store, settings)


def main() -> None:
    """Prints a line a figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--dims", type=int, default=384)
    arguments = parser.parse_args()
    for name, ms in measured(arguments.chunks, arguments.dims).items():
        aim = f"  (promised: {STATUS_MS:g})" if name == "status" else ""
        print(f"{name:<28} {ms:10,.1f} ms{aim}", flush=True)


if __name__ == "__main__":
    main()
