"""A store's matrix in a file beside it, so that a process that has just begun maps it instead of reading every row.

The file: a head of 4,096 bytes, ids (int64), keys (uint64), rows (float32) from a page on, in this machine's order of
bytes. It is written beside its place and renamed, so it is whole or not there; what its head says is checked against
the store and the size of the file, and whatever does not fit is as if there were none: the table is the truth.
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
from bankml.library.search.passages import Passages
from bankml.models.atomic import replacement
from bankml.private_file import FLAGS, PRIVATE, keep_owner

FORMAT = f"bankml search matrix 2 {sys.byteorder}"
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
        file.write(_listed(part, matrix))
        file.seek(_begin(len(part.ids), len(matrix.foreign)))
        file.write(part.rows.data)


def lacks(loaded: Matrix | None, matrix: Matrix) -> bool:
    """Whether the file, of which `loaded` is, is so far behind the matrix that it should be made anew."""
    if len(matrix) < LEAST:
        return False
    if loaded is None or loaded.stamp != matrix.stamp:
        return True
    now, then = matrix.living(), loaded.living()
    return BEHIND * int((~now.within(then)).sum() + (~then.within(now)).sum()) > len(now)


def remove(path: Path) -> None:
    """Removes a file that is not to be believed, where it can."""
    with suppress(OSError):
        path.unlink(missing_ok=True)


def _mapped(descriptor: int, stamp: Stamp) -> Matrix | None:
    """Raises ValueError, KeyError or TypeError for a head that is none of ours."""
    head: dict[str, Any] = json.loads(os.pread(descriptor, HEAD, 0))
    n, foreign = head["rows"], head["foreign"]
    if head["format"] != FORMAT or not 0 < n <= MOST or not 0 <= foreign <= MOST:
        return None
    begin = _begin(n, foreign)
    if os.fstat(descriptor).st_size != begin + 4 * n * stamp.dims:
        return None
    listed = os.pread(descriptor, 16 * (n + foreign), HEAD)
    ids, keys = np.frombuffer(listed, np.int64, n + foreign), np.frombuffer(listed, np.uint64, -1, 8 * (n + foreign))
    mapped = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
    rows = np.frombuffer(mapped, np.float32, n * stamp.dims, begin).reshape(n, stamp.dims)
    part = Part(Passages(ids[:n], keys[:n]), rows)
    found = Matrix(stamp, head["state"], (part,), Passages(ids[n:], keys[n:]))
    return found if head == json.loads(_head(found, part)) else None


def _head(matrix: Matrix, part: Part) -> bytes:
    """The crc is of all ids and keys and of a few rows: of more a process that has just begun would have to wait."""
    some = np.linspace(0, len(part.ids) - 1, SAMPLES, dtype=np.int64)
    crc = zlib.crc32(part.rows[some].tobytes(), zlib.crc32(_listed(part, matrix)))
    numbers = {"rows": len(part.ids), "foreign": len(matrix.foreign), "state": matrix.state, "crc": crc}
    return json.dumps({"format": FORMAT, "stamp": list(matrix.stamp), **numbers}).encode().ljust(HEAD)


def _listed(part: Part, matrix: Matrix) -> bytes:
    """The ids of the rows and of foreign ones, then the keys of both."""
    both = part.passages, matrix.foreign
    return b"".join([*(each.ids.tobytes() for each in both), *(each.keys.tobytes() for each in both)])


def _begin(n: int, foreign: int) -> int:
    """The byte of the first row: the first one of a page."""
    return -(-(HEAD + 16 * (n + foreign)) // PAGE) * PAGE


def trusted(file: os.stat_result, source: os.stat_result) -> bool:
    """Whether nobody but this user, or the one whose store it is, could have written it."""
    mode = file.st_mode
    return stat.S_ISREG(mode) and not mode & 0o077 and file.st_uid in (os.geteuid(), source.st_uid)
