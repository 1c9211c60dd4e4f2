"""How far `bankml add` is, on a person's terminal: files, chunks, tokens a second, the time that is left."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from bankml.cli.progress import facts

if TYPE_CHECKING:
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
    "secret": "that may hold secrets",
    "picture": "pictures",
}


def adding(files: int, size: int) -> "AbstractContextManager[Callable[[Added], None]]":
    """What is called with the counts so far of `files` files of `size` bytes in all."""
    return facts("adding", lambda added, seconds: (told(added, files, seconds), added.bytes, size))


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
        parts.append(f"{added.stored:,} embedded with {embedder.reference}, {added.tokens_per_s:,.0f} tokens/s")
    if added.in_vain:
        parts.append(f"{added.in_vain:,} more that another process had stored meanwhile")
    if added.reused:
        parts.append(f"{added.reused:,} vectors were there")
    if added.without_vector:
        parts.append(f"{added.without_vector:,} found by words alone")
    return f"; {', '.join(parts)}" if parts else ""
