"""Passages by id, each with the beginning of its key: an id is the same text's only as long as its key is the same.

Where a copy of a store is put back and goes on, the ids that it gives to new passages were others' before.
"""

import sqlite3
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bankml.errors import StoreError

Ids = NDArray[np.int64]
Keys = NDArray[np.uint64]
Mask = NDArray[np.bool_]

DIGITS = 16  # of a key, hex: two of a million passages have the same ones by a chance of 1 in 37 million


@dataclass(frozen=True, slots=True)
class Passages:
    """`ids` ascending, `keys` of the same length: the first 8 bytes of each passage's key."""

    ids: Ids
    keys: Keys

    @classmethod
    def read(cls, db: sqlite3.Connection) -> Self:
        """All of the store; of 100,000 an index by key gives them in 30 ms. Raises StoreError for what is no key."""
        ids, keys = db.execute(
            f"SELECT group_concat(id), group_concat(substr(key, 1, {DIGITS}), '') FROM chunks"
        ).fetchone()
        return cls.of(np.fromstring(ids or "", np.int64, sep=","), _keys(keys or ""))

    @classmethod
    def of(cls, ids: Ids, keys: Keys) -> Self:
        """In any order."""
        if len(ids) != len(keys):
            raise _damaged()
        order = np.argsort(ids)
        return cls(ids[order], keys[order])

    @classmethod
    def joined(cls, several: Sequence["Passages"]) -> Self:
        """Of all of them, none of which is in two."""
        return cls.of(np.concatenate([each.ids for each in several]), np.concatenate([each.keys for each in several]))

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, some: Mask) -> "Passages":
        return Passages(self.ids[some], self.keys[some])

    def within(self, others: "Passages") -> Mask:
        """Which of these are among the others, with the same key."""
        if not len(others):
            return np.zeros(len(self), bool)
        at = places(self.ids, others.ids)
        return np.asarray((others.ids[at] == self.ids) & (others.keys[at] == self.keys))

    def keys_of(self, ids: Ids) -> Keys:
        """Of passages that are all among these."""
        return self.keys[np.searchsorted(self.ids, ids)]


NONE = Passages(np.empty(0, np.int64), np.empty(0, np.uint64))


def places(some: Ids, others: Ids) -> NDArray[np.int64]:
    """Where each of `some` is among the others, ascending and not none; anywhere if it is not."""
    at = np.searchsorted(others, some)
    at[at == others.size] = 0
    return at


def isin(some: Ids, others: Ids) -> Mask:
    """Which of `some` are among the others, which are ascending."""
    return np.asarray(others[places(some, others)] == some) if others.size else np.zeros(some.size, bool)


class Masks:
    """`isin` of arrays that never change, remembered: of 100,000 ids it takes 5 ms. For one thread at a time."""

    def __init__(self, kept: int = 8) -> None:
        self._kept = kept
        self._found: OrderedDict[tuple[int, int], tuple[Ids, Ids, Mask]] = OrderedDict()

    def isin(self, some: Ids, others: Ids) -> Mask:
        """As the function of this name; not to be written to."""
        at = id(some), id(others)  # of arrays that live as long as they are remembered
        if at in self._found:
            self._found.move_to_end(at)
        else:
            self._found[at] = some, others, isin(some, others)
            if len(self._found) > self._kept:
                self._found.popitem(last=False)
        return self._found[at][2]


def _keys(digits: str) -> Keys:
    try:
        return np.frombuffer(bytes.fromhex(digits), ">u8").astype(np.uint64)
    except ValueError:
        raise _damaged() from None


def _damaged() -> StoreError:
    return StoreError("the knowledge base is damaged (a passage's key is none): `bankml doctor` says where")
