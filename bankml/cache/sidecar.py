"""The file of a matrix beside its .emb: found, brought up to date, or made anew; never believed unseen."""

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from bankml.cache.matrix import Floats, ForeignError, FullError, Mapped
from bankml.cache.table import Table, Weights, goes_on, read_on
from bankml.errors import StoreError
from bankml.models.atomic import replacement
from bankml.private_file import PRIVATE, HeldError, keep_owner, writing

PATIENCE = 5.0  # seconds for another process to add its rows; then the matrix is made in memory
HASTE = 0.02  # seconds, where there are rows to search already: somebody is typing
ROOM = 1024  # keys at least; at most four times as many as there are lines
LEAST = 150  # bytes of a line beside its base64


class Loaded(NamedTuple):
    """What a sidecar holds now."""

    file: os.stat_result  # of the sidecar
    matrix: Floats  # (n, dims), read-only
    fresh: dict[str, int]  # rows that were not known before
    skipped: int


def place(path: Path, weights: Weights) -> Path:
    """Where the matrix of an .emb for these weights lies."""
    return path.with_name(f"{path.name}.{weights.digest[:16]}.matrix")


def all_of(path: Path) -> list[Path]:
    """The matrices beside an .emb, of any weights."""
    ours = re.compile(rf"{re.escape(path.name)}\.[0-9a-f]{{16}}\.matrix")
    with suppress(OSError):  # a folder that may be written and not listed
        return [found for found in path.parent.iterdir() if ours.fullmatch(found.name)]
    return []


def load(path: Path, source: int, weights: Weights, before: Loaded | None, known: dict[str, int]) -> Loaded | None:
    """All that the .emb, open as `source`, holds; None where no file can be kept.

    `before` and `known` (keys → rows) are of the last time; `known` counts no longer where `file` is another now.
    Raises HeldError when there is a `before` to be content with and another process is at work on the file.
    """
    for _ in range(3):  # as it is; made by us; made again when the .emb or the sidecar was replaced in between
        try:
            with writing(path, flags=0, patience=HASTE if before else PATIENCE) as descriptor:
                return _current(descriptor, source, weights, before, known)
        except (ForeignError, FullError):
            pass
        except StoreError as error:
            if before and isinstance(error, HeldError):
                raise
            if not isinstance(error.__cause__, FileNotFoundError):
                return None
        try:
            _make(path, source, weights)
        except OSError:
            return None
    return None


def lasts(path: Path, loaded: Loaded) -> bool:
    """Whether the file of this name is still the one that is mapped, and no shorter: rows beyond its end are zeros."""
    try:
        now = os.stat(path, follow_symlinks=False)
    except OSError:
        return False
    return os.path.samestat(now, loaded.file) and now.st_size >= loaded.file.st_size


def remove(path: Path) -> None:
    """Removes a matrix whose .emb has gone or holds less: vectors are as private as the text. Where it can."""
    with suppress(OSError):
        path.unlink(missing_ok=True)


def _current(descriptor: int, source: int, weights: Weights, before: Loaded | None, known: dict[str, int]) -> Loaded:
    file = os.fstat(descriptor)
    if not _trusted(file, os.fstat(source)):
        raise ForeignError("of another user")
    matrix, covered = Mapped.opened(descriptor, *weights)
    if not goes_on(source, covered):
        raise ForeignError("of another .emb")
    if before and os.path.samestat(before.file, file):
        matrix.rows = before.matrix
    else:
        known = {}
    table = Table(matrix, known)
    table.fresh.update(zip(matrix.keys(len(known)), range(len(known), matrix.n), strict=True))
    reached, torn = read_on(source, covered, weights, table)
    if reached != covered:
        matrix.commit(reached)
    matrix.map()
    return Loaded(os.fstat(descriptor), matrix.rows, table.fresh, reached.skipped + torn)


def _trusted(file: os.stat_result, source: os.stat_result) -> bool:
    """Whether nobody but this user, or the one whose .emb it is, could have written it."""
    return not file.st_mode & 0o077 and file.st_uid in (os.geteuid(), source.st_uid)


def _make(path: Path, source: int, weights: Weights) -> None:
    most = os.fstat(source).st_size // (4 * -(-4 * weights.dims // 3) + LEAST) + 1
    with replacement(path, mode=PRIVATE) as temporary:
        descriptor = os.open(temporary, os.O_RDWR | os.O_CLOEXEC)
        try:
            keep_owner(source, descriptor)
            matrix = Mapped(descriptor, *weights, capacity=max(ROOM, 2 << most.bit_length()))
            matrix.commit(read_on(source, None, weights, Table(matrix, {}))[0])
        finally:
            os.close(descriptor)
