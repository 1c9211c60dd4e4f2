"""The file of a matrix saves reading the table, and is never believed against it."""

import os
import stat

import numpy as np
import pytest

from bankml.errors import StoreError
from bankml.library.search import sidecar
from bankml.library.search.matrix import Matrix, Stamp, follow
from bankml.library.search.meaning import MAPPED, READ, Meaning
from bankml.store import Store, documents, vectors
from tests.library.shelf import bind, give, put, unit

DIMS, COUNT, OURS = 64, 300, "f" * 16


def rows(count: int, seed: int) -> np.ndarray:
    return unit(np.random.default_rng(seed).standard_normal((count, DIMS)))


def stamp(store: Store) -> Stamp:
    with store.reading() as db:
        return Stamp.of(db, OURS, DIMS)


def anew(store: Store) -> Matrix:
    with store.reading() as db:
        return follow(db, Stamp.of(db, OURS, DIMS), None)


def best(store: Store, meaning: Meaning | None = None) -> tuple[list[int], str]:
    """What a process finds that has just begun, and where from."""
    meaning = meaning or Meaning(store)
    with store.reading() as db:
        matrix = meaning.follow(db, OURS, DIMS)
        return meaning.rank(db, matrix, rows(1, 99)[0], 5, None)[1].ids.tolist(), meaning.source


@pytest.fixture
def shelf(store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """With a sidecar, however few rows there are."""
    monkeypatch.setattr(sidecar, "LEAST", 1)
    bind(store, DIMS)
    give(store, put(store, "/a", [str(number) for number in range(COUNT)]), rows(COUNT, 1))
    meaning = Meaning(store)
    best(store, meaning)
    meaning.keep()
    return store


def place(store: Store) -> "os.PathLike[str]":
    return sidecar.place(store.path)


def test_the_next_process_maps_it(shelf: Store) -> None:
    assert best(shelf) == (anew(shelf).rank(rows(1, 99)[0], 5).ids.tolist(), MAPPED)
    assert stat.S_IMODE(os.stat(place(shelf)).st_mode) == 0o600
    loaded = sidecar.load(place(shelf), shelf.path, stamp(shelf))
    assert loaded is not None
    assert loaded.parts[0].rows.tobytes() == rows(COUNT, 1).tobytes()


def test_what_came_since_is_read_and_what_went_is_not_found(shelf: Store) -> None:
    new = put(shelf, "/b", ["new"])
    give(shelf, new, rows(1, 99))
    assert best(shelf) == (anew(shelf).rank(rows(1, 99)[0], 5).ids.tolist(), MAPPED)
    assert best(shelf)[0][0] == new[0]
    with shelf.writing() as db:
        documents.remove(db, [1])
    assert best(shelf) == (new, MAPPED)


def test_it_is_made_anew_when_it_is_far_behind(shelf: Store) -> None:
    before = os.stat(place(shelf)).st_ino
    give(shelf, put(shelf, "/b", ["new"]), rows(1, 99))
    for meaning in (Meaning(shelf), Meaning(shelf)):
        best(shelf, meaning)
        meaning.keep()
        assert os.stat(place(shelf)).st_ino == before
    give(shelf, put(shelf, "/c", [f"c{number}" for number in range(30)]), rows(30, 3))
    meaning = Meaning(shelf)
    best(shelf, meaning)
    meaning.keep()
    assert os.stat(place(shelf)).st_ino != before
    assert best(shelf)[1] == MAPPED


def test_a_swap_is_read_from_the_table(shelf: Store) -> None:
    with shelf.writing() as db:
        vectors.create(db, DIMS, "chunks_vec_next")
        vectors.insert(db, range(1, COUNT + 1), OURS, rows(COUNT, 2), "chunks_vec_next")
        vectors.swap(db)
    assert best(shelf) == (anew(shelf).rank(rows(1, 99)[0], 5).ids.tolist(), READ)


def test_a_copy_that_is_put_back_and_goes_on(shelf: Store) -> None:
    """What the file has of passages whose ids are others' now is not believed."""
    shelf.close()
    copy = shelf.path.read_bytes()
    with Store.open(shelf.path) as store:
        give(store, put(store, "/b", [f"b{number}" for number in range(40)]), rows(40, 2))
        meaning = Meaning(store)
        best(store, meaning)
        meaning.keep()
    shelf.path.write_bytes(copy)
    with Store.open(shelf.path) as store:
        ids = put(store, "/c", [f"c{number}" for number in range(40)])
        give(store, ids, np.concatenate([rows(39, 3), rows(1, 99)]))
        meaning = Meaning(store)
        assert best(store, meaning) == (anew(store).rank(rows(1, 99)[0], 5).ids.tolist(), MAPPED)
        assert best(store, meaning)[0][0] == ids[-1]
        meaning.keep()
        loaded = sidecar.load(place(store), store.path, stamp(store))
        assert loaded is not None
        assert loaded.parts[0].rows[-1].tobytes() == rows(1, 99).tobytes()


def changed(at: int, size: int = 1):
    """Other bytes at a place."""

    def change(content: bytes) -> bytes:
        at_ = at % len(content)
        return content[:at_] + bytes(255 - byte for byte in content[at_ : at_ + size]) + content[at_ + size :]

    return change


DAMAGES = {
    "truncated": lambda content: content[:-1],
    "half": lambda content: content[: len(content) // 2],
    "head alone": lambda content: content[:4096],
    "empty": lambda content: b"",
    "longer": lambda content: content + b"\0",
    "zeros": lambda content: b"\0" * len(content),
    "no rows": lambda content: content[: -4 * DIMS * COUNT] + b"\0" * (4 * DIMS * COUNT),
    "another id": changed(4096 + 8 * 7),
    "first row": changed(-4 * DIMS * COUNT, 4),
    "last row": changed(-4, 4),
    "huge": lambda content: content.replace(b'"rows": 300', b'"rows": 9e9', 1),
    "many": lambda content: content.replace(b'"rows": 300,', b'"rows": 999999999999999999999,', 1)[: len(content)],
    "negative": lambda content: content.replace(b'"rows": 300', b'"rows": -30', 1),
    "list": lambda content: b"[]".ljust(4096) + content[4096:],
    "other store": lambda content: content.replace(b'"stamp": ["', b'"stamp": ["0', 1)[: len(content)],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_one_is_as_if_there_were_none(shelf: Store, damage: str) -> None:
    content = place(shelf).read_bytes()
    damaged = DAMAGES[damage](content)
    assert damaged != content
    place(shelf).write_bytes(damaged)
    assert best(shelf) == (anew(shelf).rank(rows(1, 99)[0], 5).ids.tolist(), READ)


def test_truncated_while_it_is_mapped(shelf: Store) -> None:
    meaning = Meaning(shelf)
    found = best(shelf, meaning)
    os.truncate(place(shelf), 8192)
    assert best(shelf, meaning) == (found[0], READ)
    assert not place(shelf).exists()


def test_one_that_others_may_write_is_not_believed(shelf: Store) -> None:
    place(shelf).chmod(0o644)
    assert best(shelf)[1] == READ


def test_a_link_is_not_followed(shelf: Store, tmp_path) -> None:
    place(shelf).rename(tmp_path / "elsewhere")
    place(shelf).symlink_to(tmp_path / "elsewhere")
    assert best(shelf)[1] == READ


def test_where_it_cannot_be_written_nothing_fails(shelf: Store) -> None:
    place(shelf).unlink()
    place(shelf).mkdir()
    meaning = Meaning(shelf)
    assert best(shelf, meaning)[1] == READ
    meaning.keep()
    with Store.open(shelf.path, read_only=True) as store:
        place(shelf).rmdir()
        meaning = Meaning(store)
        best(store, meaning)
        meaning.keep()
    assert not place(shelf).exists()


def test_few_rows_need_none(store: Store) -> None:
    bind(store, DIMS)
    give(store, put(store, "/a", ["one"]), rows(1, 1))
    meaning = Meaning(store)
    best(store, meaning)
    meaning.keep()
    assert not place(store).exists()


def test_a_query_that_cannot_be_compared_is_told(shelf: Store) -> None:
    meaning, query = Meaning(shelf), np.full(DIMS, np.inf, np.float32)
    with shelf.reading() as db:
        matrix = meaning.follow(db, OURS, DIMS)
        with pytest.raises(StoreError, match="doctor"):
            meaning.rank(db, matrix, query, 1, None)
