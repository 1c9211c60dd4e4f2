"""How far a pull is: a callback for programs, a bar on a person's terminal, silence elsewhere."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bankml.utf8 import printable

Progress = Callable[[str, int, int], None]
"""Called as progress(what, bytes done, bytes in all), often; cheap to ignore."""


def silent(what: str, done: int, total: int) -> None:
    """Shows nothing."""


@contextmanager
def shown(progress: Progress | None) -> Iterator[Progress]:
    """`progress` itself; when None, a bar on stderr if that is a terminal, else nothing."""
    if progress is not None or not sys.stderr.isatty():
        yield progress or silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TransferSpeedColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Bars(*columns, console=Console(stderr=True)) as bars:
        tasks = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(printable(what), total=total)
            bars.update(tasks[what], completed=done, total=total)

        yield show
