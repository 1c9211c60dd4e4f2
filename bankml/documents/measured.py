"""Pieces with what they cost of a passage's room, none of which costs too much."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain, pairwise

from bankml.documents.counting import Count, batched
from bankml.documents.cuts import parts
from bankml.documents.pieces import Piece

CHARACTERS_A_TOKEN = 16  # at most: blanks and unknown words of any length would else make passages of any length
LONG = 8  # characters for each token that a piece may cost, above which it is cut before it is counted


class Measured:
    """The pieces of a text, in parts of at most `most` tokens where that can be, and what each costs.

    `special`: tokens that each text gets, which are not counted.
    """

    def __init__(self, text: str, found: Iterable[Piece], count: Count, special: int, most: int) -> None:
        self.text = text
        pairs = _refined(text, list(_short(text, found, LONG * most)), count, special, most)
        self.pieces = [piece for piece, _ in pairs]
        self.costs = _with_gaps(self.pieces, [cost for _, cost in pairs])
        self._starts = [piece.start for piece in self.pieces]
        self._sums = [0, *accumulate(self.costs)]

    def at(self, place: int) -> int:
        """The number of the first piece that begins there or later."""
        return bisect_left(self._starts, place)

    def cost(self, first: int, last: int) -> int:
        """Of the pieces from `first` to before `last`."""
        return self._sums[last] - self._sums[first]


def _short(text: str, found: Iterable[Piece], long: int) -> Iterable[Piece]:
    """Cut without being counted: what is counted as a whole and then in its parts is counted often."""
    return chain.from_iterable(
        parts(text, piece, long // 2) if piece.end - piece.start > long else (piece,) for piece in found
    )


def _refined(text: str, pieces: list[Piece], count: Count, special: int, most: int) -> list[tuple[Piece, int]]:
    """Cut in proportion to its tokens, so that each character is counted a few times, however long the run."""
    counted = batched((text[piece.start : piece.end] for piece in pieces), count)
    pairs = [(piece, tokens - special) for piece, tokens in zip(pieces, counted, strict=True)]
    large = [(piece, cost) for piece, cost in pairs if cost > most and piece.end - piece.start > 1]
    if not large:
        return pairs
    kept = [(piece, cost) for piece, cost in pairs if cost <= most or piece.end - piece.start == 1]
    smaller = [part for piece, cost in large for part in parts(text, piece, _proportion(piece, cost, most))]
    return sorted(kept + _refined(text, smaller, count, special, most))


def _proportion(piece: Piece, cost: int, most: int) -> int:
    return max(1, (piece.end - piece.start) * most // cost)


def _with_gaps(pieces: Sequence[Piece], costs: list[int]) -> list[int]:
    """No less than the characters up to the next piece are worth."""
    for number, (piece, after) in enumerate(pairwise(pieces)):
        costs[number] = max(costs[number], (after.start - piece.start) // CHARACTERS_A_TOKEN)
    return costs
