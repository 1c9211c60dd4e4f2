"""How far a long work is: bars that count, on a person's terminal once they have waited, silence elsewhere."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from bankml.cli.output import PATIENCE

if TYPE_CHECKING:
    from rich.progress import ProgressColumn

    from bankml.models.progress import Bars

Show = Callable[[int, int | None], None]
"""Called as show(done, in all); None where that is not known."""


@contextmanager
def progress(what: str, unit: str = "texts") -> Iterator[Show]:
    """`show` is what the work calls; nothing is shown of one that takes less than two seconds."""
    with counted(unit, PATIENCE) as show:
        yield lambda done, total: show(what, done, total)


def counted(unit: str = "", patience: float = 0.0) -> "AbstractContextManager[Bars]":
    """A bar for each work, as `bankml.models.progress.bars`, wiped away at the end."""
    from bankml.models.progress import bars

    def columns() -> "Sequence[ProgressColumn]":
        from rich.progress import MofNCompleteColumn, TextColumn, TimeRemainingColumn

        return MofNCompleteColumn(), TextColumn(unit), TimeRemainingColumn()

    return bars(columns, transient=True, patience=patience)
