"""Adding to a .history file: whole lines, on the disk before the call returns, readable by their owner alone."""

import fcntl
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from bankml.errors import InputError, StoreError
from bankml.utf8 import whole


def append(path: str | os.PathLike[str], record: Mapping[str, Any]) -> None:
    """Adds one record as a line, under a lock; after it, no crash loses it. The file is made (0600) when missing.

    A line that a crash left unfinished is ended first. Raises InputError for a record that JSON cannot hold, StoreError
    when it cannot be written; then nothing of it stays.
    """
    line = _line(record)
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            _write(descriptor, line)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise StoreError(f"{path} cannot be written ({error.strerror}); check the disk and your rights there") from None


def _line(record: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(whole(dict(record))) + b"\n"
    except (TypeError, RecursionError) as error:
        raise InputError(f"the record cannot be written as JSON ({error}); give strings, numbers and lists") from None


def _write(descriptor: int, line: bytes) -> None:
    size = os.fstat(descriptor).st_size
    torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
    data = b"\n" + line if torn else line
    try:
        if os.write(descriptor, data) < len(data):
            raise OSError(28, os.strerror(28))  # ENOSPC: the disk took a part
        os.fsync(descriptor)
    except OSError:
        os.ftruncate(descriptor, size)
        raise
