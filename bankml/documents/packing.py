"""Which pieces make a passage: as many as fit, ending at the best border of the second half.

Among equal borders the text at the border itself decides and not how full the passage is. So after an edit the passages
are soon the same as before, where filling each to the brim would move every border up to the end of the section.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from bankml.documents.pieces import SENTENCE


class Passage(NamedTuple):
    """Pieces `body` to `end`, after the repeated ones from `first` on."""

    first: int
    body: int
    end: int


class Packing:
    """Pieces of known cost between two numbers. `border(i)`: what is between i - 1 and i; `mark(i)` tells places."""

    def __init__(
        self,
        costs: Sequence[int],
        border: Callable[[int], int],
        mark: Callable[[int], int],
        repeats: Callable[[int], bool] = lambda _: False,
    ) -> None:
        self._sums = [0, *accumulate(costs)]  # of all pieces before one
        self._border, self._mark, self._repeats = border, mark, repeats

    def passages(self, first: int, last: int, room: int, overlap: int) -> Iterator[Passage]:
        """Each costs at most `room`, except where a single piece costs more."""
        previous = body = first
        while body < last:
            start = self._start(previous, body, overlap) if body > first else body
            if self._cost(start, body + 1) > room:
                start = body
            end = self._end(body, last, room - self._cost(start, body))
            yield Passage(start, body, end)
            previous, body = body, end

    def _cost(self, first: int, last: int) -> int:
        return self._sums[last] - self._sums[first]

    def _start(self, previous: int, body: int, overlap: int) -> int:
        """The earliest piece to repeat: behind a border no worse than the one that was chosen, or a sentence's."""
        worst = min(self._border(body), SENTENCE)
        start = at = body
        while at - 1 > previous and self._repeats(at - 1) and self._cost(at - 1, body) <= overlap:
            at -= 1
            start = at if self._border(at) >= worst else start
        return start

    def _end(self, body: int, last: int, room: int) -> int:
        if body + 1 == last or self._cost(body, last) <= room:
            return last
        sums, spent = self._sums, self._sums[body]
        most = max(body + 1, bisect_right(sums, spent + room, body, last + 1) - 1)
        half = max(body + 1, bisect_left(sums, spent + (room + 1) // 2, body, last + 1))
        places: Sequence[int] = range(half, most + 1) or [most]
        # A tail of a few words is no passage: leave it a quarter, if that can be.
        places = [place for place in places if self._cost(place, last) >= room // 4] or places
        best = max(map(self._border, places))
        return min((place for place in places if self._border(place) == best), key=self._mark)
