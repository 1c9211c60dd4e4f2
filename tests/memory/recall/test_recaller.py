"""Records that answer a query: both arms, what the query names, what passes, and what the status says."""

import threading
from dataclasses import replace
from pathlib import Path
from time import monotonic

import pytest

from bankml.embedders import Embedder, choose
from bankml.errors import BusyError, InputError, MismatchError, ModelError, UnavailableError
from bankml.library.model import binding
from bankml.library.search.searcher import Searcher
from bankml.library.upkeep.reindex import reindex
from bankml.memory.recall import naming
from bankml.memory.recall.asked import LEAST_DEPTH
from bankml.memory.recall.recaller import Recaller
from bankml.settings import Settings
from bankml.store import Store, records, words
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


def test_of_a_long_query_the_first_is_asked(recaller: Recaller) -> None:
    found = recaller.recall("?" * 4000 + " oven", mode="words")
    assert found.results == []
    assert found.status.endswith("the query has no letter and no digit: give words or a question")


def test_words_that_no_record_has_find_nothing(filled: Store) -> None:
    found = Recaller(Searcher(filled, lambda: pytest.fail("a model is asked for"))).recall("zxqv", mode="words")
    assert found.results == []


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


def test_a_common_name_keeps_no_rare_one_from_being_found(store: Store) -> None:
    """Cited by all, or held by all, it names none of them."""
    given = [record(n, f"Note {n}", f"Of the app, see src/main/app.py, note {n}.", "docs/index.md") for n in range(60)]
    rare, quoted = record(70, "Rare", "Something else.", "src/rare.py"), record(71, "Held", "It is lib/only/this.py.")
    remember(store, None, rare, quoted, *given)
    recaller = Recaller(Searcher(store, nobody))
    found = recaller.recall("src/main/app.py docs/index.md src/rare.py lib/only/this.py note", 60).results
    assert {memory.record.id for memory in found if memory.factors["exact"]} >= {rare.id, quoted.id}
    assert {memory.factors["exact"] for memory in recaller.recall("docs/index.md src/main/app.py").results} == {0}


def test_common_names_are_not_read_to_their_end(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """32 names that 100,000 records hold kept everybody waiting for 13 s."""
    monkeypatch.setattr(naming, "MANY", 20)
    remember(store, None, *[record(n, f"Note {n}", "see src/app.py", "src/app.py") for n in range(100)])
    with store.reading() as db:
        assert naming.citing(db, "app.py").size == naming.holding(db, "src/app.py", 100).size == 0
        assert words.holding(db, ["src", "app", "py"], 26).size == 26
        assert naming.holding(db, "src/app.py", 1000).size == 100


def test_a_record_that_is_named_and_kept_out_is_told(recaller: Recaller) -> None:
    found = recaller.recall(f"tokens {OLD.id}")
    assert found.status.endswith(f" · {OLD.id} is superseded: --status superseded shows it")
    assert ids(recaller, OLD.id, statuses=["any"])[0] == OLD.id
    told = recaller.recall(BREAD.id, categories=["decision"]).status
    assert told.endswith(f" · {BREAD.id} does not pass the filters")
    assert "rec_" not in recaller.recall(f"{BREAD.id} rec_ffffffffffffffff").status


def test_the_beginning_of_an_id_names_one_record_or_none(recaller: Recaller, filled: Store) -> None:
    other = replace(BREAD, id="rec_abcdef0123456789", title="Rye", content="Rye")
    remember(filled, None, other)
    assert ids(recaller, "where login is rec_abcdef01")[0] == other.id
    assert ids(recaller, "where login is rec_00000000")[0] == LOGIN.id  # four begin so


def test_only_what_passes_is_ranked(recaller: Recaller) -> None:
    assert ids(recaller, "bread", categories=["decision"]) == [TOKENS.id]
    assert ids(recaller, "token", tags=["food"]) == [BREAD.id]
    assert ids(recaller, "token", tags=["food", "oven"]) == [BREAD.id]
    assert ids(recaller, "token", tags=["food", "auth"]) == []
    assert recaller.recall("token", tags=["food", "auth"]).status == "0 of 0 records · no record passes"
    assert set(ids(recaller, "bread", categories=["decision", "fact"])) == {TOKENS.id, BREAD.id, LOGIN.id}


def test_a_session_is_seen_by_itself_alone(filled: Store, recaller: Recaller) -> None:
    mine = record(10, "Draft", "The draft is half done.", namespace="session", session="s1")
    shared = record(11, "Holidays", "Offices close in August.", namespace="organization")
    remember(filled, None, mine, shared, replace(mine, id="rec_00000000000000ff", session="s2"))
    assert mine.id not in ids(recaller, "draft", mode="words")
    assert ids(recaller, "draft half", mode="words", session="s1") == [mine.id]
    assert ids(recaller, "draft half", mode="words", session="s3") == []
    assert ids(recaller, "draft offices", mode="words", namespaces=["session", "project"], session="s1") == [mine.id]
    assert ids(recaller, "draft offices", mode="words", namespaces=["organization"], session="s1") == [shared.id]
    assert mine.id not in ids(recaller, f"draft {mine.id}", mode="words")


def test_preferred_categories_come_before_what_fits_as_well(store: Store) -> None:
    same = [record(n, "Tokens", "Tokens live for an hour", category=c) for n, c in enumerate(("fact", "constraint"))]
    remember(store, None, *[replace(one, updated_at=1) for one in same])
    recaller = Recaller(Searcher(store, nobody))
    assert ids(recaller, "tokens") == [same[0].id, same[1].id]
    assert ids(recaller, "tokens", prefer=["constraint"]) == [same[1].id, same[0].id]
    assert recaller.recall("tokens", prefer=["constraint"]).results[1].factors["category"] == 0.9


def test_a_long_record_is_ranked_by_its_best_passage_and_pushes_nobody_out(store: Store) -> None:
    remember(store, None, record(1, "Kernel", "kernel"), passages=[f"the kernel and part {n}" for n in range(300)])
    others = [record(n, f"Other {n}", f"a kernel, and many other words beside it, number {n}") for n in range(2, 42)]
    remember(store, None, *others)
    found = Recaller(Searcher(store, nobody)).recall("kernel part 217", 30, mode="words").results
    assert (found[0].record.id, found[0].passage) == (record(1, "").id, "the kernel and part 217")
    assert len({memory.record.id for memory in found}) == 30
    assert found[0].words_rank == 1


def test_a_quote_from_the_last_third_finds_its_record(store: Store, minilm_embedder: Embedder) -> None:
    parts = [f"Chapter {n} tells of {what} at length." for n, what in enumerate(("wheat", "ships", "bells", "glass"))]
    secret = "The vault opens to whoever hums the tune of the lighthouse keeper."
    long = record(1, "A chronicle", "\n".join([*parts * 30, secret]))
    remember(store, minilm_embedder, long, passages=[*parts, secret])
    remember(store, minilm_embedder, *[record(n, f"Lighthouse {n}", "A lighthouse stands on a rock.") for n in (2, 3)])
    found = Recaller(Searcher(store, lambda: minilm_embedder)).recall("whoever hums the tune of the lighthouse keeper")
    assert (found.results[0].record, found.results[0].passage) == (long, secret)
    assert (found.results[0].words_rank, found.results[0].meaning_rank) == (1, 1)


def test_of_many_that_cite_one_file_the_newest_are_read(store: Store) -> None:
    remember(store, None, *[record(n, f"Note {n}", "x", "src/a.py") for n in range(80)])
    remember(store, None, *[record(100 + n, f"Other {n}", "the same words") for n in range(320)])
    recaller = Recaller(Searcher(store, nobody))
    found = recaller.recall("the same words as in a.py", 8)
    assert found.explained["candidates"] == 2 * LEAST_DEPTH
    assert [memory.factors["exact"] for memory in found.results] == [1] * 8
    remember(store, None, *[record(1000 + n, f"More {n}", "x", "src/a.py") for n in range(80)])
    assert recaller.recall("the same words as in a.py").results[0].factors["exact"] == 0  # 160 of 480: it tells none


def test_a_path_is_the_askers_own_where_it_has_one(store: Store) -> None:
    ours, theirs = (record(n, "Auth", "tokens", "src/auth.py", root=root) for n, root in ((1, b"/a"), (2, b"/b")))
    remember(store, None, ours, theirs)
    recaller = Recaller(Searcher(store, nobody))
    exact = {
        root: [m.factors["exact"] for m in recaller.recall("src/auth.py", root=root).results] for root in (b"/b", b"/c")
    }
    assert exact == {b"/b": [1, 0], b"/c": [1, 1]}
    assert ids(recaller, "src/auth.py", root=b"/b")[0] == theirs.id


class Curve:
    """Of a model whose cosines were measured."""

    floor = 0.3

    def score(self, cosine: float, coverage: float) -> float:
        """Not what any model has."""
        return 0.25 + coverage / 2


def test_scores_are_calibrated_and_what_is_weak_stays(filled: Store, minilm_embedder: Embedder) -> None:
    asked: list[str] = []
    recaller = Recaller(Searcher(filled, lambda: minilm_embedder), calibrated=lambda d: asked.append(d) or Curve())
    found = recaller.recall("oven for bread").results
    assert (found[0].record.id, found[0].weak) == (BREAD.id, False)
    assert found[0].score == pytest.approx(0.25 + found[0].coverage / 2)
    assert [memory.weak for memory in found[1:]] == [True, True]
    assert asked == [minilm_embedder.digest]
    none = Recaller(Searcher(filled, lambda: minilm_embedder), calibrated=lambda _: None).recall("oven").results[0]
    assert (none.score, none.weak) == ("uncalibrated (no calibration)", None)


def test_minilm_comes_with_its_calibration(recaller: Recaller) -> None:
    first, *others = recaller.recall("when must a user log in again?").results
    assert 0 < first.score < 1
    assert (first.weak, others[-1].weak) == (False, True)


def test_coverage_is_the_share_of_what_was_asked_for(recaller: Recaller) -> None:
    whole, half, unknown = (recaller.recall(q).results[0] for q in ("flour oven", "flour kubernetes", "kubernetes"))
    assert whole.coverage == 1
    assert 0 < half.coverage < 0.5  # what nobody holds weighs more than what one does
    assert unknown.coverage == 0


def test_a_record_without_a_vector_is_found_by_words_and_told(filled: Store, recaller: Recaller) -> None:
    late = record(20, "Yeast", "Yeast lifts the dough.")
    remember(filled, None, late)
    found = recaller.recall("yeast")
    memory = next(memory for memory in found.results if memory.record == late)
    assert (memory.score, memory.cosine, memory.weak) == ("uncalibrated (not embedded)", None, None)
    assert "(meaning, 3 of 4 passages embedded)" in found.status
    assert found.status.endswith(" · 1 passage is found by words alone: run `bankml reindex --missing`")


def test_what_another_recipe_has_embedded_is_told_by_itself(
    filled: Store, recaller: Recaller, minilm_embedder: Embedder
) -> None:
    ids = remember(filled, minilm_embedder, record(20, "Yeast", "Yeast lifts the dough."))
    ids += remember(filled, minilm_embedder, record(21, "Rye", "Rye is a cereal."))
    with filled.writing() as db:
        db.executemany("UPDATE chunks_vec SET fingerprint = 'another' WHERE chunk_id = ?", [(one,) for one in ids])
    remember(filled, None, record(22, "Salt", "Salt is a mineral."))
    status = recaller.recall("yeast").status
    assert "(meaning, 3 of 6 passages embedded)" in status
    assert "1 passage is found by words alone: run `bankml reindex --missing` · " in status
    assert status.endswith("2 passages are found by words alone, embedded by another recipe: run `bankml reindex`")


def test_freshness_is_as_seen_now(store: Store) -> None:
    same = [replace(record(n, "Tokens", "Tokens live for an hour"), updated_at=1) for n in range(3)]
    remember(store, None, *same)
    now = dict(zip([one.id for one in same], ("stale", "current", "needs_review"), strict=True))
    recaller = Recaller(Searcher(store, nobody), seen=lambda one: now[one.id])
    assert [(m.record.id, m.freshness) for m in recaller.recall("tokens").results] == [
        (same[1].id, "current"),
        (same[2].id, "needs_review"),
        (same[0].id, "stale"),
    ]


def test_only_what_may_be_shown_is_looked_at_and_the_order_is_that_of_all(store: Store, tmp_path: Path) -> None:
    """A file on a slow disk costs its time for what is shown alone."""
    given = [record(n, f"Tokens {n}", "Tokens live for an hour. " + "And more. " * (n % 9)) for n in range(60)]
    now = {one.id: ("current", "needs_review")[n * 7 % 5 > 2] for n, one in enumerate(given)}
    looked: list[str] = []
    seeing = Recaller(Searcher(store, nobody), seen=lambda one: looked.append(one.id) or now[one.id])
    remember(store, None, *given)
    with Store.create(tmp_path / "said.db") as other:
        remember(other, None, *[replace(one, freshness=now[one.id]) for one in given])
        said = Recaller(Searcher(other, nobody))
        for n in (1, 5, 20, 60):
            looked.clear()
            found, expected = (each.recall("tokens", n).results for each in (seeing, said))
            assert [(m.record.id, m.freshness, m.relevance) for m in found] == [
                (m.record.id, m.freshness, m.relevance) for m in expected
            ]
            assert len(looked) == len(set(looked)) >= n
            assert len(looked) < 60 or n == 60


def test_another_model_than_the_stores_is_words_alone(filled: Store, stocked_home) -> None:
    recaller = Recaller(Searcher(filled, lambda: binding.embedder(filled, Settings.read(), "e5-small")))
    found = recaller.recall("oven")
    assert [memory.record.id for memory in found.results] == [BREAD.id]
    assert "BM25 (FTS5) alone: Model mismatch: DB uses " in found.status
    assert "reindex --model e5-small" in found.status
    with pytest.raises(MismatchError):
        recaller.recall("oven", mode="meaning")


def test_a_store_that_is_bound_to_another_model_meanwhile(filled: Store, minilm, e5) -> None:
    """The query is embedded anew by that one: cosines of two models are never compared."""
    before, after = choose(name=str(minilm)), choose(name=str(e5))
    now = [before]
    with Searcher(filled, lambda: now[0]) as searcher:
        recaller = Recaller(searcher)
        assert recaller.recall("oven").results[0].meaning_rank == 1
        reindex(filled, after)
        now[0] = after
        found = recaller.recall("oven").results
        expected = after.embed([f"{BREAD.title}\n{BREAD.content}"])[0] @ after.embed(["oven"], query=True)[0]
        assert found[0].record == BREAD
        assert found[0].cosine == pytest.approx(float(expected), abs=1e-6)


def test_nobody_waits_longer_than_asked(filled: Store, minilm_embedder: Embedder) -> None:
    """The query's vector goes on being computed, and is there when it is asked for again."""
    begun, go_on = threading.Event(), threading.Event()

    class Slow:
        """The same, when it may."""

        def __getattr__(self, name: str) -> object:
            return getattr(minilm_embedder, name)

        def embed(self, *given: object, **more: object) -> object:
            begun.set()
            go_on.wait(60)
            return minilm_embedder.embed(*given, **more)

    recaller = Recaller(Searcher(filled, Slow))
    found = recaller.recall("oven", wait=0.01)
    assert found.pending
    assert [memory.record.id for memory in found.results] == [BREAD.id]
    assert found.results[0].score == "uncalibrated (lexical-only)"
    begun.wait(60)
    go_on.set()
    until = monotonic() + 60
    while recaller.recall("oven", wait=0.01).pending and monotonic() < until:
        pass
    assert recaller.recall("oven", wait=0.01).results[0].meaning_rank == 1


def test_a_busy_engine_is_told(filled: Store, minilm_embedder: Embedder) -> None:
    def busy() -> Embedder:
        raise BusyError("too much to do")

    found = Recaller(Searcher(filled, busy)).recall("oven", wait=0)
    assert found.results[0].record == BREAD
    assert "BM25 (FTS5) alone: the meaning is too much to do" in found.status


@pytest.mark.parametrize("fusion", ["convex", "rrf"])
@pytest.mark.parametrize("mode", ["words", "meaning", "fused"])
def test_each_mode_and_fusion_finds_it(recaller: Recaller, mode: str, fusion: str) -> None:
    found = recaller.recall("bread from an oven", 1, mode, fusion)
    assert [memory.record.id for memory in found.results] == [BREAD.id]
    assert found.results[0].relevance <= 1


def test_hostile_queries_are_answered(recaller: Recaller, odd_texts: list[str]) -> None:
    for query in [
        *odd_texts,
        '"',
        "'; DROP TABLE records; --",
        "NEAR(a b)",
        "a AND",
        "*",
        "rec_",
        "symbol://",
        "/" * 999,
    ]:
        assert recaller.recall(query).status


def test_what_is_written_meanwhile_is_found_and_what_went_is_not(filled: Store, recaller: Recaller) -> None:
    assert ids(recaller, "yeast")[0] != "rec_0000000000000014"
    remember(filled, None, record(20, "Yeast", "Yeast lifts the dough."))
    assert "rec_0000000000000014" in ids(recaller, "yeast")
    with filled.writing() as db:
        records.mark(db, "rec_0000000000000014", 1, status="archived")
    assert "rec_0000000000000014" not in ids(recaller, "yeast")


def test_a_verbatim_quote_comes_before_what_is_nearer(filled: Store, recaller: Recaller) -> None:
    """One vector of many sentences is little like one of them."""
    parts = ["Ships sail at dawn.", "The bells of the old town ring.", "Glass is blown in the south.", "Wheat is sown."]
    quote = "no token may be used for longer than that, said the clerk"
    long = record(30, "Minutes of a meeting", " ".join([*parts * 8, quote, *parts * 8]))
    remember(filled, None, long)
    for query in (quote, f"where was it that '{quote}' stood?".replace("'", '"')):
        first, second = recaller.recall(query).results[:2]
        assert (first.record, first.factors["exact"]) == (long, 1)
        assert second.factors["exact"] == 0
    assert recaller.recall(quote, mode="meaning").results[0].factors["exact"] == 0  # as asked


def test_meaning_alone_is_meaning_alone(recaller: Recaller) -> None:
    found = recaller.recall("flour and ovens, see src/auth/token.py", mode="meaning")
    assert found.results[0].record.id == max(found.results, key=lambda one: one.cosine).record.id
    assert {memory.factors["exact"] for memory in found.results} == {0}
    assert found.status.startswith("3 of 3 records · all-minilm-l6-v2")
    assert found.status.endswith("passages embedded) alone, as asked")


def test_a_huge_record_is_quoted_by_its_best_passage(store: Store) -> None:
    parts = [f"line {n} of the log tells of clerk {n % 7} and of token {n}" for n in range(9000)]
    remember(store, None, record(1, "A log", "\n".join(parts)), passages=parts[:50] + parts[8990:])
    remember(store, None, *[record(n, f"Log {n}", f"the log tells of token {n} and of a clerk") for n in range(2, 30)])
    found = Recaller(Searcher(store, nobody)).recall("line 8997 of the log tells of clerk 2 and of token 8997")
    assert (found.results[0].record.title, found.results[0].factors["exact"]) == ("A log", 1)
    assert found.results[0].passage == parts[8997]


def test_the_most_and_the_least_that_can_be_asked_for(recaller: Recaller) -> None:
    assert [len(ids(recaller, "token bread", n)) for n in (1, 1000)] == [1, 3]


def test_many_threads_while_records_are_written(filled: Store, recaller: Recaller) -> None:
    """Each answer is of one state: what it says of itself adds up."""
    faults: list[object] = []

    def ask() -> None:
        for _ in range(15):
            found = recaller.recall("bread from an oven, see rec_0000000000000002", 50, statuses=["any"])
            shown = [memory.record.id for memory in found.results]
            total = int(found.status.split(" of ")[1].split()[0])
            if shown[0] != BREAD.id or len(set(shown)) != total:
                faults.append(found)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(50, 70):
        remember(filled, None, record(number, f"Bread {number}", "Rye bread from an oven."))
    for thread in threads:
        thread.join()
    assert faults == []
