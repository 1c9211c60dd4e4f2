"""How far a long work is: a bar on a person's terminal once it has taken two seconds, silence elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bankml.cli.output import PATIENCE

Show = Callable[[int, int | None], None]
"""Called as show(done, in all); None where that is not known."""


@contextmanager
def progress(what: str, unit: str = "texts") -> Iterator[Show]:
    """`show` is what the work calls."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TextColumn(unit), TimeRemainingColumn())
    started = time.monotonic()
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=False) as bars:
        task = bars.add_task(what, visible=False)

        def show(done: int, total: int | None) -> None:
            bars.update(task, completed=done, total=total, visible=time.monotonic() - started > PATIENCE)

        yield show
