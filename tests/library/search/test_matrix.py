"""The matrix is what the table of vectors is, however it came there."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bankml.errors import StoreError
from bankml.library.search.matrix import Matrix, Stamp, follow
from bankml.library.search.part import read
from bankml.store import Store, documents, vectors
from tests.library.shelf import bind, give, put, unit

DIMS = 8
OURS = "f" * 16


def now(store: Store, before: Matrix | None = None) -> Matrix:
    with store.reading() as db:
        return follow(db, Stamp.of(db, OURS, DIMS), before)


def held(matrix: Matrix) -> dict[int, bytes]:
    return {
        id: row.tobytes()
        for part in matrix.parts
        for id, row, gone in zip(
            part.ids.tolist(), part.rows, part.gone if part.gone is not None else [False] * len(part.ids), strict=True
        )
        if not gone
    }


def rows(count: int, seed: int) -> np.ndarray:
    return unit(np.random.default_rng(seed).standard_normal((count, DIMS)))


def filled(store: Store, name: str, count: int, seed: int = 0) -> list[int]:
    ids = put(store, f"/{name}", [f"{name} {number}" for number in range(count)])
    give(store, ids, rows(len(ids), seed))
    return ids


@pytest.fixture
def shelf(store: Store) -> Store:
    bind(store, DIMS)
    return store


def test_nearest_are_exact(shelf: Store) -> None:
    ids, query = filled(shelf, "a", 50), rows(1, 9)[0]
    matrix = now(shelf)
    cosines = np.concatenate([part.rows for part in matrix.parts]) @ query
    found = matrix.rank(query, 7)
    order = np.argsort(-cosines, kind="stable")[:7]
    assert found.ids.tolist() == [ids[at] for at in order]
    np.testing.assert_allclose(found.scores, cosines[order], rtol=1e-5)
    some = np.array([ids[3], 10_000, ids[0]])
    assert matrix.cosines(query, some) == pytest.approx({ids[3]: cosines[3], ids[0]: cosines[0]}, rel=1e-5)


def test_only_allowed_passages(shelf: Store) -> None:
    ids = filled(shelf, "a", 20)
    allowed = np.array([ids[2], ids[4]])
    assert sorted(now(shelf).rank(rows(1, 3)[0], 10, allowed).ids.tolist()) == [ids[2], ids[4]]


def test_only_what_is_new_is_read(shelf: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(shelf, "a", 30)
    give(shelf, put(shelf, "/f", ["foreign"]), rows(1, 1), recipe="0" * 16)
    before = now(shelf)
    new = filled(shelf, "b", 3)
    asked: list[list[int] | None] = []

    def counted(db, wanted, *more, **how):
        asked.append(wanted.ids.tolist())
        return read(db, wanted, *more, **how)

    monkeypatch.setattr("bankml.library.search.part.read", counted)
    after = now(shelf, before)
    assert asked == [new]
    assert held(after) == held(now(shelf, None))
    assert now(shelf, after) is after


def test_equal_cosines_by_id_over_all_parts(shelf: Store) -> None:
    row = rows(1, 1)
    first = put(shelf, "/a", ["x", *map(str, range(20))])
    give(shelf, first, np.repeat(row, 21, axis=0))
    before = now(shelf)
    second = put(shelf, "/b", ["y"])
    give(shelf, second, row)
    assert now(shelf, before).rank(row[0], 22).ids.tolist() == [*first, *second]


def test_another_recipe_is_left_out_and_counted(shelf: Store) -> None:
    ids = put(shelf, "/a", ["one", "two", "three"])
    give(shelf, ids[:1], rows(1, 1))
    give(shelf, ids[1:2], rows(1, 2), recipe="0" * 16)
    matrix = now(shelf)
    assert (list(held(matrix)), matrix.foreign.ids.tolist()) == ([ids[0]], [ids[1]])
    give(shelf, ids[2:], rows(1, 3))
    matrix = now(shelf, matrix)
    assert (list(held(matrix)), matrix.foreign.ids.tolist()) == ([ids[0], ids[2]], [ids[1]])


def test_a_vector_that_is_not_finite_is_never_compared(shelf: Store) -> None:
    ids = put(shelf, "/a", ["one", "two"])
    broken = rows(2, 1)
    broken[1, 3] = np.nan
    give(shelf, ids, broken)
    matrix = now(shelf)
    assert (list(held(matrix)), matrix.foreign.ids.tolist()) == ([ids[0]], [ids[1]])


def test_what_went_has_no_cosine(shelf: Store) -> None:
    filled(shelf, "a", 5)
    kept = filled(shelf, "b", 1, 1)
    before = now(shelf)
    with shelf.writing() as db:
        documents.remove(db, [1])
    after = now(shelf, before)
    assert list(after.cosines(rows(1, 2)[0], np.arange(1, 8))) == kept
    assert len(after) == 1


def test_a_swap_is_another_matrix(shelf: Store) -> None:
    ids = filled(shelf, "a", 4)
    before = now(shelf)
    with shelf.writing() as db:
        vectors.create(db, DIMS, "chunks_vec_next")
        vectors.insert(db, ids, OURS, rows(4, 77), "chunks_vec_next")
        vectors.swap(db)
    after = now(shelf, before)
    assert np.concatenate([part.rows for part in after.parts]).tobytes() == rows(4, 77).tobytes()
    assert held(before) != held(after)


def test_nothing_is_nearest_to_nothing(shelf: Store) -> None:
    matrix = now(shelf)
    assert matrix.rank(rows(1, 1)[0], 3).ids.tolist() == []
    assert matrix.cosines(rows(1, 1)[0], np.array([1])) == {}


def test_a_query_that_cannot_be_compared(shelf: Store) -> None:
    filled(shelf, "a", 2)
    with pytest.raises(StoreError, match="doctor"):
        now(shelf).rank(np.full(DIMS, np.nan, np.float32), 1)


@pytest.mark.parametrize("later", [0, 1], ids=["as many changes as before", "one more"])
def test_a_copy_that_is_put_back_and_goes_on(shelf: Store, path, later: int) -> None:
    """New passages have the ids that others had, and not their vectors."""
    filled(shelf, "a", 30)
    shelf.close()
    copy = path.read_bytes()
    with Store.open(path) as store:
        ids = filled(store, "b", 5, seed=1)
        give(store, put(store, "/f", ["foreign"]), rows(1, 1), recipe="0" * 16)
        before = now(store)
    path.write_bytes(copy)
    with Store.open(path) as store:
        assert filled(store, "c", 5, seed=2) == ids
        give(store, put(store, "/d", ["ours now"]), rows(1, 3))
        for _ in range(later):
            put(store, "/e", ["without a vector"])
        after = now(store, before)
        assert held(after) == held(now(store))
        assert len(after.foreign) == 0


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 6), st.booleans()), max_size=12))
def test_followed_is_what_is_read_anew(tmp_path_factory: pytest.TempPathFactory, steps: list) -> None:
    with Store.create(tmp_path_factory.mktemp("steps") / "kb.db") as store:
        bind(store, DIMS)
        followed: Matrix | None = None
        for seed, (name, count, gone) in enumerate(steps):
            if gone:
                with store.writing() as db:
                    found = documents.find(db, f"/{name}".encode())
                    documents.remove(db, [found[0]] if found else [])
            else:
                filled(store, name, count, seed)
            followed = now(store, followed)
            anew = now(store)
            assert held(followed) == held(anew)
            query = rows(1, seed + 100)[0]
            assert followed.rank(query, 5).ids.tolist() == anew.rank(query, 5).ids.tolist()
