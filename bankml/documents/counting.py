"""Tokens of many texts, asked for in batches."""

from collections.abc import Callable, Iterable, Iterator, Sequence

Count = Callable[[Sequence[str]], Sequence[int]]

CHARACTERS = 1 << 18  # of the texts of a batch: their ids are a few MB, and a call's own cost is nothing beside it


def batched(texts: Iterable[str], count: Count) -> Iterator[int]:
    """What `count` says of each text."""
    batch: list[str] = []
    held = 0
    for text in texts:
        batch.append(text)
        held += len(text) + 1
        if held >= CHARACTERS:
            yield from map(int, count(batch))
            batch, held = [], 0
    if batch:
        yield from map(int, count(batch))
