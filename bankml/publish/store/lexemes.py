"""Terms of `bankml.terms` as PostgreSQL's lexemes: cut by us, never by a parser of its own.

A tsvector holds lexemes of less than 2 KB, 1 MB of them in all, and of each at most 256 positions up to 16,383
(https://www.postgresql.org/docs/current/textsearch-limitations.html).
"""

import hashlib
import struct
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache

LONGEST = 1024  # bytes: an index entry takes some 2,700 with all else that is in it
ROOM = 1_000_000  # bytes of all lexemes of a passage
POSITIONS = 255  # of a lexeme: so often a term is counted at most
LAST = 16_383  # the largest position


def lexeme(term: str) -> str:
    """The term itself, or a digest in the place of one that is too long; equal for equal terms alone."""
    if len(term) <= LONGEST // 4 or len(coded := term.encode()) <= LONGEST:
        return term
    return f"{term[:16]}#{hashlib.sha256(coded).hexdigest()}"


def vector(terms: Sequence[str]) -> tuple[bytes, list[str]]:
    """A tsvector of the terms in their order, as PostgreSQL receives it in binary, and its lexemes, each once.

    Positions count from 1. Behind the last possible one a lexeme keeps its count: so many positions end at the last.
    """
    found: dict[str, list[int]] = defaultdict(list)
    for position, term in enumerate(terms, 1):
        found[term].append(position)
    parts, kept, room = [b""], list[str](), ROOM
    for term in sorted(found):
        name = _name(term)
        if (room := room - len(name)) < 0:
            break
        parts.append(name + _positions(found[term]))
        kept.append(lexeme(term))
    parts[0] = struct.pack(">i", len(kept))
    return b"".join(parts), kept


def query(term: str) -> str:
    """A tsquery of this one term, quoted."""
    return "'" + lexeme(term).replace("\\", "\\\\").replace("'", "''") + "'"


def any_of(terms: Iterable[str]) -> str:
    """A tsquery of any of the terms."""
    return " | ".join(map(query, terms))


@lru_cache(1 << 16)
def _name(term: str) -> bytes:
    return lexeme(term).encode() + b"\0"


def _positions(positions: list[int]) -> bytes:
    """Their number, then each: at most 255, ascending, none twice, none beyond the last possible one."""
    if len(positions) == 1:
        return _PLACED[min(positions[0], LAST)]
    kept = positions[:POSITIONS]
    places = [min(place, LAST - (len(kept) - 1 - at)) for at, place in enumerate(kept)]
    return struct.pack(f">H{len(places)}H", len(places), *places)


_PLACED = [struct.pack(">HH", 1, place) for place in range(LAST + 1)]  # of the many terms that stand once
