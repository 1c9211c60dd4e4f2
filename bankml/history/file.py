"""A .history file: JSON lines that other programs append to and people edit, followed without parsing it anew."""

import os
import stat
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO
from zlib import crc32

from bankml.errors import ChangedError, StoreError
from bankml.history.exchange import Exchange, parse
from bankml.lines import Line, lines

BLOCK = 1 << 20
LONGEST = 64 << 20  # bytes of a line that are held; a longer one is no exchange
BOM = b"\xef\xbb\xbf"
MARKS = {  # what texts of other encodings begin with; the longer ones first
    b"\xff\xfe\0\0": "UTF-32",
    b"\0\0\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
Stamp = tuple[int, ...]  # device, inode, size, times of the last write and of the last change of anything


class History:
    """The exchanges of one file, by number; their text is not held. Not for several threads at once.

    Nothing is read before `follow`.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._read_as: Stamp | None = None  # what the file was when it was read
        self._forget()

    def __len__(self) -> int:
        """Exchanges seen."""
        return len(self._starts)

    def follow(self, add: Callable[[Exchange], None], reset: Callable[[], None]) -> bool:
        """Calls `add` with each exchange that is new; whether the file has changed since the last call.

        Where it was only appended to, the new lines alone are parsed. Otherwise (another file of this name, edited
        lines, an unfinished line that went on) `reset` is called first, and all exchanges are new. Raises StoreError
        for a file that is missing, cannot be read or is no text in UTF-8; what was seen before is then kept.
        """
        with opened(self.path) as file:
            stamp = _stamp(file)
            if stamp == self._read_as:
                return False
            if not self._goes_on(file, stamp):
                self._forget()
                reset()
            self._read(file, add)
            self._read_as = stamp
        return True

    def exchange(self, number: int) -> Exchange:
        """Exchange `number` of those seen, read from the file. Raises ChangedError when the file is another there."""
        return next(self.exchanges([number]))

    def number(self, id: int) -> int | None:
        """The number of the exchange with this id; None where there is none."""
        found = bisect_left(self._ids, id)
        return found if found < len(self._ids) and self._ids[found] == id else None

    def exchanges(self, numbers: Iterable[int]) -> Iterator[Exchange]:
        """As `exchange`, of several."""
        with opened(self.path) as file:
            for number in numbers:
                yield self._at(file, number)

    def _at(self, file: BinaryIO, number: int) -> Exchange:
        start = self._starts[number]
        file.seek(start)
        line = file.read(self._sizes[number])
        found = parse(_unmarked(line, start), self._ids[number]) if crc32(line) == self._sums[number] else None
        if found is None:
            raise ChangedError(f"{self.path} was changed while it was read; ask again")
        return found

    def _forget(self) -> None:
        self.skipped = 0  # lines that are torn or no JSON object
        self.lines = 0  # that are not empty
        self._starts, self._sizes, self._ids = array("Q"), array("Q"), array("Q")  # of each exchange's line
        self._sums = array("L")  # its CRC-32
        self._end = 0  # of what was read, an unfinished line included
        self._digest = blake2b(digest_size=16)  # of all that was read
        self._finished = True  # what was read ends in a newline
        self._read_as = None

    def _goes_on(self, file: BinaryIO, stamp: Stamp) -> bool:
        """Whether the file is what was read and perhaps more lines behind it."""
        if self._read_as is None or stamp[:2] != self._read_as[:2] or stamp[2] < self._end:
            return False
        seen = blake2b(digest_size=16)
        _feed(seen, file, 0, self._end)
        if seen.digest() != self._digest.digest():
            return False
        return self._finished or file.read(1) in (b"", b"\n")

    def _read(self, file: BinaryIO, add: Callable[[Exchange], None]) -> None:
        begun = self._end
        for line in lines(file.fileno(), LONGEST, begun):
            self._take(line, add)
            self._end, self._finished = line.end, line.finished
        _feed(self._digest, file, begun, self._end)

    def _take(self, line: Line, add: Callable[[Exchange], None]) -> None:
        text = None if line.bytes is None else _unmarked(line.bytes, line.start)
        if text is not None and not text.strip():
            return
        number, self.lines = self.lines, self.lines + 1
        try:
            found = parse(text, number) if text is not None else None
        except ValueError:
            found, text = None, None
        self.skipped += text is None
        if found and line.bytes is not None:
            self._starts.append(line.start)
            self._sizes.append(len(line.bytes))
            self._sums.append(crc32(line.bytes))
            self._ids.append(number)
            add(found)


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The file, for reading. Raises StoreError with what hinders it."""
    try:
        with open(path, "rb", buffering=0, opener=_at_once) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise StoreError(f"{path} is no regular file; give the path of a .history file")
            mark = file.read(4)
            if name := next((name for begin, name in MARKS.items() if mark.startswith(begin)), None):
                raise StoreError(f"{path} is in {name}; convert it: iconv -f {name} -t UTF-8 OLD > NEW")
            yield file
    except FileNotFoundError:
        raise StoreError(f"{path} does not exist; give the path of a .history file") from None
    except IsADirectoryError:
        raise StoreError(f"{path} is a folder; give the path of a .history file in it") from None
    except OSError as error:
        raise StoreError(f"{path} cannot be read ({error.strerror}); check that you may read it") from None


def _at_once(path: str, flags: int) -> int:
    """A pipe without a writer would keep us waiting."""
    return os.open(path, flags | os.O_NONBLOCK)


def _stamp(file: BinaryIO) -> Stamp:
    found = os.fstat(file.fileno())
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _unmarked(line: bytes, start: int) -> bytes:
    return line.removeprefix(BOM) if start == 0 else line


def _feed(digest: "blake2b", file: BinaryIO, start: int, end: int) -> None:
    file.seek(start)
    while start < end and (block := file.read(min(end - start, BLOCK))):
        digest.update(block)
        start += len(block)
