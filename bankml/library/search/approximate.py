"""An index of neighbours (HNSW, by usearch) beside a store of very many passages: derived, measured, never the truth.

It proposes candidates; their cosines are computed from the matrix, and what was embedded since it was made is searched
exactly. One file as the matrix's: a head of 4,096 bytes, ids (int64), keys (uint64), what usearch saves. It is read
whole and its crc compared, for usearch believes its bytes.
"""

import json
import os
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from bankml.embedders.embedder import Floats
from bankml.library.search.matrix import Matrix, Stamp
from bankml.library.search.part import Part, joined
from bankml.library.search.passages import Ids, Passages
from bankml.library.search.ranking import Ranking, best
from bankml.library.search.sidecar import HEAD, trusted
from bankml.models.atomic import replacement
from bankml.private_file import FLAGS, PRIVATE, keep_owner

FORMAT = "bankml neighbours 2"
LARGE = 200_000  # vectors: an exact search of fewer takes 20 ms
BEHIND = 16  # a sixteenth of the vectors: when so many are not in it, or have gone since, it is not used
PROPOSED = 8  # times k: so many candidates are compared exactly
SAMPLE, TOP = 100, 10  # vectors whose nearest ten are compared with the exact ones
METRIC, DTYPE = "cos", "i8"  # a quarter of the matrix; candidates are compared by their float32


@dataclass
class Approximate:
    """`recall`: of the exact ten nearest to a sample, the share that was found when it was made."""

    stamp: Stamp
    passages: Passages
    recall: float
    index: Any  # usearch's
    _beside: tuple[Matrix, Ids, Ids] | None = None  # of the last matrix, what it has besides, and what it has not

    def knows(self, matrix: Matrix) -> bool:
        """Whether it may stand in for an exact search."""
        return self.stamp == matrix.stamp and BEHIND * sum(map(len, self._differs(matrix))) <= len(matrix)

    def rank(self, matrix: Matrix, query: Floats, k: int) -> Ranking:
        """As `Matrix.rank`; some of the nearest may be missing."""
        new, gone = self._differs(matrix)
        proposed = np.sort(self.index.search(query, PROPOSED * k).keys.astype(np.int64))
        found = matrix.cosines(query, proposed)  # of what is there, by the vectors that are there
        if len(found) < min(k, len(self.passages) - len(gone)):  # what was near has gone
            return matrix.rank(query, k)
        if new.size:
            ranked = matrix.rank(query, k, new)
            found |= dict(zip(ranked.ids.tolist(), ranked.scores.tolist(), strict=True))
        return best(np.array(list(found), np.int64), np.array(list(found.values())), k)

    def _differs(self, matrix: Matrix) -> tuple[Ids, Ids]:
        """What the index has not, and what the matrix has not (any more); ascending."""
        if self._beside is None or self._beside[0] is not matrix:
            now, then = matrix.living(), self.passages
            self._beside = matrix, now.ids[~now.within(then)], then.ids[~then.within(now)]
        return self._beside[1:]


def installed() -> bool:
    """Whether usearch can be imported."""
    return find_spec("usearch") is not None


def place(store: Path) -> Path:
    """Where the index of a store lies."""
    return store.with_name(f"{store.name}.neighbours")


def load(path: Path, source: Path, stamp: Stamp) -> Approximate | None:
    """The index of these vectors; None where there is none to be believed."""
    if not installed():
        return None
    with suppress(OSError, ValueError, KeyError, TypeError):
        descriptor = os.open(path, os.O_RDONLY | FLAGS)
        with open(descriptor, "rb") as file:
            if trusted(os.fstat(descriptor), os.stat(source)):
                return _read(file.read(HEAD), file.read(), stamp)
    return None


def make(path: Path, source: Path, matrix: Matrix) -> Approximate:
    """Builds the index and leaves it beside the store; of 200,000 vectors that takes minutes. Raises OSError."""
    part = joined(matrix.parts)
    index = _empty(matrix.stamp.dims)
    index.add(part.ids.astype(np.uint64), part.rows)
    made = Approximate(matrix.stamp, part.passages, 0.0, index)
    made = Approximate(matrix.stamp, part.passages, _recall(made, matrix, part), index)
    body = part.ids.tobytes() + part.passages.keys.tobytes() + bytes(index.save())
    head = {"format": FORMAT, "stamp": list(made.stamp), "ids": len(part.ids), "recall": made.recall}
    with replacement(path, mode=PRIVATE) as temporary, open(temporary, "r+b") as file:
        with open(source, "rb") as store:
            keep_owner(store.fileno(), file.fileno())
        file.write(json.dumps(head | {"crc": zlib.crc32(body)}).encode().ljust(HEAD))
        file.write(body)
    return made


def _empty(dims: int) -> Any:
    from usearch.index import Index

    return Index(ndim=dims, metric=METRIC, dtype=DTYPE)


def _read(page: bytes, body: bytes, stamp: Stamp) -> Approximate | None:
    head = json.loads(page)
    if head["format"] != FORMAT or head["stamp"] != list(stamp) or head["crc"] != zlib.crc32(body):
        return None
    index = _empty(stamp.dims)
    n = head["ids"]
    index.load(body[16 * n :])
    passages = Passages(np.frombuffer(body, np.int64, n), np.frombuffer(body, np.uint64, n, 8 * n))
    return Approximate(stamp, passages, float(head["recall"]), index)


def _recall(made: Approximate, matrix: Matrix, part: Part) -> float:
    """Of some passages' own nearest ten, themselves left out."""
    some = np.linspace(0, len(part.ids) - 1, min(SAMPLE, len(part.ids)), dtype=np.int64)
    shares = []
    for row in some:
        exact, found = (
            set(rank(part.rows[row], TOP + 1).ids.tolist()) - {int(part.ids[row])}
            for rank in (matrix.rank, _of(made, matrix))
        )
        shares.append(len(exact & found) / max(1, len(exact)))
    return float(np.mean(shares))


def _of(made: Approximate, matrix: Matrix) -> Callable[[Floats, int], Ranking]:
    return lambda query, k: made.rank(matrix, query, k)
