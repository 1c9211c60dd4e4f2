"""Files of a folder that somebody else filled: a FIFO blocks for ever when it is opened, a device never ends."""

import errno
import os
import stat
from pathlib import Path


def opened(path: Path) -> int:
    """A descriptor to read from. Raises OSError when there is no such file, or it is not a regular one."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "it is not a regular file")


def read(path: Path, limit: int) -> bytes:
    """The first `limit` bytes. Raises OSError as `opened`."""
    with open(opened(path), "rb") as file:
        return file.read(limit)
