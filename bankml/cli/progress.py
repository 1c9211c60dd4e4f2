"""How far a long work is: bars that count, on a person's terminal once they have waited, silence elsewhere."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, TypeVar

from bankml.cli.output import PATIENCE

if TYPE_CHECKING:
    from rich.progress import ProgressColumn

    from bankml.models.progress import Bars

Counts = TypeVar("Counts")
Show = Callable[[int, int | None], None]
"""Called as show(done, in all); None where that is not known."""


@contextmanager
def progress(what: str, unit: str = "texts") -> Iterator[Show]:
    """`show` is what the work calls; nothing is shown of one that takes less than two seconds."""
    with counted(unit, PATIENCE) as show:
        yield lambda done, total: show(what, done, total)


@contextmanager
def facts(
    what: str, told: Callable[[Counts, float], tuple[str, int, int]], numbers: bool = False
) -> Iterator[Callable[[Counts], None]]:
    """What is called with the counts of a work, of which `told` makes words, how far it is, and how far it has to go.

    It is given the seconds since the beginning as well. `numbers`: with both numbers before the words.
    """
    from bankml.models.progress import bars

    begun, held = time.monotonic(), [""]

    def columns() -> "Sequence[ProgressColumn]":
        from rich.progress import MofNCompleteColumn, TimeRemainingColumn

        before = (MofNCompleteColumn(),) if numbers else ()
        return *before, _words(held), TimeRemainingColumn()

    with bars(columns, transient=True, patience=PATIENCE) as show:

        def count(counts: Counts) -> None:
            held[0], done, total = told(counts, time.monotonic() - begun)
            show(what, done, total)

        yield count


def counted(unit: str = "", patience: float = 0.0) -> "AbstractContextManager[Bars]":
    """A bar for each work, as `bankml.models.progress.bars`, wiped away at the end."""
    from bankml.models.progress import bars

    def columns() -> "Sequence[ProgressColumn]":
        from rich.progress import MofNCompleteColumn, TextColumn, TimeRemainingColumn

        return MofNCompleteColumn(), TextColumn(unit), TimeRemainingColumn()

    return bars(columns, transient=True, patience=patience)


def _words(held: Sequence[str]) -> "ProgressColumn":
    """A column that shows what is held now."""
    from rich.progress import ProgressColumn, Task
    from rich.text import Text

    class Words(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(held[0])

    return Words()
