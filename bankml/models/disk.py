"""What a disk may refuse, said with the remedy."""

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bankml.errors import ModelError
from bankml.sizes import human


@contextmanager
def errors(folder: Path) -> Iterator[None]:
    """An OSError inside is a ModelError that names `folder`."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise ModelError(
                f"the disk of {folder} is full: free some space or set BANKML_HOME to another disk"
            ) from None
        raise ModelError(
            f"{folder} cannot be used ({error.strerror}): set BANKML_HOME to a folder you can write"
        ) from None


def check_space(folder: Path, need: int, what: str) -> None:
    """Raises ModelError when fewer than `need` bytes are free where `folder` is, or `what` would fail half way."""
    if (free := shutil.disk_usage(folder).free) < need:
        raise ModelError(
            f"{folder} has {human(free)} free and {what} needs {human(need)}: "
            "free some space or set BANKML_HOME to another disk"
        )
