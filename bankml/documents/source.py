"""A file that may be a document, read whole and unchanged, or what kept it from being one."""

import errno
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from bankml.errors import ChangedError, InputError
from bankml.sizes import human

LARGEST = 64 << 20  # bytes of a file that are read: four thousand pages, and half a GB while they are cut
TRIES = 3  # readings of a file that is written meanwhile
# NONBLOCK and the look at what was opened: a pipe that nobody writes to must not keep us.
FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY

SENTENCES = {
    errno.EACCES: "may not be read by you: change its mode or its owner",
    errno.EPERM: "may not be read by you: change its mode or its owner",
    errno.ENOENT: "is not there: check the name, and the folder that you are in",
    errno.ENOTDIR: "is not there: something on its way is no folder",
    errno.ELOOP: "is a symbolic link that leads in a circle: name the file itself",
    errno.ENAMETOOLONG: "has a longer name than the system takes: move it up, or add the folder that it is in",
    errno.ENXIO: "is a socket or a device: give a file, or - for standard input",
    errno.EMFILE: "cannot be opened beside so many others: raise the limit of open files (`ulimit -n`)",
    errno.EIO: "cannot be read from its disk: copy it from a backup",
    errno.ESTALE: "is not there any more: its file system was mounted anew",
}


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that was asked for and cannot be read. `error`: a sentence about it, without its name."""

    path: Path | str
    error: str


@dataclass(slots=True)
class Source:
    """`path`: absolute, or the name of what is no file. `size` (bytes) and `modified` (s since 1970): the last known.

    `follow`: whether a symbolic link of this name means the file that it leads to. `stream`: what is read if it is no
    file. `largest`: bytes that are read. `type`: as of `Extracted`, where it is known before anything is read.
    """

    path: Path | str
    size: int
    modified: int
    follow: bool = True
    stream: BinaryIO | None = None
    largest: int = LARGEST
    type: str | None = None

    def read(self) -> bytes:
        """All of it, as it was at one time; raises InputError, or ChangedError where it never stayed as it was."""
        if self.stream:
            return self._whole_stream(self.stream)
        try:
            for _ in range(TRIES):
                if (content := self._once()) is not None:
                    return content
        except OSError as error:
            raise InputError(sentence(error)) from None
        raise ChangedError("changed each time it was read: add it when it is written")

    def _once(self) -> bytes | None:
        """None where it changed meanwhile."""
        descriptor = os.open(self.path, FLAGS | (0 if self.follow else os.O_NOFOLLOW))
        try:
            before = os.fstat(descriptor)
            if not stat.S_ISREG(before.st_mode):
                raise InputError(unfit(before.st_mode))
            self.size, self.modified = before.st_size, int(before.st_mtime)
            if self.size > self.largest:
                raise InputError(self._too_large(human(self.size)))
            content = _bytes(descriptor, self.size + 1)
            after = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        return content if len(content) == self.size and _version(before) == _version(after) else None

    def _whole_stream(self, stream: BinaryIO) -> bytes:
        try:
            content = stream.read(self.largest + 1)
        except (OSError, ValueError) as error:
            raise InputError(f"cannot be read ({error}): give it again") from None
        if len(content) > self.largest:
            raise InputError(self._too_large(f"more than {human(self.largest)}"))
        self.size = len(content)
        return content

    def _too_large(self, size: str) -> str:
        return f"has {size}, and at most {human(self.largest)} of a file are read: split it, or leave it out"


def sentence(error: OSError) -> str:
    """Why the system would not read something, and what helps."""
    why = SENTENCES.get(error.errno or 0)
    return why or f"cannot be read ({error.strerror or error}): check that it is there and that you may read it"


def unfit(mode: int) -> str:
    """Why something of this mode is not read."""
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFLNK: "a link"}
    kind = kinds.get(stat.S_IFMT(mode), "a device")
    return f"is {kind} and no file: give a file, or - for standard input"


def _bytes(descriptor: int, most: int) -> bytes:
    """Up to `most` bytes. One call gives them all, except on some file systems of a network."""
    content = os.read(descriptor, most)
    while len(content) < most and (more := os.read(descriptor, most - len(content))):
        content += more
    return content


def _version(state: os.stat_result) -> tuple[int, ...]:
    return state.st_size, state.st_mtime_ns, state.st_ctime_ns
