"""What a disk refuses is a sentence with the remedy that fits."""

import errno
import os
from pathlib import Path

import pytest

from bankml.errors import ModelError
from bankml.models import disk


def refused(number: int, *elsewhere: str) -> str:
    with pytest.raises(ModelError) as error, disk.errors(Path("/place"), *elsewhere):
        raise OSError(number, os.strerror(number))
    return str(error.value)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk(number: int) -> None:
    home = "set BANKML_HOME to a folder with room that you can write"
    assert refused(number) == f"the disk of /place is full: free some space or {home}"
    assert refused(number, "choose another") == "the disk of /place is full: free some space or choose another"


def test_what_may_not_be_written() -> None:
    assert refused(errno.EACCES).startswith("/place cannot be used (Permission denied): set BANKML_HOME to a folder")
    assert refused(errno.EROFS, "choose another") == "/place cannot be used (Read-only file system): choose another"


def test_too_little_room(tmp_path: Path) -> None:
    with pytest.raises(
        ModelError, match=r"MB free and pulling m needs 1,000,000,000,000 MB: free some space or set BANK"
    ):
        disk.check_space(tmp_path, 10**18, "pulling m")
    disk.check_space(tmp_path, 1, "pulling m")
