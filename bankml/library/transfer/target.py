"""The file that an export is written to, which must cost nobody another one."""

import os
from pathlib import Path

from bankml.errors import InputError
from bankml.library.transfer.line import NAME, Line, encoded

SQLITE = b"SQLite format 3\0"
BESIDE = ("-wal", "-shm", "-journal", ".matrix", ".reindexing")  # what belongs to a store's file


def check(file: Path, store: Path, overwrite: bool = False) -> None:
    """Raises InputError for the store and what belongs to it, for any database, and for what is no regular file.

    Another file that is there and no earlier export must be meant: `overwrite`.
    """
    if _within(file, store):
        raise InputError(f"{file} is the knowledge base itself: name another file for its export, such as kb.jsonl")
    if not os.path.lexists(file):
        return
    if not file.is_file():
        kind = "a folder" if file.is_dir() else "no regular file"
        raise InputError(f"{file} is {kind}: name a file, or leave it out and the export goes to standard output")
    with file.open("rb") as there:
        begins = there.read(64)
    if begins.startswith(SQLITE):
        raise InputError(f"{file} is a database: name another file for the export, such as kb.jsonl")
    if begins and not begins.startswith(EXPORT) and not overwrite:
        raise InputError(f"{file} is there and no export: name another file, or give --force")


def _within(file: Path, store: Path) -> bool:
    if os.path.exists(file) and os.path.samefile(file, store):
        return True
    store = store.resolve()
    return file.resolve() in [store.with_name(store.name + ending) for ending in ("", *BESIDE)]


EXPORT = encoded(Line(bankml=NAME)).rstrip(b"}\n")
"""How one begins."""
