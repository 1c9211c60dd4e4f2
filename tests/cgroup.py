"""A real cgroup with a limit of memory, below the one this process is in; tests skip where none can be made."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

VERSION_1, VERSION_2 = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")


@contextmanager
def limited(limit: int) -> Iterator[Path]:
    """The folder of a group that may hold `limit` bytes; its processes must have ended when the block ends."""
    folder, name = _place()
    try:
        folder.mkdir()
        (folder / name).write_text(str(limit))
    except OSError as error:
        if folder.is_dir():
            folder.rmdir()
        pytest.skip(f"no cgroup with a limit can be made here ({error})")
    try:
        yield folder
    finally:
        _remove(folder)


def _place() -> tuple[Path, str]:
    own = "bankml-test-" + str(os.getpid())
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        number, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            return VERSION_1 / path.lstrip("/") / own, "memory.limit_in_bytes"
        if number == "0" and (VERSION_2 / "cgroup.controllers").is_file():
            return VERSION_2 / path.lstrip("/") / own, "memory.max"
    pytest.skip("this process is in no cgroup")


def _remove(folder: Path) -> None:
    """A process that has just ended may still be in it."""
    for _ in range(50):
        try:
            return folder.rmdir()
        except OSError:
            time.sleep(0.1)
