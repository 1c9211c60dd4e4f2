"""An index of neighbours is measured, and never gives what is not there."""

import numpy as np
import pytest

from bankml.library.search import approximate
from bankml.library.search.meaning import Meaning
from bankml.store import Store, documents
from tests.library.shelf import bind, give, put, unit

DIMS, COUNT, OURS = 32, 800, "f" * 16


def rows(count: int, seed: int) -> np.ndarray:
    return unit(np.random.default_rng(seed).standard_normal((count, DIMS)))


def ranked(store: Store, meaning: Meaning, query: np.ndarray, k: int = 10, allowed: np.ndarray | None = None) -> list:
    with store.reading() as db:
        return meaning.rank(db, meaning.follow(db, OURS, DIMS), query, k, allowed)[1].ids.tolist()


@pytest.fixture
def shelf(store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """With an index."""
    monkeypatch.setattr(approximate, "SAMPLE", 20)
    bind(store, DIMS)
    give(store, put(store, "/a", [str(number) for number in range(COUNT)]), rows(COUNT, 1))
    meaning = Meaning(store, large=500)
    ranked(store, meaning, rows(1, 2)[0])
    assert meaning.recall == 1.0
    assert meaning.wants_neighbours()
    meaning.make_neighbours()
    assert not meaning.wants_neighbours()
    return store


def test_recall_is_measured_and_is_so(shelf: Store) -> None:
    near, exact = Meaning(shelf, large=500), Meaning(shelf)
    found = []
    for query in rows(50, 3):
        found.append(len({*ranked(shelf, near, query)} & {*ranked(shelf, exact, query)}) / 10)
    assert 0.8 < near.recall <= 1.0
    assert np.mean(found) > near.recall - 0.1
    assert exact.recall == 1.0


def test_its_cosines_are_the_matrix_s(shelf: Store) -> None:
    query, every = rows(1, 4)[0], rows(COUNT, 1)
    near = Meaning(shelf, large=500)
    with shelf.reading() as db:
        found = near.rank(db, near.follow(db, OURS, DIMS), query, 10, None)[1]
    np.testing.assert_allclose(found.scores, every[found.ids - 1] @ query, atol=1e-6)
    assert (np.diff(found.scores) <= 0).all()


def test_filters_are_exact(shelf: Store) -> None:
    allowed = np.array([5, 77, 700])
    near = Meaning(shelf, large=500)
    assert sorted(ranked(shelf, near, rows(1, 5)[0], 10, allowed)) == [5, 77, 700]
    assert near.recall == 1.0


def test_what_came_since_is_found_and_what_went_is_not(shelf: Store) -> None:
    query = rows(1, 6)
    new = put(shelf, "/b", ["new"])
    give(shelf, new, query)
    near = Meaning(shelf, large=500)
    assert ranked(shelf, near, query[0])[0] == new[0]
    assert not near.wants_neighbours()
    with shelf.writing() as db:
        documents.remove(db, [1])
    assert ranked(shelf, near, query[0]) == new


def test_one_that_is_far_behind_is_not_used(shelf: Store) -> None:
    give(shelf, put(shelf, "/b", [f"b{number}" for number in range(60)]), rows(60, 7))
    near = Meaning(shelf, large=500)
    assert ranked(shelf, near, rows(1, 8)[0]) == ranked(shelf, Meaning(shelf), rows(1, 8)[0])
    assert near.recall == 1.0
    assert near.wants_neighbours()


@pytest.mark.parametrize("keep", [0, 4095, 4096, 5000, -1])
def test_a_damaged_one_is_as_if_there_were_none(shelf: Store, keep: int) -> None:
    place = approximate.place(shelf.path)
    place.write_bytes(place.read_bytes()[:keep])
    near = Meaning(shelf, large=500)
    assert ranked(shelf, near, rows(1, 8)[0]) == ranked(shelf, Meaning(shelf), rows(1, 8)[0])
    assert near.wants_neighbours()


def test_a_changed_byte_is_seen(shelf: Store) -> None:
    place = approximate.place(shelf.path)
    content = bytearray(place.read_bytes())
    content[-1000] ^= 1
    place.write_bytes(content)
    near = Meaning(shelf, large=500)
    ranked(shelf, near, rows(1, 8)[0])
    assert near.wants_neighbours()


def test_without_usearch_it_is_exact(shelf: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approximate, "installed", lambda: False)
    near = Meaning(shelf, large=500)
    assert ranked(shelf, near, rows(1, 8)[0]) == ranked(shelf, Meaning(shelf), rows(1, 8)[0])
    assert not near.wants_neighbours()


def test_what_was_near_has_gone(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few gone are not enough for another index, but those may be all that it proposes."""
    monkeypatch.setattr(approximate, "SAMPLE", 5)
    bind(store, DIMS)
    middle = rows(1, 1)
    give(store, put(store, "/a", [str(number) for number in range(4000)]), rows(4000, 2))
    give(store, put(store, "/b", [f"b{number}" for number in range(200)]), unit(middle + 0.01 * rows(200, 3)))
    made = Meaning(store, large=500)
    ranked(store, made, middle[0])
    made.make_neighbours()
    with store.writing() as db:
        documents.remove(db, [2])
    near = Meaning(store, large=500)
    assert ranked(store, near, middle[0]) == ranked(store, Meaning(store), middle[0])
    assert not near.wants_neighbours()
    assert ranked(store, made, middle[0]) == ranked(store, Meaning(store), middle[0])


def test_one_of_which_much_has_gone_is_not_used(store: Store, shelf: Store) -> None:
    with shelf.writing() as db:
        db.execute("DELETE FROM chunks WHERE id <= 60")
    near = Meaning(shelf, large=500)
    assert ranked(shelf, near, rows(1, 8)[0]) == ranked(shelf, Meaning(shelf), rows(1, 8)[0])
    assert near.wants_neighbours()


def test_a_copy_that_is_put_back_and_goes_on(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """An id that is another passage's now is searched exactly, by that one's vector."""
    monkeypatch.setattr(approximate, "SAMPLE", 5)
    bind(store, DIMS)
    give(store, put(store, "/a", [str(number) for number in range(COUNT)]), rows(COUNT, 1))
    store.close()
    copy = store.path.read_bytes()
    with Store.open(store.path) as before:
        give(before, put(before, "/b", [f"b{number}" for number in range(20)]), rows(20, 2))
        made = Meaning(before, large=500)
        ranked(before, made, rows(1, 2)[0])
        made.make_neighbours()
    store.path.write_bytes(copy)
    with Store.open(store.path) as after:
        ids = put(after, "/c", [f"c{number}" for number in range(20)])
        give(after, ids, rows(20, 3))
        near = Meaning(after, large=500)
        for query, wanted in zip(rows(20, 3), ids, strict=True):
            assert ranked(after, near, query)[0] == wanted
        assert near.recall == made._near.recall
        assert not near.wants_neighbours()


def test_where_most_pass_the_index_is_asked_for_more(shelf: Store) -> None:
    """As where a few passages of all are records'."""
    near, query = Meaning(shelf, large=500), rows(1, 5)[0]
    best = ranked(shelf, near, query, 14)
    allowed = np.setdiff1d(np.arange(1, COUNT + 1), best[:3])
    found = ranked(shelf, near, query, 10, allowed)
    assert not {*best[:3]} & {*found}
    assert len({*best[3:]} & {*found}) >= 7  # an index that is asked for more looks further
    assert near.recall == near._near.recall
    none_of_the_nearest = np.setdiff1d(np.arange(1, COUNT + 1), best[:11])
    assert len(ranked(shelf, near, query, 10, none_of_the_nearest)) == 10  # exactly, of all that pass
