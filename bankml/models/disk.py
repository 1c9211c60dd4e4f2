"""What a disk may refuse, said with the remedy."""

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bankml.errors import ModelError
from bankml.sizes import human

ELSEWHERE = "set BANKML_HOME to a folder with room that you can write"


@contextmanager
def errors(place: Path, elsewhere: str = ELSEWHERE) -> Iterator[None]:
    """An OSError inside is a ModelError that names `place`; `elsewhere` says how another one is chosen."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise ModelError(full(place, elsewhere)) from None
        raise ModelError(f"{place} cannot be used ({error.strerror}): {elsewhere}") from None


def full(place: Path, elsewhere: str = ELSEWHERE) -> str:
    """The sentence for a disk without room."""
    return f"the disk of {place} is full: free some space or {elsewhere}"


def check_space(folder: Path, need: int, what: str) -> None:
    """Raises ModelError when fewer than `need` bytes are free where `folder` is, or `what` would fail half way."""
    if (free := shutil.disk_usage(folder).free) < need:
        raise ModelError(
            f"{folder} has {human(free)} free and {what} needs {human(need)}: free some space or {ELSEWHERE}"
        )
