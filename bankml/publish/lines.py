"""The lines of a history as they are published: exact bytes, each checked before it is sent.

A line is what stands between two newlines, a carriage return or a byte order mark included, so that the lines joined by
newlines give the file's digest again. Lines of nothing but ASCII space are no lines.
"""

import errno
import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from bankml.errors import InputError
from bankml.history import exchange
from bankml.history.exchange import Exchange
from bankml.models import regular_file
from bankml.utf8 import whole


def _no_constant(name: str) -> None:
    raise json.JSONDecodeError(f"{name} is no number", "", 0)


LONGEST = 64 * 2**20  # bytes of a line: one without an end would fill the memory, and jsonb ends at 256 MiB
MARK = "\ufeff".encode()  # of byte order; the first line of what a Windows editor wrote
DECODER = json.JSONDecoder(parse_int=float, parse_constant=_no_constant)  # numbers of any size, and no texts
NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")  # an escaped backslash before u0000 is text


@dataclass(frozen=True, slots=True)
class Line:
    """`seq` counts from 0 among the lines that are not empty, `number` from 1 in the file."""

    seq: int
    number: int
    text: str  # exact
    sha256: str  # of its UTF-8
    record: dict[str, Any] = field(default_factory=dict)

    @property
    def json(self) -> str:
        """What `record` was read from."""
        return self.text.removeprefix("\ufeff") if self.number == 1 else self.text

    @property
    def exchange(self) -> Exchange | None:
        """What `bankml history` finds in it; None for a record of another kind, or of what is no text."""
        try:
            return exchange.of(self.record, self.seq)
        except ValueError:
            return None


class Lines:
    """The lines of the file at `path`, read anew by each iteration, one at a time.

    `count`, `size` (bytes) and `sha256` are those of what the last iteration has read so far.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._start()

    def opened(self) -> BinaryIO:
        """Raises InputError when the file cannot be read."""
        try:
            return open(regular_file.opened(self.path), "rb")
        except OSError as error:
            raise _unreadable(self.path, error) from None

    def __iter__(self) -> Iterator[Line]:
        """Raises InputError that names the first line that is none, by its number."""
        self._start()
        with self.opened() as file:
            for number, raw in enumerate(iter(lambda: file.readline(LONGEST + 1), b""), 1):
                self._digest.update(raw)
                self.size += len(raw)
                if (raw.removeprefix(MARK) if number == 1 else raw).strip():
                    yield self._line(raw.removesuffix(b"\n"), number)
                    self.count += 1

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    def _start(self) -> None:
        self.count = self.size = 0
        self._digest = hashlib.sha256()

    def _line(self, raw: bytes, number: int) -> Line:
        if len(raw) > LONGEST:
            raise self.refused(number, "is longer than 64 MiB")
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.refused(number, f"is not UTF-8 (its byte {error.start + 1})") from None
        line = Line(self.count, number, text, hashlib.sha256(raw).hexdigest())
        line.record.update(self._record(line.json, number))
        return line

    def _record(self, text: str, number: int) -> dict[str, Any]:
        try:
            record = DECODER.decode(text)
            halved = "\\u" in text and whole(record) != record
        except json.JSONDecodeError as error:
            why = error.msg.removesuffix(" at")
            raise self.refused(number, f"is not JSON ({why}, at its character {error.pos + 1})") from None
        except RecursionError:
            raise self.refused(number, "is nested too deeply") from None
        if not isinstance(record, dict):
            raise self.refused(number, "is no JSON object")
        if "\\u0000" in text and NUL.search(text):
            raise self.refused(number, "holds the character NUL (\\u0000), which PostgreSQL cannot store")
        if halved:
            raise self.refused(number, "holds half of a surrogate pair, which PostgreSQL cannot store")
        return record

    def refused(self, number: int, why: str) -> InputError:
        """The error for a line that cannot be published. It never quotes the line."""
        return InputError(
            f"line {number} of {self.path} {why}: mend or remove that line, then publish again; nothing was published",
            index=number - 1,
        )


def _unreadable(path: Path, error: OSError) -> InputError:
    missing = error.errno == errno.ENOENT
    reason = "there is no such file" if missing else error.strerror or str(error)
    return InputError(
        f"the history {path} cannot be read ({reason}): give the path of a .history file that you may read"
    )
