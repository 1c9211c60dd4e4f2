"""Vectors for the evaluation: prefixes, what is kept, what was cut."""

from pathlib import Path

import numpy as np
import pytest

from bankml.cache import Cache, key
from bankml.encoder import Encoder
from bankml.errors import InputError, StoreError
from bankml.evaluation.model import BATCH, Model
from bankml.models.progress import silent
from oracle import seeded


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    return Encoder(seeded.tiny(tmp_path_factory.mktemp("tiny") / "tiny.gguf"), name="multilingual-e5-tiny")


def test_prefixes_of_the_family(encoder: Encoder, tmp_path: Path) -> None:
    model = Model(encoder, tmp_path, silent)
    assert np.array_equal(model.queries(["why"]), encoder.encode(["query: why"]))
    assert np.array_equal(model.documents(["why"]), encoder.encode(["passage: why"]))


def test_vectors_are_kept(encoder: Encoder, tmp_path: Path) -> None:
    """What is there is not made again: a row that was changed comes back."""
    texts = [f"text {number}" for number in range(BATCH + 3)]
    first = Model(encoder, tmp_path, silent).documents(texts)
    heard: list[tuple[int, int]] = []
    again = Model(encoder, tmp_path, lambda what, done, total: heard.append((done, total)))
    assert np.array_equal(again.documents(texts), first)
    assert heard == []
    cache = next(tmp_path.glob("*.emb"))
    Cache(cache).append("x", encoder.digest, [key("passage: text 3")], first[:1])
    assert np.array_equal(Model(encoder, tmp_path, silent).documents(texts)[3], first[0])


def test_equal_texts_and_batches(encoder: Encoder, tmp_path: Path) -> None:
    heard: list[tuple[int, int]] = []
    model = Model(encoder, tmp_path, lambda what, done, total: heard.append((done, total)))
    model.prepare(["a", "a"], [f"text {number}" for number in range(BATCH)])
    assert heard == [(0, BATCH + 1), (BATCH, BATCH + 1)]
    assert np.array_equal(model.queries(["a", "b", "a"]), encoder.encode(["query: a", "query: b", "query: a"]))


def test_what_was_cut(encoder: Encoder, tmp_path: Path) -> None:
    assert Model(encoder, tmp_path, silent).cut(["short", "word " * 5000, ""]) == 1


def test_a_folder_that_cannot_be_made(encoder: Encoder, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="set BANKML_HOME"):
        Model(encoder, tmp_path / "file" / "eval", silent)


def test_a_model_that_does_not_pool(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a vector for each token"):
        Model(Encoder(seeded.tiny(tmp_path / "none.gguf"), pooling="none"), tmp_path, silent)
