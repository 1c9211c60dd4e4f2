"""What differs between two texts, by words."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Literal

Kind = Literal["kept", "removed", "added"]

# A word, a run of spaces, or one sign; of scripts without spaces (Thai, kana, Han) each character is one.
WORD = re.compile(
    r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W\u0e00-\u0e7f\u3040-\u9fff]+|\s+|.", re.S
)
WORDS = 2000  # of each text, between what they begin and end with; of more the parts are not compared


@dataclass(frozen=True, slots=True)
class Change:
    """A run of words that is in both texts, in the first alone or in the second alone."""

    kind: Kind
    text: str


def changes(before: str, after: str) -> list[Change]:
    """In the order of the texts: without what was added it is `before`, without what was removed `after`."""
    old, new = WORD.findall(before), WORD.findall(after)
    first = _same(old, new)
    last = _same(old[first:][::-1], new[first:][::-1])
    middle = _middle(old[first : len(old) - last], new[first : len(new) - last])
    parts = [("kept", old[:first]), *middle, ("kept", old[len(old) - last :])]
    return [Change(kind, "".join(words)) for kind, words in parts if words]


def _same(some: list[str], others: list[str]) -> int:
    """Words that both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(some, others, strict=False)))


def _middle(old: list[str], new: list[str]) -> Iterator[tuple[Kind, list[str]]]:
    if max(len(old), len(new)) > WORDS:
        yield from (("removed", old), ("added", new))
        return
    for operation, start, end, other_start, other_end in SequenceMatcher(None, old, new).get_opcodes():
        if operation == "equal":
            yield "kept", old[start:end]
        else:
            yield from (("removed", old[start:end]), ("added", new[other_start:other_end]))
