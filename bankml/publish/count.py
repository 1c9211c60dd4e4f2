"""How many lines, how many exchanges in them, and how many of these with a vector."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bankml.publish.lines import Line, Lines
from bankml.publish.vectors import Vectors

Vector = NDArray[np.float32]


@dataclass
class Count:
    lines: int = 0
    exchanges: int = 0
    embedded: int = 0

    def add(self, line: Line, vectors: Vectors | None) -> Vector | None:
        """Counts the line, whose vector is given: of an exchange that has one."""
        said = line.exchange is not None
        vector = vectors.of(line.record) if vectors is not None and said else None
        self.lines += 1
        self.exchanges += said
        self.embedded += vector is not None
        return vector


def count(lines: Lines, vectors: Vectors | None) -> Count:
    """Of a whole history, every line of which is checked by that."""
    found = Count()
    for line in lines:
        found.add(line, vectors)
    return found
