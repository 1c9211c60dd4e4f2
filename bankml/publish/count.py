"""How many lines, and how many of them with a vector."""

from dataclasses import dataclass

from bankml.publish.lines import Lines
from bankml.publish.vectors import Vectors


@dataclass
class Count:
    exchanges: int = 0
    embedded: int = 0


def count(lines: Lines, vectors: Vectors | None) -> Count:
    """Of a whole history, every line of which is checked by that."""
    found = Count()
    for line in lines:
        found.exchanges += 1
        found.embedded += vectors is not None and vectors.of(line.record) is not None
    return found
