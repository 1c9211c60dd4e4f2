"""The folder that the cited files of a record are relative to."""

import os
from pathlib import Path

MARK = b".git"  # a folder; in a worktree and in a submodule a file


def root(folder: Path) -> bytes:
    """The repository that a folder is of: the nearest folder at or above it that has .git, else the folder itself."""
    start = at = os.path.realpath(os.fsencode(folder))
    while not os.path.lexists(os.path.join(at, MARK)):
        above = os.path.dirname(at)
        if above == at:
            return start
        at = above
    return at


def here() -> bytes:
    """Of the working folder; b"" where that was removed."""
    try:
        return root(Path.cwd())
    except FileNotFoundError:
        return b""
