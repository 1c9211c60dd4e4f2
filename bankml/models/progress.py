"""How far a work is: a callback for programs, bars on a person's terminal, silence elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bankml.utf8 import printable

if TYPE_CHECKING:
    from rich.progress import ProgressColumn, TaskID

Progress = Callable[[str, int, int], None]
"""Called as progress(what, done, in all), often; cheap to ignore. Of a pull both are bytes."""

Bars = Callable[[str, int, int | None], None]
"""A Progress that is also told where it is not known how much there is in all."""


def silent(what: str, done: int, total: int | None) -> None:
    """Shows nothing."""


@contextmanager
def shown(progress: Progress | None) -> Iterator[Progress]:
    """`progress` itself; when None, bars of bytes on stderr if that is a terminal, else nothing."""
    if progress is not None:
        yield progress
        return
    with bars(_bytes) as show:
        yield show


@contextmanager
def bars(
    columns: "Callable[[], Sequence[ProgressColumn]]", transient: bool = False, patience: float = 0.0
) -> Iterator[Bars]:
    """On stderr if that is a terminal, else nothing: a bar for each `what`, with these columns behind it.

    `transient`: they are wiped away at the end. A bar is not shown in the first `patience` seconds.
    """
    if not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    begun = time.monotonic()
    name = TextColumn("{task.description}", markup=False)
    with Progress(name, BarColumn(), *columns(), console=Console(stderr=True), transient=transient) as drawn:
        tasks: dict[str, TaskID] = {}

        def show(what: str, done: int, total: int | None) -> None:
            if what not in tasks:
                tasks[what] = drawn.add_task(printable(what), total=total, visible=False)
            visible = time.monotonic() - begun >= patience
            drawn.update(tasks[what], completed=done, total=total, visible=visible)

        yield show


def _bytes() -> "Sequence[ProgressColumn]":
    from rich.progress import DownloadColumn, TransferSpeedColumn

    return DownloadColumn(), TransferSpeedColumn()
