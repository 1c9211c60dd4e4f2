"""Searching a knowledge base: both arms, what passes, and what the status says."""

import threading
from collections.abc import Iterator
from time import monotonic

import numpy as np
import pytest

from bankml.embedders import Embedder, choose
from bankml.errors import InputError, MismatchError, StoreError, UnavailableError
from bankml.library.model import binding
from bankml.library.model.fingerprint import fingerprint
from bankml.library.search.searcher import Searcher
from bankml.library.upkeep.reindex import reindex
from bankml.settings import Settings
from bankml.store import Bound, Store, documents, vectors
from tests.library.shelf import embedded, give, passages, put, unit
from tests.memory import remembered

TEXTS = {
    "/n/boot.md": ["The boot loader starts the kernel.", "GRUB shows a menu before that."],
    "/n/food.md": ["Apples and pears are fruit.", "Bread is baked from flour in an oven."],
    "/n/pets.txt": ["Cats sleep most of the day.", "A dog wants to go for a walk."],
}


@pytest.fixture(scope="module")
def minilm_embedder(minilm) -> Iterator[Embedder]:
    embedder = choose(name=str(minilm))
    yield embedder
    embedder.close()


@pytest.fixture
def ids(store: Store, minilm_embedder: Embedder) -> dict[str, int]:
    return embedded(store, minilm_embedder, TEXTS)


@pytest.fixture
def searcher(store: Store, ids: dict[str, int], minilm_embedder: Embedder) -> Searcher:
    return Searcher(store, lambda: minilm_embedder)


def nobody() -> Embedder:
    raise UnavailableError("the model is not here: pull it")


def forbidden() -> Embedder:
    raise AssertionError("the model was asked for")


def test_meaning_finds_what_words_do_not(searcher: Searcher, ids: dict[str, int]) -> None:
    found = searcher.search("what does a puppy like?")
    first = found.results[0]
    assert (first.path, first.line, first.text) == ("/n/pets.txt", 2, "A dog wants to go for a walk.")
    assert (first.id, first.words_rank, first.meaning_rank) == (ids[first.text], 1, 1)  # by "a"
    assert found.status.startswith("6 of 6 passages · BM25 (FTS5) + ")
    assert "(meaning, 6 of 6 embedded), fused by convex combination (0." in found.status


def test_each_mode_ranks_by_its_arm(searcher: Searcher, ids: dict[str, int], minilm_embedder: Embedder) -> None:
    vector = minilm_embedder.embed(["kernel fruit"], query=True)[0]
    cosines = {ids[text]: float(minilm_embedder.embed([text])[0] @ vector) for text in ids}
    words = searcher.search("kernel fruit", mode="words")
    assert {hit.text for hit in words.results} == {TEXTS["/n/boot.md"][0], TEXTS["/n/food.md"][0]}
    assert [(hit.cosine, hit.words_rank, hit.meaning_rank) for hit in words.results] == [
        (None, 1, None),
        (None, 2, None),
    ]
    assert words.status == "2 of 6 passages · BM25 (FTS5) alone, as asked"
    meaning = searcher.search("kernel fruit", 4, mode="meaning")
    assert [hit.id for hit in meaning.results] == sorted(cosines, key=lambda id: -cosines[id])[:4]
    assert [hit.score for hit in meaning.results] == [hit.cosine for hit in meaning.results]
    assert "(meaning, 6 of 6 embedded) alone, as asked" in meaning.status
    fused = searcher.search("kernel fruit")
    assert {hit.id: hit.cosine for hit in fused.results} == pytest.approx(cosines, abs=1e-6)
    assert {hit.words_rank for hit in fused.results} == {1, 2, None}


def test_only_what_passes_is_ranked(searcher: Searcher) -> None:
    for mode in ("words", "meaning", "fused"):
        found = searcher.search("a boot loader", 1, mode, path="pets.txt")
        assert [hit.path for hit in found.results] == ["/n/pets.txt"]
        assert found.status.endswith(" · 2 passages pass the filters")
    assert searcher.search("kernel", path="*.rst").results == []


def test_words_alone_where_there_is_no_model(store: Store, ids: dict[str, int]) -> None:
    with Searcher(store, nobody) as searcher:
        found = searcher.search("kernel")
        assert [hit.text for hit in found.results] == [TEXTS["/n/boot.md"][0]]
        assert found.status == "1 of 6 passages · BM25 (FTS5) alone: the model is not here: pull it"
        with pytest.raises(UnavailableError, match="pull it"):
            searcher.search("kernel", mode="meaning")


def test_words_alone_need_no_model(store: Store, ids: dict[str, int]) -> None:
    assert Searcher(store, forbidden).search("kernel", mode="words").results


def test_another_model_is_an_error(store: Store, ids: dict[str, int], stocked_home) -> None:
    with Searcher(store, lambda: binding.embedder(store, Settings.read(), "e5-small")) as searcher:
        with pytest.raises(MismatchError, match="reindex --model e5-small"):
            searcher.search("kernel")
        assert searcher.search("kernel", mode="words").results


def test_nothing_embedded(store: Store, minilm_embedder: Embedder) -> None:
    put(store, "/a", ["the kernel"])
    searcher = Searcher(store, lambda: minilm_embedder)
    assert "alone: nothing is embedded yet: run `bankml reindex`" in searcher.search("kernel").status
    with store.writing() as db:
        binding.check(db, minilm_embedder)
    found = searcher.search("kernel")
    assert "alone: nothing is embedded yet: run `bankml reindex`" in found.status
    assert len(found.results) == 1


def test_vectors_of_another_recipe_are_told(store: Store, searcher: Searcher, ids: dict[str, int]) -> None:
    with store.writing() as db:
        row = db.execute("SELECT vector FROM chunks_vec WHERE chunk_id = 1").fetchone()[0]
        vectors.insert(db, [1], "0" * 16, np.frombuffer(row, np.float32)[None])
    found = searcher.search("the boot loader")
    assert found.status.endswith(
        " · 1 passage embedded by another recipe left out of the meaning: run `bankml reindex`"
    )
    assert "(meaning, 5 of 6 embedded)" in found.status
    assert next(hit for hit in found.results if hit.id == 1).cosine is None


def test_all_vectors_of_another_recipe(store: Store, searcher: Searcher, ids: dict[str, int]) -> None:
    with store.writing() as db:
        db.execute("UPDATE chunks_vec SET fingerprint = 'x'")
    found = searcher.search("the boot loader")
    assert found.status == (
        "2 of 6 passages · BM25 (FTS5) alone: all that is embedded is of another recipe: run `bankml reindex`"
    )


@pytest.mark.parametrize("query", ["", "  ", "?!…", "\0", "\n"])
def test_what_has_no_words_finds_nothing(searcher: Searcher, query: str) -> None:
    found = searcher.search(query)
    assert found.results == []
    assert found.status == "0 of 6 passages · the query has no letter and no digit: give words or a question"


def test_an_empty_store(store: Store, minilm_embedder: Embedder) -> None:
    found = Searcher(store, lambda: minilm_embedder).search("kernel")
    assert (found.results, found.status) == (
        [],
        "0 of 0 passages · the knowledge base is empty: run `bankml add PATH`",
    )


def test_what_cannot_be_asked(searcher: Searcher) -> None:
    for asked in ({"n": 0}, {"n": 1001}, {"n": "3"}, {"mode": "best"}, {"after": "soon"}):
        with pytest.raises(InputError):
            searcher.search("kernel", **asked)
    with pytest.raises(InputError):
        searcher.search(b"kernel")


def test_hostile_queries_are_data(searcher: Searcher) -> None:
    for query in (
        '"kernel" OR',
        "NEAR(kernel",
        "kernel\0",
        "\ud800 kernel",
        "kernel " * 150_000,
        "'; DROP TABLE chunks",
    ):
        searcher.search(query)
    assert searcher.search("kernel").results[0].text == TEXTS["/n/boot.md"][0]


def test_the_query_prefix_is_the_embedders(store: Store, e5) -> None:
    embedder = choose(name=str(e5))
    ids = embedded(store, embedder, TEXTS)
    found = Searcher(store, lambda: embedder).search("Wo bäckt man Brot?", mode="meaning").results
    query, text = embedder.embed(["Wo bäckt man Brot?"], query=True)[0], TEXTS["/n/food.md"][1]
    assert found[0].text == text
    assert found[0].cosine == pytest.approx(float(embedder.embed([text])[0] @ query), abs=1e-6)
    assert found[0].id == ids[text]
    embedder.close()


def test_a_store_that_is_bound_to_another_model_meanwhile(store: Store, searcher: Searcher, e5) -> None:
    """The searcher asks for the model again, and no query is compared with another model's vectors."""
    searcher.search("kernel")
    other = choose(name=str(e5))
    with store.writing() as db:
        rows = other.embed([text for each in TEXTS.values() for text in each])
        vectors.create(db, other.dims, "chunks_vec_next")
        vectors.insert(db, range(1, 7), fingerprint(other), rows, "chunks_vec_next")
        Bound("e5", other.dims, other.digest, fingerprint(other)).write(db)
        vectors.swap(db)
    with pytest.raises(StoreError, match="is replaced again and again"):
        searcher.search("kernel")
    searcher._asking._choose = lambda: other
    searcher._asking.forget()
    found = searcher.search("where is bread baked?", mode="meaning").results
    query = other.embed(["where is bread baked?"], query=True)[0]
    expected = rows @ query
    assert [hit.id for hit in found] == (np.argsort(-expected, kind="stable") + 1).tolist()
    other.close()


def test_many_threads_while_documents_come_and_go(store: Store, searcher: Searcher, minilm_embedder: Embedder) -> None:
    """Every cosine is of the passage's own text, every id that is found is there, in each search."""
    texts = ["A dog runs.", "A cat sleeps.", "Snow is cold.", "The sun is hot."]
    rows = minilm_embedder.embed(texts)
    queries = ["a puppy", "winter", "kernel"]
    known = {text: minilm_embedder.embed([text])[0] for each in TEXTS.values() for text in each}
    known |= dict(zip(texts, rows, strict=True))
    asked = {query: minilm_embedder.embed([query], query=True)[0] for query in queries}
    errors: list[BaseException] = []
    over = threading.Event()

    def write() -> None:
        for number in range(40):
            with store.writing() as db:
                path = f"/t/{number % 3}".encode()
                if (found := documents.find(db, path)) and number % 4 == 0:
                    documents.remove(db, [found[0]])
                    continue
                chosen = [texts[(number + step) % 4] for step in range(1 + number % 3)]
                row = documents.DocumentRow(path, "text", "", str(number), 1, 0, "1")
                added = documents.replace(db, row, passages(chosen)).added
                ids = [id for id, _ in added]
                vectors.insert(db, ids, fingerprint(minilm_embedder), np.stack([known[text] for _, text in added]))

    def look(query: str) -> None:
        try:
            while not over.is_set():
                for hit in searcher.search(query, 20).results:
                    assert hit.cosine == pytest.approx(float(known[hit.text] @ asked[query]), abs=1e-5)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=look, args=(query,)) for query in queries]
    for thread in threads:
        thread.start()
    try:
        write()
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert errors == []


def test_explained(searcher: Searcher, minilm_embedder: Embedder) -> None:
    explained = searcher.search("the kernel").explained
    assert explained["terms"] == {"kernel": 1, "the": 2}
    assert explained["fingerprint"] == fingerprint(minilm_embedder)
    assert {"words_ms", "vectors_ms", "meaning_ms", "alpha", "matrix"} <= set(explained)


def test_pending_while_the_query_is_embedded(store: Store, ids: dict[str, int], minilm_embedder: Embedder) -> None:
    with Searcher(store, lambda: minilm_embedder) as searcher:
        found = searcher.search("kernel", wait=0.0)
        assert found.results
        assert found.pending
        assert "alone: the meaning is on its way" in found.status
        assert not searcher.search("kernel", wait=30.0).pending


def test_words_of_no_passage_are_not_found(store: Store, searcher: Searcher) -> None:
    """In a damaged store, of which `bankml doctor` says so."""
    with store.writing() as db:
        db.execute("INSERT INTO chunks_fts (rowid, terms) VALUES (77, 'kernel stray')")
    assert searcher.search("stray", mode="words").results == []
    assert [hit.text for hit in searcher.search("stray kernel", mode="words").results] == [TEXTS["/n/boot.md"][0]]


def test_other_prefixes_and_a_reindex_while_a_searcher_lives(store: Store, minilm) -> None:
    """The searcher asks for the model again, which has the new prefixes."""

    def choose_it() -> Embedder:
        return binding.embedder(store, Settings.read(), str(minilm))

    configuration = store.path.with_name("config.yaml")
    embedded(store, choose_it(), TEXTS)
    with Searcher(store, choose_it) as searcher:
        assert "6 of 6 embedded" in searcher.search("kernel").status
        for prefix in ("d: ", "e: "):
            configuration.write_text(f'document_prefix: "{prefix}"')
            reindex(store, binding.unchecked(store, Settings.read(), str(minilm)))
            assert "6 of 6 embedded" in searcher.search("kernel").status
        configuration.unlink()
    asked = []
    with Searcher(store, lambda: asked.append(1) or choose_it()) as searcher:  # prefixes changed, and no reindex
        for _ in range(4):
            assert "all that is embedded is of another recipe" in searcher.search("kernel").status
        assert len(asked) <= 2
        configuration.write_text('document_prefix: "e: "')  # as the vectors are that were there
        reindex(store, binding.unchecked(store, Settings.read(), str(minilm)))
        assert "6 of 6 embedded" in searcher.search("kernel").status


def test_meaning_alone_says_why_it_finds_nothing(store: Store, minilm_embedder: Embedder) -> None:
    put(store, "/a", ["the kernel"])
    with Searcher(store, lambda: minilm_embedder) as searcher:
        start = "0 of 1 passages · nothing by meaning, as asked: "
        unbound = searcher.search("kernel", mode="meaning")
        assert unbound.status == start + "nothing is embedded yet: run `bankml reindex`"
        embedded(store, minilm_embedder, {"/b": ["another"]})
        with store.writing() as db:
            db.execute("UPDATE chunks_vec SET fingerprint = 'x'")
        foreign = searcher.search("kernel", mode="meaning")
        assert "all that is embedded is of another recipe: run `bankml reindex`" in foreign.status
    with Searcher(store, lambda: minilm_embedder) as searcher:
        pending = searcher.search("something new", mode="meaning", wait=0.0)
        assert pending.pending
        assert pending.results == []
        assert "nothing by meaning, as asked: the meaning is on its way" in pending.status


def test_what_passes_is_asked_anew_of_a_store_that_changed(store: Store, searcher: Searcher) -> None:
    assert [hit.path for hit in searcher.search("kernel", mode="words", path="*.md").results] == ["/n/boot.md"]
    put(store, "/n/new.md", ["A kernel of corn."])
    found = searcher.search("kernel", mode="words", path="*.md")
    assert {hit.path for hit in found.results} == {"/n/boot.md", "/n/new.md"}


def test_fused_looks_deeper_than_what_is_shown(store: Store, minilm_embedder: Embedder) -> None:
    """What is second in both arms may be the best of all."""
    with store.writing() as db:
        binding.check(db, minilm_embedder)
    ids = put(store, "/a", ["fox fox fox", "fox and more", "nothing", "else"])
    query = minilm_embedder.embed(["fox"], query=True)[0].astype(float)
    aside = np.eye(len(query))[0]
    aside -= (aside @ query) * query
    aside /= np.linalg.norm(aside)
    rows = [-query, 0.99 * query + (1 - 0.99**2) ** 0.5 * aside, query, aside]
    give(store, ids, unit(rows), fingerprint(minilm_embedder))
    with Searcher(store, lambda: minilm_embedder) as searcher:
        assert searcher.search("fox", 1, "words").results[0].id == ids[0]
        assert searcher.search("fox", 1, "meaning").results[0].id == ids[2]
        put(store, "/b", ["fox, somewhere among many other words that have nothing to do with it"])
        assert searcher.search("fox", 1).results[0].id == ids[1]


class Closable:
    """An embedder that knows whether it was closed."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder, self.closed = embedder, False

    def __getattr__(self, name: str) -> object:
        return getattr(self._embedder, name)

    def close(self) -> None:
        self.closed = True


def test_a_model_that_is_another_s_place_is_closed(
    store: Store, ids: dict[str, int], minilm_embedder: Embedder
) -> None:
    chosen: list[Closable] = []

    def choose_it() -> Embedder:
        chosen.append(Closable(minilm_embedder))
        return chosen[-1]

    with Searcher(store, choose_it) as searcher:
        searcher.search("kernel")
        searcher._asking.forget()
        searcher.search("kernel")
        assert [one.closed for one in chosen] == [True, False]
    assert chosen[1].closed


def test_one_that_is_chosen_again_stays_open(store: Store, ids: dict[str, int], minilm_embedder: Embedder) -> None:
    same = Closable(minilm_embedder)
    searcher = Searcher(store, lambda: same)
    searcher.search("kernel")
    searcher._asking.forget()
    searcher.search("kernel")
    assert not same.closed


def test_nobody_waits_for_a_choice_longer_than_he_wants(
    store: Store, ids: dict[str, int], minilm_embedder: Embedder
) -> None:
    """A model's file may have to be read whole before it is known."""
    go, asked = threading.Event(), []

    def slowly() -> Embedder:
        asked.append(1)
        go.wait()
        return minilm_embedder

    with Searcher(store, slowly) as searcher:
        begun = monotonic()
        for _ in range(3):
            found = searcher.search("kernel", wait=0.0)
            assert (len(found.results), found.pending) == (1, True)
            assert "alone: the meaning is on its way" in found.status
        assert monotonic() - begun < 10
        go.set()
        assert "6 of 6 embedded" in searcher.search("kernel", wait=60.0).status
        assert len(asked) == 1


def test_why_there_is_no_model_is_told_to_who_does_not_wait(store: Store, ids: dict[str, int]) -> None:
    go = threading.Event()

    def slowly() -> Embedder:
        go.wait()
        return nobody()

    with Searcher(store, slowly) as searcher:
        assert searcher.search("kernel", wait=0.0).pending
        go.set()
        found = searcher.search("kernel", wait=60.0)
        assert (found.pending, "the model is not here" in found.status) == (False, True)


def test_config_yaml_is_followed_while_a_searcher_lives(store: Store, minilm, e5) -> None:
    """Meaning that is switched off, another model, another pooling: each counts for the next search, of servers too."""

    def choose_it() -> Embedder:
        return binding.embedder(store, Settings.read())

    configuration = store.path.with_name("config.yaml")
    configuration.write_text(f"model: {minilm}")
    embedded(store, choose_it(), TEXTS)
    with Searcher(store, choose_it) as searcher:
        assert "6 of 6 embedded" in searcher.search("kernel").status
        configuration.write_text(f"model: {minilm}\nsearch: {{vector: {{enabled: false}}}}")
        assert "BM25 (FTS5) alone: search.vector.enabled is false in" in searcher.search("kernel").status
        with pytest.raises(UnavailableError, match=r"search\.vector\.enabled is false"):
            searcher.search("kernel", mode="meaning")
        configuration.write_text(f"search: {{vector: {{preset: custom, model: {e5}}}}}")
        with pytest.raises(MismatchError, match=r"but search\.vector\.model specifies"):
            searcher.search("kernel")
        assert searcher.search("kernel", mode="words").results
        configuration.unlink()
        assert "6 of 6 embedded" in searcher.search("kernel").status


def test_records_are_none_of_the_documents_that_are_searched(store, ids, searcher, minilm_embedder):
    apart = searcher.search("the boot loader", 10)
    (record,) = remembered.remember(
        store, None, remembered.record(1, "The boot loader", "The boot loader starts the kernel, says the boot loader.")
    )
    give(store, [record], minilm_embedder.embed(["The boot loader"]), fingerprint(minilm_embedder))
    for mode in ("words", "meaning", "fused"):
        assert record not in [hit.id for hit in searcher.search("the boot loader", 10, mode=mode).results]
    found = searcher.search("the boot loader", 10)
    assert [hit.id for hit in found.results] == [hit.id for hit in apart.results]
    assert "that pass" not in found.status
    assert searcher.search("the boot loader", type="record").results == []


def test_passages_of_documents_alone_are_counted(store, ids, searcher, minilm_embedder):
    (record,) = remembered.remember(store, None, remembered.record(1, "The boot loader", "It starts the kernel."))
    give(store, [record], minilm_embedder.embed(["The boot loader"]), fingerprint(minilm_embedder))
    assert "2 of 6 passages" in searcher.search("the boot loader", 2).status
    assert "6 of 6 embedded" in searcher.search("the boot loader", 2).status


def test_records_alone_are_nothing_to_search(store, minilm_embedder):
    remembered.remember(store, None, remembered.record(1, "The boot loader", "It starts the kernel."))
    found = Searcher(store, lambda: minilm_embedder).search("the boot loader")
    assert found.status == (
        "0 of 0 passages · there are no documents: run `bankml add PATH`; `bankml query` finds records"
    )
