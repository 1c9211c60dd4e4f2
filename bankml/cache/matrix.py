"""The vectors of one model as a matrix: in memory, or mapped from a file that is derived from the .emb and lies by it.

The file: a head of 4,096 bytes, the keys of `capacity` rows (64 hex digits each), then the rows (float32 in the order
of this machine's bytes). It only ever grows; whoever makes it anew gives a new file its name. Rows are forced to the
disk before the head counts them, so what the head counts is whole; a row whose replacement was cut short is replaced
again, because the head does not yet count the line that replaces it.
"""

import mmap
import os
import sys
import zlib
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from bankml.cache.stamp import Stamp

Floats = NDArray[np.float32]

HEAD = 4096  # bytes: a page, so that keys and rows begin on one
KEY = 64
FORMAT = f"bankml matrix 1 {sys.byteorder}"


class Covered(NamedTuple):
    """How far into an .emb the rows go."""

    stamp: Stamp  # of the .emb when it was read
    end: int  # the byte behind the last line that was read
    skipped: int  # bad lines until there
    edges: int  # crc32 of the first and the last bytes until there


class Head(NamedTuple):
    """What the file's first page says of the rest."""

    n: int  # rows that count
    capacity: int  # rows that there is room for the keys of
    crc: int  # crc32 of the keys of the rows that count
    covered: Covered


class Matrix(Protocol):
    """Rows that can be added and replaced."""

    rows: Floats  # (n, dims), C-contiguous

    def add(self, keys: Sequence[str], vectors: Floats) -> None:
        """Rows behind the last; those that were handed out stay valid."""

    def replace(self, row: int, vector: Floats) -> None:
        """Another vector for a key that has a row."""


class InMemory:
    """A matrix that ends with the process."""

    def __init__(self, dims: int) -> None:
        self._room: Floats = np.empty((64, dims), np.float32)
        self.rows: Floats = self._room[:0]  # never written through: whoever asks for it may keep it

    def add(self, keys: Sequence[str], vectors: Floats) -> None:
        """As `Matrix`; the room doubles."""
        n = len(self.rows) + len(vectors)
        if n > len(self._room):
            room = np.empty((max(n, 2 * len(self._room)), self._room.shape[1]), np.float32)
            room[: len(self.rows)] = self.rows
            self._room = room
        self._room[len(self.rows) : n] = vectors
        self.rows = self._room[:n]
        self.rows.flags.writeable = False

    def replace(self, row: int, vector: Floats) -> None:
        """As `Matrix`."""
        self._room[row] = vector


class FullError(Exception):
    """No room for more keys: a larger file has to be made."""


class ForeignError(Exception):
    """A file that is none of ours, or torn, or of another .emb or model."""


class Mapped:
    """A matrix in a file, which the caller has locked whenever it calls."""

    def __init__(self, descriptor: int, digest: str, dims: int, capacity: int) -> None:
        self.descriptor, self._digest, self._dims, self._capacity = descriptor, digest, dims, capacity
        self._begin = HEAD + KEY * capacity
        self.n = self._crc = 0
        self.rows: Floats = np.empty((0, dims), np.float32)

    @classmethod
    def opened(cls, descriptor: int, digest: str, dims: int) -> tuple["Mapped", Covered]:
        """A file that was written before, nothing mapped yet; ForeignError when it cannot be believed."""
        head = _head(descriptor, digest, dims)
        matrix = cls(descriptor, digest, dims, head.capacity)
        if os.fstat(descriptor).st_size < matrix._at(head.n):
            raise ForeignError("truncated")
        matrix.n, matrix._crc = head.n, head.crc
        return matrix, head.covered

    def keys(self, begin: int) -> list[str]:
        """Those of the rows from `begin` on; ForeignError when they are not what was written, seen if `begin` is 0."""
        if self.n < begin:
            raise ForeignError("fewer rows than before")
        raw = os.pread(self.descriptor, KEY * (self.n - begin), HEAD + KEY * begin)
        if not begin and zlib.crc32(raw) != self._crc:
            raise ForeignError("other keys")
        text = raw.decode("ascii", "replace")
        return [text[at : at + KEY] for at in range(0, len(text), KEY)]

    def add(self, keys: Sequence[str], vectors: Floats) -> None:
        """As `Matrix`; they can be seen after `map` and are counted after `commit`."""
        if self.n + len(keys) > self._capacity:
            raise FullError
        _write(self.descriptor, np.ascontiguousarray(vectors).data.cast("B"), self._at(self.n))
        text = "".join(keys).encode("ascii")
        _write(self.descriptor, text, HEAD + KEY * self.n)
        self._crc = zlib.crc32(text, self._crc)
        self.n += len(keys)

    def replace(self, row: int, vector: Floats) -> None:
        """As `Matrix`."""
        _write(self.descriptor, vector.tobytes(), self._at(row))

    def commit(self, covered: Covered) -> None:
        """From now on whoever opens the file counts these rows."""
        os.fsync(self.descriptor)
        _write(self.descriptor, _sealed(self._digest, self._dims, Head(self.n, self._capacity, self._crc, covered)), 0)

    def map(self) -> None:
        """Makes `rows` what the file holds; the old ones stay valid."""
        if self.n > len(self.rows):
            mapped = mmap.mmap(self.descriptor, self._at(self.n), access=mmap.ACCESS_READ)
            flat = np.frombuffer(mapped, np.float32, self.n * self._dims, self._begin)
            self.rows = flat.reshape(self.n, self._dims)

    def _at(self, row: int) -> int:
        return self._begin + 4 * self._dims * row


def _sealed(digest: str, dims: int, head: Head) -> bytes:
    covered = head.covered
    numbers = (dims, *head[:3], *covered.stamp, covered.end, covered.skipped, covered.edges)
    text = "\n".join([FORMAT, digest, *map(str, numbers)]).encode("ascii")
    return (text + b"\n%08x" % zlib.crc32(text)).ljust(HEAD, b"\n")


def _head(descriptor: int, digest: str, dims: int) -> Head:
    page = os.pread(descriptor, HEAD, 0)
    fields = page.decode("ascii", "replace").split("\n")
    try:
        n, capacity, crc, inode, size, mtime, end, skipped, edges = map(int, fields[3:12])
    except ValueError as error:
        raise ForeignError("of another kind") from error
    head = Head(n, capacity, crc, Covered(Stamp(inode, size, mtime), end, skipped, edges))
    if page != _sealed(digest, dims, head) or not 0 <= n <= capacity:
        raise ForeignError("torn, or of another format, digest or dims")
    return head


def _write(descriptor: int, data: bytes | memoryview, at: int) -> None:
    view = memoryview(data)
    while view:
        done = os.pwrite(descriptor, view, at)
        view, at = view[done:], at + done
