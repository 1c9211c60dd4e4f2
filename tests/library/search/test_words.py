"""Words rank as bankml.lexical ranks, whatever the query holds."""

import sqlite3

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bankml.lexical import Index
from bankml.library.search import words as words_module
from bankml.library.search.filters import Filters
from bankml.library.search.ranking import Ranking, best
from bankml.library.search.words import TERMS, Words
from bankml.store import DocumentRow, Store, config, documents
from oracle.texts import HARD, sentences
from tests.library.shelf import passages, put

QUERIES = (
    "how do I install a package on Debian",
    "kernel",
    "dpkg apt-get pinning",
    "パッケージ の 依存",
    "ภาษาไทย",
    "the of a",
)
HOSTILE = (
    '"',
    "'; DROP TABLE chunks; --",
    'a" OR "b',
    "NEAR(a b, 3)",
    "terms:x",
    "a*",
    "^a",
    "a AND",
    "- +",
    "\0a\0",
    "\ud800 a",
)


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return [*sentences("en")[:250], *sentences("ja")[:100], *HARD, "ภาษาไทยง่ายนิดเดียว"]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> Store:
    with Store.create(tmp_path_factory.mktemp("words") / "kb.db") as store:
        put(store, "/a.txt", texts)
        yield store


def ranked(
    store: Store, query: str, k: int = 10, allowed: np.ndarray | None = None, words: Words | None = None
) -> Ranking:
    words = words or Words()
    with store.reading() as db:
        words.follow(config.state(db), db.execute("SELECT count(*) FROM chunks").fetchone()[0])
        return words.rank(db, words.terms(db, query).used, k, allowed)


@pytest.mark.parametrize("query", QUERIES)
def test_scores_are_those_of_the_evaluated_ranking(shelf: Store, texts: list[str], query: str) -> None:
    index = Index()
    index.extend(texts)
    numbers, scores = index.search(query, 30)
    found = ranked(shelf, query, 30)
    np.testing.assert_allclose(found.scores, scores, rtol=1e-9)
    assert found.ids.tolist() == [number + 1 for number in numbers.tolist()]


@pytest.mark.parametrize("query", HOSTILE)
def test_syntax_of_fts5_is_data(shelf: Store, query: str) -> None:
    ranked(shelf, query)
    assert ranked(shelf, f"{query} kernel").ids.size


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(st.text(max_size=40))
def test_any_text_can_be_asked(shelf: Store, query: str) -> None:
    found = ranked(shelf, query)
    assert np.isfinite(found.scores).all()
    assert (found.scores > 0).all()


def test_a_megabyte_is_cut(shelf: Store) -> None:
    words = Words()
    long = " ".join(f"kernel{number}" for number in range(100_000))
    assert ranked(shelf, f"kernel {long}", words=words).ids.size
    with shelf.reading() as db:
        assert len(words.terms(db, "a b c d e f g h i j k l m n o p q r s t u v w x y z " * 4).used) <= TERMS
        assert words.terms(db, long).used == {}


def test_only_what_is_allowed_is_ranked(shelf: Store) -> None:
    every = ranked(shelf, "debian package", 1000).ids
    allowed = np.array([every[-1]])
    assert ranked(shelf, "debian package", 10, allowed).ids.tolist() == [every[-1]]
    assert ranked(shelf, "debian package", 10, np.zeros(0, bool)).ids.tolist() == []


def test_the_commonest_terms_of_a_long_question_are_left_out(store: Store) -> None:
    put(store, "/a.txt", [f"common usual plain {'rare' if number < 3 else 'other'}" for number in range(40)])
    words = Words(few=0)
    with store.reading() as db:
        words.follow(1, 40)
        found = words.terms(db, "the usual common plain rare")
        assert (found.used, found.left_out) == ({"rare": 3, "usual": 40}, {"common": 40, "plain": 40})
        assert Words().terms(db, "usual common plain rare").left_out == {}


def test_what_is_added_and_removed_is_found_and_lost(store: Store) -> None:
    words = Words()
    ids = put(store, "/a.txt", ["one apple", "one pear"])
    assert ranked(store, "apple", words=words).ids.tolist() == [ids[0]]
    put(store, "/a.txt", ["one pear", "an apple more"])
    assert ranked(store, "apple", words=words).ids.tolist() == [3]


def test_postings_are_read_once_and_forgotten_when_there_are_too_many(
    shelf: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    real = words_module.words.postings

    def counted(db: sqlite3.Connection, term: str) -> words_module.Postings:
        read.append(term)
        return real(db, term)

    monkeypatch.setattr(words_module.words, "postings", counted)
    words = Words()
    first, second = ranked(shelf, "kernel apt", words=words), ranked(shelf, "apt kernel", words=words)
    assert sorted(read) == ["apt", "kernel"]
    assert (first.ids == second.ids).all()
    small = Words(room=1)
    ranked(shelf, "kernel apt", words=small)
    ranked(shelf, "kernel apt", words=small)
    assert len(read) == 6


@given(st.lists(st.integers(0, 5), max_size=30), st.integers(1, 12))
def test_the_best_are_the_best(scores: list[int], k: int) -> None:
    ids = np.arange(len(scores))[::-1].copy()
    found = best(ids, np.array(scores, np.float64), k)
    expected = sorted(zip(ids.tolist(), scores, strict=True), key=lambda each: (-each[1], each[0]))[:k]
    assert list(zip(found.ids.tolist(), found.scores.tolist(), strict=True)) == expected


def test_ids_may_be_large(tmp_path) -> None:
    """As those that were imported may be: no array is as long as the largest id."""
    with Store.create(tmp_path / "kb.db") as store:
        row = DocumentRow(b"/a", "text", "", "0" * 64, 1, 0, "1")
        with store.writing() as db:
            large = [(2**53, "an apple"), (7, "two apples and an apple")]
            documents.restore(db, 1, row, 0, [(id, passages([text])[0]) for id, text in large])
        assert ranked(store, "apple").ids.tolist() == [2**53, 7]
        assert ranked(store, "apple", allowed=np.array([7])).ids.tolist() == [7]
        with store.reading() as db:
            assert Filters.of(path="/a").allowed(db).tolist() == [7, 2**53]


def test_which_passages_hold_which_terms(store: Store) -> None:
    one, other = put(store, "/a.txt", ["an apple", "a pear"])
    words = Words()
    with store.reading() as db:
        words.follow("1", 2)
        held = words.held(db, "apple nowhere pear", np.array([one, other]))
        assert held.holding.tolist() == [[True, False], [False, True], [False, False]]
        assert words.held(db, "apple nowhere", np.zeros(0, np.int64)).holding.shape == (2, 0)
        assert words.held(db, "?", np.array([one])).holding.shape == (0, 1)
