"""A safetensors file: its header checked from end to end, its tensors read one at a time."""

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankml.errors import ModelError
from bankml.models import regular_file

MAX_HEADER = 100_000_000  # the format's own limit
RUN = 4 << 20  # bytes read at a time where rows are wanted one after the other
ITEM_BYTES = {
    "F64": 8, "F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1,
    "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U64": 8, "U32": 4, "U16": 2, "U8": 1, "BOOL": 1,
}  # fmt: skip
FLOATS = {"F64": "<f8", "F32": "<f4", "F16": "<f2"}


@dataclass(frozen=True)
class Entry:
    """One tensor of the header; `offset` counts from the start of the file."""

    dtype: str
    shape: tuple[int, ...]
    offset: int
    size: int


class Safetensors:
    """An open file. Raises ModelError, naming the file and the tensor, for whatever is wrong with it."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            self._fd = regular_file.opened(self.path)
        except OSError as error:
            raise ModelError(f"{self.path} cannot be opened ({error.strerror}): fetch it again") from None
        try:
            self.entries = self._header()
        except BaseException:
            os.close(self._fd)
            raise

    def __enter__(self) -> "Safetensors":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.close(self._fd)

    def shape(self, name: str) -> tuple[int, ...]:
        """The tensor's shape, slowest dimension first."""
        return self._entry(name).shape

    def runs(self, name: str, first: int = 0) -> Iterator[NDArray[np.float32]]:
        """The rows of a matrix or vector from `first` on, as many at a time as fit RUN bytes, or one.

        Given as float32: F32 and narrower exactly, F64 rounded.
        """
        self.check_float(name)
        entry = self._entry(name)
        rows, *row = entry.shape
        row_bytes = entry.size // max(rows, 1)
        step = max(1, RUN // max(row_bytes, 1))
        for start in range(first, rows, step):
            count = min(step, rows - start)
            yield self._decoded(entry, start * row_bytes, count * row_bytes).reshape(count, *row)

    def check_float(self, name: str) -> None:
        """Raises ModelError when the tensor is of a type that cannot be read as float32."""
        if (dtype := self._entry(name).dtype) not in (*FLOATS, "BF16"):
            raise self._error(f"tensor {name!r} is {dtype}: only F64, F32, F16 and BF16 weights can be read")

    def _decoded(self, entry: Entry, start: int, size: int) -> NDArray[np.float32]:
        raw = self._read(entry.offset + start, size)
        if entry.dtype == "BF16":
            return (np.frombuffer(raw, "<u2").astype(np.uint32) << np.uint32(16)).view(np.float32)
        with np.errstate(over="ignore"):  # an F64 beyond float32 becomes infinite, which the caller refuses
            return np.frombuffer(raw, FLOATS[entry.dtype]).astype(np.float32, copy=False)

    def _entry(self, name: str) -> Entry:
        if name not in self.entries:
            raise self._error(f"tensor {name!r} is missing: the file is not of the kind that its config says")
        return self.entries[name]

    def _header(self) -> dict[str, Entry]:
        length = int.from_bytes(self._read(0, 8), "little")
        size = os.fstat(self._fd).st_size
        if length > min(MAX_HEADER, size - 8):
            raise self._error(f"its header claims {length} bytes: the file is damaged or no safetensors file")
        try:
            header = json.loads(self._read(8, length), object_pairs_hook=_unique)
        except (ValueError, RecursionError) as error:
            raise self._error(f"its header is not JSON ({error}): fetch the file again") from None
        if not isinstance(header, dict):
            raise self._error("its header is not an object: fetch the file again")
        header.pop("__metadata__", None)
        entries = {name: self._checked(name, value, 8 + length, size) for name, value in header.items()}
        self._check_contiguous(entries.values(), 8 + length, size)
        return entries

    def _checked(self, name: str, value: Any, start: int, file_size: int) -> Entry:
        match value:
            case {"dtype": str(dtype), "shape": list(shape), "data_offsets": [begin, end]}:
                pass
            case _:
                raise self._error(f"tensor {name!r} is not described by dtype, shape and data_offsets")
        if dtype not in ITEM_BYTES:
            raise self._error(f"tensor {name!r} has the unknown dtype {dtype!r}")
        if not all(type(number) is int and number >= 0 for number in (*shape, begin, end)):
            raise self._error(f"tensor {name!r} has a shape or offset that is not a count")
        size = ITEM_BYTES[dtype]
        for dimension in shape:
            size *= dimension
            if size > file_size:
                break
        if end - begin != size or start + end > file_size:
            raise self._error(f"tensor {name!r} does not fit its place, bytes {begin} to {end}")
        return Entry(dtype, tuple(shape), start + begin, size)

    def _check_contiguous(self, entries: Iterable[Entry], start: int, file_size: int) -> None:
        for entry in sorted(entries, key=lambda entry: (entry.offset, entry.size)):
            if entry.offset != start:
                raise self._error(f"its tensors overlap or leave a hole at byte {start}: fetch the file again")
            start += entry.size
        if start != file_size:
            raise self._error(f"it ends at byte {file_size}, its tensors at {start}: fetch the file again")

    def _read(self, offset: int, size: int) -> bytes:
        pieces = []
        while size:
            try:
                piece = os.pread(self._fd, min(size, 1 << 30), offset)
            except OSError as error:
                raise self._error(f"it cannot be read ({error.strerror}): fetch the file again") from None
            if not piece:
                raise self._error(f"it ends {size} bytes too early: fetch the file again")
            pieces.append(piece)
            offset, size = offset + len(piece), size - len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _error(self, what: str) -> ModelError:
        return ModelError(f"{self.path}: {what}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name occurs twice")
    return found
