"""What an .emb was when it was read."""

import os
from typing import NamedTuple


class Stamp(NamedTuple):
    """What tells that a file was written to since."""

    inode: int
    size: int  # bytes
    mtime: int  # ns

    @classmethod
    def of(cls, state: os.stat_result) -> "Stamp":
        """Of what stat or fstat says."""
        return cls(state.st_ino, state.st_size, state.st_mtime_ns)
