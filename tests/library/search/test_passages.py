"""Passages are told apart by id and key."""

import numpy as np
import pytest

from bankml.errors import StoreError
from bankml.library.search.passages import NONE, Masks, Passages, isin
from bankml.store import Store
from tests.library.shelf import passages, put


def read(store: Store) -> Passages:
    with store.reading() as db:
        return Passages.read(db)


def test_all_of_a_store_by_id_with_the_beginning_of_their_keys(store: Store) -> None:
    texts = [f"text {number}" for number in range(20)]
    ids = put(store, "/a", texts)
    found = read(store)
    assert found.ids.tolist() == ids
    assert [f"{key:016x}" for key in found.keys.tolist()] == [passage.key[:16] for passage in passages(texts)]
    assert found.keys_of(np.array([ids[7], ids[3]])).tolist() == found.keys[[7, 3]].tolist()


def test_an_empty_store(store: Store) -> None:
    assert len(read(store)) == 0


def test_only_those_of_the_same_key_are_the_same() -> None:
    ours = Passages(np.array([1, 2, 3, 9]), np.array([10, 20, 30, 90], np.uint64))
    theirs = Passages(np.array([1, 2, 4]), np.array([10, 21, 40], np.uint64))
    assert ours.within(theirs).tolist() == [True, False, False, False]
    assert theirs.within(ours).tolist() == [True, False, False]
    assert ours.within(NONE).tolist() == [False] * 4
    assert Passages.joined([theirs[np.array([False, False, True])], ours]).ids.tolist() == [1, 2, 3, 4, 9]
    assert isin(np.array([0, 2, 10]), ours.ids).tolist() == [False, True, False]


@pytest.mark.parametrize("key", ["", "0123", "x" * 64, "é" * 64])
def test_a_key_that_is_none_is_told(store: Store, key: str) -> None:
    put(store, "/a", ["one", "two"])
    with store.writing() as db:
        db.execute("UPDATE chunks SET key = ? WHERE id = 1", (key,))
    with pytest.raises(StoreError, match="bankml doctor"):
        read(store)


def test_masks_are_those_of_isin_and_remembered_while_they_are_few() -> None:
    masks, every = Masks(kept=2), np.arange(0, 100, 2)
    for others in (np.array([4, 6]), np.array([5]), np.array([98]), np.array([4, 6]), np.empty(0, np.int64)):
        found = masks.isin(every, others)
        assert found.tolist() == isin(every, others).tolist()
        assert masks.isin(every, others) is found
    assert len(masks._found) == 2
