"""How far `bankml add` is, on a person's terminal: files, chunks, tokens a second, the time that is left."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bankml.cli.output import PATIENCE

if TYPE_CHECKING:
    from rich.progress import ProgressColumn

    from bankml.embedders import Embedder
    from bankml.library.add.added import Added


REASONS = {  # to pass a file over, or a folder
    "hidden": "hidden",
    "link": "linked",
    "noise": "in folders of other programs",
    "ignored": "named in a .gitignore",
    "excluded": "left out by a pattern",
    "type": "of no type that is read",
    "own": "of the knowledge base",
    "seen": "twice",
    "special": "special",
}


@contextmanager
def adding(files: int, size: int) -> "Iterator[Callable[[Added], None]]":
    """What is called with the counts so far of `files` files of `size` bytes in all."""
    from bankml.models.progress import bars

    begun, facts = time.monotonic(), [""]

    def columns() -> "Sequence[ProgressColumn]":
        from rich.progress import TimeRemainingColumn

        return _facts(facts), TimeRemainingColumn()

    with bars(columns, transient=True, patience=PATIENCE) as show:

        def count(added: "Added") -> None:
            facts[0] = told(added, files, time.monotonic() - begun)
            show("adding", added.bytes, size)

        yield count


def told(added: "Added", files: int, seconds: float) -> str:
    """The counts in words."""
    speed = f", {added.tokens / seconds:,.0f} tokens/s" if added.tokens and seconds else ""
    return f"{added.files:,} of {files:,} files, {added.embedded:,} chunks embedded{speed}"


def summary(added: "Added", files: int, embedder: "Embedder | None") -> str:
    """What was done, in a sentence."""
    counts = [
        f"{count:,} {what}"
        for count, what in (
            (added.added, "added"),
            (added.updated, "updated"),
            (added.unchanged, "unchanged"),
            (added.removed, "removed"),
            (len(added.failed), "failed"),
        )
        if count
    ]
    cut = "" if added.finished else f"interrupted after {added.files:,} of {files:,} files; run it again to go on: "
    return f"{cut}{', '.join(counts) or 'nothing was added'}{_chunks(added, embedder)}{_passed_over(added.skipped)}"


def _passed_over(skipped: Mapping[str, int]) -> str:
    """By reason, the most frequent first."""
    most = sorted(((count, what) for what, count in skipped.items() if count), key=lambda one: -one[0])
    told = ", ".join(f"{count:,} {REASONS.get(what, what)}" for count, what in most)
    return f"; passed over: {told}" if told else ""


def _chunks(added: "Added", embedder: "Embedder | None") -> str:
    parts = [f"{added.chunks:,} chunks"] if added.chunks else []
    if added.embedded and embedder:
        parts.append(f"{added.stored:,} embedded with {embedder.model}, {added.tokens_per_s:,.0f} tokens/s")
    if added.in_vain:
        parts.append(f"{added.in_vain:,} more that another process had stored meanwhile")
    if added.reused:
        parts.append(f"{added.reused:,} vectors were there")
    if added.without_vector:
        parts.append(f"{added.without_vector:,} found by words alone")
    return f"; {', '.join(parts)}" if parts else ""


def _facts(held: Sequence[str]) -> "ProgressColumn":
    """A column that shows what is held now."""
    from rich.progress import ProgressColumn, Task
    from rich.text import Text

    class Facts(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(held[0])

    return Facts()
