"""A store's matrix in a file beside it, so that a process that has just begun maps it instead of reading every row.

The file: a head of 4,096 bytes, ids (int64), rows (float32) from a page on, in this machine's order of bytes. It is
written beside its place and renamed, so it is whole or not there; what its head says is checked against the store and
the size of the file, and whatever does not fit is as if there were none: the table is the truth.
"""

import json
import mmap
import os
import stat
import sys
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from bankml.library.search.matrix import Matrix, Stamp
from bankml.library.search.part import Part, joined
from bankml.models.atomic import replacement
from bankml.private_file import FLAGS, PRIVATE, keep_owner

FORMAT = f"bankml search matrix 1 {sys.byteorder}"
HEAD = PAGE = 4096  # bytes
LEAST = 4096  # rows: fewer are read from the table in 20 ms
BEHIND = 16  # a sixteenth of the rows: the file is made anew when so many are not in it
MOST = 1 << 40
SAMPLES = 64  # rows whose bytes the head knows


def place(store: Path) -> Path:
    """Where the matrix of a store lies."""
    return store.with_name(f"{store.name}.matrix")


def load(path: Path, source: Path, stamp: Stamp) -> Matrix | None:
    """The matrix, perhaps of an earlier generation, its rows mapped; None where there is none to be believed."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        descriptor = os.open(path, os.O_RDONLY | FLAGS)
        try:
            if trusted(os.fstat(descriptor), os.stat(source)):
                return _mapped(descriptor, stamp)
        finally:
            os.close(descriptor)
    return None


def save(path: Path, source: Path, matrix: Matrix) -> None:
    """Writes the matrix for the next process. Raises OSError where that cannot be."""
    part = joined(matrix.parts)
    with replacement(path, mode=PRIVATE) as temporary, open(temporary, "r+b") as file:
        with open(source, "rb") as store:
            keep_owner(store.fileno(), file.fileno())
        file.write(_head(matrix, part))
        file.write(part.ids.tobytes() + matrix.foreign.tobytes())
        file.seek(_begin(len(part.ids), len(matrix.foreign)))
        file.write(part.rows.data)


def lacks(loaded: Matrix | None, matrix: Matrix) -> bool:
    """Whether the file, of which `loaded` is, is so far behind the matrix that it should be made anew."""
    if len(matrix) < LEAST:
        return False
    if loaded is None or loaded.stamp != matrix.stamp:
        return True
    now = np.sort(np.concatenate([part.living() for part in matrix.parts]))
    return BEHIND * len(np.setxor1d(loaded.parts[0].ids, now, assume_unique=True)) > len(now)


def remove(path: Path) -> None:
    """Removes a file that is not to be believed, where it can."""
    with suppress(OSError):
        path.unlink(missing_ok=True)


def _mapped(descriptor: int, stamp: Stamp) -> Matrix | None:
    """Raises ValueError, KeyError or TypeError for a head that is none of ours."""
    head: dict[str, Any] = json.loads(os.pread(descriptor, HEAD, 0))
    n, foreign, generation = head["rows"], head["foreign"], head["generation"]
    if head["format"] != FORMAT or not 0 < n <= MOST or not 0 <= foreign <= MOST:
        return None
    begin = _begin(n, foreign)
    if os.fstat(descriptor).st_size != begin + 4 * n * stamp.dims:
        return None
    ids = np.frombuffer(os.pread(descriptor, 8 * (n + foreign), HEAD), np.int64)
    mapped = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
    part = Part(ids[:n], np.frombuffer(mapped, np.float32, n * stamp.dims, begin).reshape(n, stamp.dims))
    found = Matrix(stamp, generation, (part,), ids[n:])
    return found if head == json.loads(_head(found, part)) else None


def _head(matrix: Matrix, part: Part) -> bytes:
    """The crc is of all ids and of a few rows: of more than that a process that has just begun would have to wait."""
    some = np.linspace(0, len(part.ids) - 1, SAMPLES, dtype=np.int64)
    crc = zlib.crc32(part.rows[some].tobytes(), zlib.crc32(part.ids.tobytes() + matrix.foreign.tobytes()))
    numbers = {"rows": len(part.ids), "foreign": len(matrix.foreign), "generation": matrix.generation, "crc": crc}
    return json.dumps({"format": FORMAT, "stamp": list(matrix.stamp), **numbers}).encode().ljust(HEAD)


def _begin(n: int, foreign: int) -> int:
    """The byte of the first row: the first one of a page."""
    return -(-(HEAD + 8 * (n + foreign)) // PAGE) * PAGE


def trusted(file: os.stat_result, source: os.stat_result) -> bool:
    """Whether nobody but this user, or the one whose store it is, could have written it."""
    mode = file.st_mode
    return stat.S_ISREG(mode) and not mode & 0o077 and file.st_uid in (os.geteuid(), source.st_uid)
