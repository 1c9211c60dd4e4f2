"""Pieces with what they cost of a passage's room, none of which costs too much."""

from collections.abc import Iterable, Sequence
from itertools import chain, pairwise

from bankml.documents.counting import Count, batched
from bankml.documents.cuts import parts
from bankml.documents.pieces import Piece

CHARACTERS_A_TOKEN = 16  # at most: blanks and unknown words of any length would else make passages of any length
LONG = 8  # characters for each token that a piece may cost, above which it is cut before it is counted


def measured(text: str, found: Iterable[Piece], count: Count, special: int, most: int) -> tuple[list[Piece], list[int]]:
    """The pieces, in parts of at most `most` tokens where that can be, and what each costs.

    What is long is cut before it is counted and the rest in proportion to its tokens, so each character is counted a
    few times, however long the longest run is. `special`: tokens that each text gets, which are not counted.
    """
    long = LONG * most
    short = chain.from_iterable(
        parts(text, piece, long // 2) if piece.end - piece.start > long else (piece,) for piece in found
    )
    pairs = _refined(text, list(short), count, special, most)
    pieces = [piece for piece, _ in pairs]
    return pieces, _with_gaps(pieces, [cost for _, cost in pairs])


def _refined(text: str, pieces: list[Piece], count: Count, special: int, most: int) -> list[tuple[Piece, int]]:
    counted = batched((text[piece.start : piece.end] for piece in pieces), count)
    pairs = [(piece, tokens - special) for piece, tokens in zip(pieces, counted, strict=True)]
    large = [pair for pair in pairs if pair[1] > most and pair[0].end - pair[0].start > 1]
    if not large:
        return pairs
    smaller = [
        part for piece, cost in large for part in parts(text, piece, (piece.end - piece.start) * most // cost or 1)
    ]
    kept = [pair for pair in pairs if pair[1] <= most or pair[0].end - pair[0].start == 1]
    return sorted(kept + _refined(text, smaller, count, special, most))


def _with_gaps(pieces: Sequence[Piece], costs: list[int]) -> list[int]:
    """No less than the characters up to the next piece are worth."""
    for number, (piece, after) in enumerate(pairwise(pieces)):
        costs[number] = max(costs[number], (after.start - piece.start) // CHARACTERS_A_TOKEN)
    return costs
