"""Adding to a .history file: whole lines, on the disk before the call returns, readable by their owner alone."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from bankml import private_file
from bankml.errors import InputError
from bankml.models.atomic import sync_folder
from bankml.utf8 import whole


def append(path: str | os.PathLike[str], record: Mapping[str, Any]) -> None:
    """Adds one record as a line, under a lock; after it, no crash loses it.

    The file and its folder are made if need be, a line that was left unfinished is ended first, and the file is 0600
    from then on. Raises InputError for a record that JSON cannot hold, StoreError when it cannot be written: the line,
    or a part that the next append ends, may be there then. It is not cut off: a program that knows of no lock may have
    written behind it.
    """
    line, place = _line(record), Path(os.path.realpath(path))  # the file itself, where the history is a link to it
    try:
        _make(place.parent)
    except OSError as error:
        raise private_file.failed(place.parent, error) from None
    private_file.append(place, line)


def _line(record: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(whole(dict(record))) + b"\n"
    except (TypeError, RecursionError) as error:
        raise InputError(f"the record cannot be written as JSON ({error}); give strings, numbers and lists") from None


def _make(folder: Path) -> None:
    if not folder.is_dir():
        _make(folder.parent)
        folder.mkdir(exist_ok=True)
        sync_folder(folder.parent)
