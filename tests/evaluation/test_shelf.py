"""Documents by their best passage, coverage by its definition, and whether a model knows a language."""

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from bankml.embedders import choose
from bankml.encoder import Encoder
from bankml.evaluation.faq import Language
from bankml.evaluation.model import Model
from bankml.evaluation.passages import Cut, cut
from bankml.evaluation.shelf import SHOWN, Shelf
from bankml.library.search.searcher import Searcher
from bankml.memory.recall.recaller import Recaller
from bankml.models.progress import silent
from bench import remembered
from oracle import seeded

LONG = " ".join(f"The kernel of number {number} is compiled by another team." for number in range(120))
DOCUMENTS = {"mail": "The list server forwards letters.", "kernel": LONG, "apt": "A tool that fetches programs."}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    folder = tmp_path_factory.mktemp("shelf")
    return Model(Encoder(seeded.tiny(folder / "tiny.gguf")), folder, silent)


@pytest.fixture(scope="module")
def shelf(model: Model) -> Shelf:
    return Shelf(Language("en", DOCUMENTS, {}, 0, 0), cut(list(DOCUMENTS.values()), model), model)


def test_long_documents_are_several_passages_that_hold_all_of_them(model: Model) -> None:
    found = cut([*DOCUMENTS.values(), ""], model)
    assert found.starts[0] == 0
    assert len(found.starts) == 4
    assert found.starts[2] - found.starts[1] > 2
    passages = found.texts[found.starts[1] : found.starts[2]]
    assert {word for text in passages for word in text.split()} == set(LONG.split())
    assert max(model.encoder.tokens(found.texts).counts) <= 256


def test_a_document_is_its_best_passage() -> None:
    found = Cut(["a", "b", "c", "d"], np.array([0, 1, 3]))
    assert found.best(np.array([0.1, -0.5, -0.2, 0.9])).tolist() == [0.1, -0.2, 0.9]


def test_coverage_is_the_share_by_idf(shelf: Shelf, model: Model) -> None:
    passages = cut(list(DOCUMENTS.values()), model).texts

    def idf(term: str) -> float:
        holding = sum(term in text.lower().replace(".", "").split() for text in passages)
        return math.log(1 + (len(passages) - holding + 0.5) / (holding + 0.5))

    terms = ["kernel", "letters", "nowhere", "the"]
    found = shelf.coverages("Kernel letters, nowhere the kernel?")
    whole = sum(map(idf, terms))
    assert found == pytest.approx([(idf("letters") + idf("the")) / whole, (idf("kernel") + idf("the")) / whole, 0])
    assert shelf.coverages("?!").tolist() == [0, 0, 0]


def test_coverage_is_what_a_query_of_records_says(shelf: Shelf, stocked_home, minilm: Path, tmp_path: Path) -> None:
    """The curve is fitted on the very feature that it is asked with."""
    embedder = choose(name="all-minilm-l6-v2")
    with Encoder(minilm) as encoder:
        model = Model(encoder, tmp_path, silent)
        passages = cut(list(DOCUMENTS.values()), model)
        own, store = Shelf(shelf.language, passages, model), remembered.Shelf(tmp_path / "kb.db", embedder, model)
        with store.store, Searcher(store.store, lambda: embedder) as searcher:
            ids = store.remember([("", text) for text in DOCUMENTS.values()])
            for query in ("which team compiles the kernel", "letters of unicorns", "tools and letters"):
                found = {one.record.id: one.coverage for one in Recaller(searcher).recall(query, 10, "words").results}
                expected = own.coverages(query)
                assert found
                for id, coverage in found.items():
                    assert coverage == pytest.approx(expected[ids.index(id)])


def test_results_carry_the_cosine_of_the_best_passage(shelf: Shelf, model: Model) -> None:
    (found,) = shelf.results(["which team compiles number 7"], ["kernel"])
    assert found.answers.sum() == 1
    vector = model.queries(["which team compiles number 7"])[0]
    passages = cut(list(DOCUMENTS.values()), model)
    cosines = passages.best((model.documents(passages.texts) @ vector).astype(float))
    assert found.features[found.answers, 0] == pytest.approx(cosines[1], abs=1e-6)
    assert len(found.features) == min(SHOWN, len(DOCUMENTS))
    (off,) = shelf.results(["nothing"], [None])
    assert not off.answers.any()


def test_what_is_about_a_query_and_what_is_not() -> None:
    """Of nine documents on a half circle: the answer, though it ranks fourth, and the seventh of the other eight."""
    angles = np.linspace(0, np.pi, 9)
    rows = np.column_stack([np.cos(angles), np.sin(angles)]).astype(np.float32)
    made = SimpleNamespace(documents=lambda texts: rows[: len(texts)], queries=lambda texts: rows[[0] * len(texts)])
    documents = {str(number): "hens" for number in range(9)}
    held = Shelf(Language("en", documents, {}, 0, 0), Cut(["hens"] * 9, np.arange(9)), made)
    (own,), (off,) = held.results(["words"], ["3"]), held.results(["words"], [None])
    assert own.about.tolist() == [True, False]
    assert own.pairs[:, 0] == pytest.approx(np.cos(angles[[3, 7]]), abs=1e-6)
    assert off.about.tolist() == [False] * 3
    assert off.pairs[:, 0] == pytest.approx(np.cos(angles[:3]), abs=1e-6)
    alone = Shelf(Language("en", {"3": "hens"}, {}, 0, 0), Cut(["hens"], np.arange(1)), made)
    assert alone.results(["words"], ["3"])[0].about.tolist() == [True]


def test_a_model_with_random_weights_knows_no_language_and_minilm_knows_english(
    model: Model, minilm: Path, tmp_path: Path
) -> None:
    documents = {word: f"This is about {word}." for word in "mail kernels fonts printers disks sound games".split()}
    language, passages = Language("en", documents, {}, 0, 0), cut(list(documents.values()), model)
    named = {word: f"tell me of {word}, please" for word in documents}
    assert not Shelf(language, passages, model).known(named)
    paraphrased = {"mail": "Who delivers letters?", "games": "Can I play chess?", "sound": "I want to hear music"}
    with Encoder(minilm) as encoder:
        assert Shelf(language, passages, Model(encoder, tmp_path, silent)).known(paraphrased)
