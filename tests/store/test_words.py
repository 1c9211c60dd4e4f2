"""What FTS5 holds, read in columns."""

from hypothesis import given
from hypothesis import strategies as st

from bankml.store import Store, documents, words
from tests.store.test_documents import document, passages


def encoded(number: int) -> bytes:
    """As SQLite writes it."""
    high = number >> 7
    return (
        b"".join(bytes([128 | byte & 127]) for byte in encoded(high)) + bytes([number & 127])
        if high
        else bytes([number])
    )


@given(st.lists(st.integers(0, 1 << 40), min_size=1, max_size=50))
def test_varints(numbers: list[int]) -> None:
    assert words.varints(b"".join(map(encoded, numbers))).tolist() == numbers


def test_postings_and_lengths(tmp_path) -> None:
    with Store.create(tmp_path / "kb.db") as store:
        with store.reading() as db:
            assert [each.tolist() for each in words.lengths(db)] == [[], []]
            assert [each.tolist() for each in words.postings(db, "apple")] == [[], []]
        long = "pear " * 20_000
        with store.writing() as db:
            documents.replace(db, document(), passages("apple pear apple", "plum", "", "an apple", long))
        with store.reading() as db:
            assert [each.tolist() for each in words.lengths(db)] == [[1, 2, 3, 4, 5], [3, 1, 0, 2, 20_000]]
            assert [each.tolist() for each in words.postings(db, "apple")] == [[1, 4], [2, 1]]
            assert [each.tolist() for each in words.postings(db, "pear")] == [[1, 5], [1, 20_000]]
            assert words.frequency(db, "apple") == 2
            assert words.frequency(db, 'x" OR "apple') == 0
        with store.writing() as db:
            documents.replace(db, document(), passages("an apple"))
        with store.reading() as db:
            assert [each.tolist() for each in words.lengths(db)] == [[4], [2]]
            assert [each.tolist() for each in words.postings(db, "apple")] == [[4], [1]]


def test_a_store_that_may_only_be_read(tmp_path) -> None:
    with Store.create(tmp_path / "kb.db") as store, store.writing() as db:
        documents.replace(db, document(), passages("apple"))
    with Store.open(tmp_path / "kb.db", read_only=True) as store:
        for _ in range(2):
            with store.reading() as db:
                assert words.postings(db, "apple")[0].tolist() == [1]
