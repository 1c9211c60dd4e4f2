"""Records that answer a query: both arms, what the query names, what passes, and what the status says."""

import pytest

from bankml.embedders import Embedder
from bankml.errors import InputError, ModelError, UnavailableError
from bankml.library.search.searcher import Searcher
from bankml.memory.recall.recaller import Recaller
from bankml.store import Store
from tests.library.shelf import put
from tests.memory.remembered import record, remember

TOKENS = record(1, "Sessions expire", "A token lives for an hour.", "src/auth/token.py", category="decision")
BREAD = record(2, "Bread", "Bread is baked from flour in an oven.", tags=("food", "oven"))
LOGIN = record(3, "Where login is", "The entry is symbol://src/a.py#login, and nothing else is.")
OLD = record(4, "Sessions", "A token lived for a day.", status="superseded", superseded_by=TOKENS.id)


def nobody() -> Embedder:
    raise UnavailableError("the model is not here: pull it")


def forbidden() -> Embedder:
    raise AssertionError("the model was asked for")


@pytest.fixture
def filled(store: Store, minilm_embedder: Embedder) -> Store:
    remember(store, minilm_embedder, TOKENS, BREAD, LOGIN, OLD)
    return store


@pytest.fixture
def recaller(filled: Store, minilm_embedder: Embedder) -> Recaller:
    return Recaller(Searcher(filled, lambda: minilm_embedder))


def ids(recaller: Recaller, query: str, *given: object, **more: object) -> list[str]:
    return [memory.record.id for memory in recaller.recall(query, *given, **more).results]


def test_meaning_finds_what_words_do_not(recaller: Recaller, minilm_embedder: Embedder) -> None:
    found = recaller.recall("when must a user log in again?")
    first = found.results[0]
    assert first.record == TOKENS
    assert (first.meaning_rank, first.freshness, first.repository) == (1, "current", "")
    assert first.passage == TOKENS.content
    asked = minilm_embedder.embed(["when must a user log in again?"], query=True)[0]
    cosine = float(minilm_embedder.embed([f"{TOKENS.title}\n{TOKENS.content}"])[0] @ asked)
    assert first.cosine == pytest.approx(cosine, abs=1e-6)
    assert found.status.startswith("3 of 3 records · BM25 (FTS5) + ")
    assert "(meaning, 3 of 3 passages embedded), fused by convex combination (0.8)" in found.status


def test_only_active_records_unless_asked(recaller: Recaller) -> None:
    assert OLD.id not in ids(recaller, "how long does a token live")
    assert set(ids(recaller, "how long does a token live", statuses=["any"])) == {
        1 and TOKENS.id,
        BREAD.id,
        LOGIN.id,
        OLD.id,
    }
    assert ids(recaller, "how long does a token live", statuses=["superseded"]) == [OLD.id]
    assert ids(recaller, "how long does a token live", statuses=["archived"]) == []


def test_words_alone_never_ask_for_the_model(filled: Store) -> None:
    found = Recaller(Searcher(filled, forbidden)).recall("oven", mode="words")
    assert [memory.record.id for memory in found.results] == [BREAD.id]
    assert found.results[0].score == "uncalibrated (lexical-only)"
    assert (found.results[0].cosine, found.results[0].weak) == (None, None)
    assert found.status == "1 of 3 records · BM25 (FTS5) alone, as asked"


def test_words_answer_where_the_model_cannot_be_had(filled: Store) -> None:
    found = Recaller(Searcher(filled, nobody)).recall("oven")
    assert [memory.record.id for memory in found.results] == [BREAD.id]
    assert found.status == "1 of 3 records · BM25 (FTS5) alone: the model is not here: pull it"
    with pytest.raises(UnavailableError, match="pull it"):
        Recaller(Searcher(filled, nobody)).recall("oven", mode="meaning")


@pytest.mark.parametrize("query", ["", " ", "?!", "\0", "-_-"])
def test_what_has_no_words_finds_nothing(recaller: Recaller, query: str) -> None:
    found = recaller.recall(query)
    assert found.results == []
    assert found.status == "0 of 3 records · the query has no letter and no digit: give words or a question"


def test_an_empty_store_and_one_of_documents(store: Store) -> None:
    recaller = Recaller(Searcher(store, nobody))
    nothing = "0 of 0 records · nothing is remembered yet: run `bankml remember TITLE CONTENT`"
    assert recaller.recall("oven").status == nothing
    put(store, "/a", ["bread from an oven"])
    assert (recaller.recall("oven").status, recaller.recall("oven").results) == (nothing, [])


def test_what_a_record_is_named_by_comes_first(recaller: Recaller) -> None:
    assert ids(recaller, f"how long does a token live {BREAD.id}")[0] == BREAD.id
    assert ids(recaller, BREAD.id.upper())[0] == BREAD.id
    assert ids(recaller, "baked in ./src/auth/token.py:12?")[0] == TOKENS.id
    assert ids(recaller, "flour `token.py`")[0] == TOKENS.id
    assert ids(recaller, "flour symbol://src/a.py#login, oven")[0] == LOGIN.id


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"n": 0}, "n is 0; give a number of results from 1 to 1000"),
        ({"n": 1001}, "n is 1001"),
        ({"n": True}, "n is True"),
        ({"mode": "x"}, "mode is 'x'; give words, meaning or fused"),
        ({"fusion": "x"}, "fusion is 'x'; give convex or rrf"),
        ({"alpha": 1.1}, "alpha is 1.1"),
        ({"alpha": float("nan")}, "alpha is nan"),
        ({"statuses": ["x"]}, "status is 'x'; choose of active, superseded, archived"),
        ({"categories": ["x"]}, "category is 'x'; choose of fact, "),
        ({"prefer": ["x"]}, "category is 'x'"),
        ({"namespaces": ["x"]}, "namespace is 'x'"),
        ({"namespaces": ["session"]}, "say which with --session"),
    ],
)
def test_what_cannot_be_asked_is_told(recaller: Recaller, given: dict, said: str) -> None:
    with pytest.raises(InputError, match=r".") as told:
        recaller.recall("bread", **given)
    assert said in str(told.value)


def test_an_embedder_that_fails_on_the_way(filled: Store, minilm_embedder: Embedder) -> None:
    class Failing:
        """The same, until it is asked."""

        def __getattr__(self, name: str) -> object:
            return getattr(minilm_embedder, name)

        def embed(self, *_: object, **__: object) -> None:
            raise ModelError("a weight is not finite: convert it again")

    found = Recaller(Searcher(filled, Failing)).recall("oven")
    assert [memory.record.id for memory in found.results] == [BREAD.id]
    assert found.status.endswith("BM25 (FTS5) alone: a weight is not finite: convert it again")
