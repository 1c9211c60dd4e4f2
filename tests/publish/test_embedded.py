"""The vectors of a history's cache, and those that are missing, by a real model."""

import json

import numpy as np
import pytest

from bankml import StoreError
from bankml.embedders import choose
from bankml.errors import LicenceError
from bankml.publish import publish
from bankml.publish.embedded import embedded
from bankml.publish.lines import Lines
from bankml.settings import Settings
from tests.postgres import rows

RECORDS = [
    {"user": "why is the sky blue?", "assistant": "Rayleigh."},
    {"note": "of another kind"},
    {"user": "half", "assistant": None},
    {"user": 5, "assistant": "no text"},
]


@pytest.fixture
def history(tmp_path):
    path = tmp_path / "ada.history"
    path.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    return path


def test_what_is_no_exchange_has_no_vector(history, stocked_home, encoder):
    found = embedded(history, "all-minilm", (), None)
    assert [found.of(record) for record in RECORDS] == [None] * 4
    assert found.complete(None) == ""
    vectors = [found.of(record) for record in RECORDS]
    assert [vector is None for vector in vectors] == [False, True, False, True]
    wanted = encoder.encode(["why is the sky blue?\nRayleigh.", "half\n"])
    assert np.allclose(np.array([vectors[0], vectors[2]]), wanted, atol=1e-6)


def test_a_number_gets_no_vector_of_its_digits(history, stocked_home):
    history.write_text('{"user": "5", "assistant": "a"}\n{"user": 5, "assistant": "a"}\n')
    found = embedded(history, "all-minilm", (), None)
    assert found.complete(None) == ""
    assert [found.of(line.record) is not None for line in Lines(history)] == [True, False]


def test_a_model_with_a_prefix(history, stocked_home):
    found = embedded(history, "e5-small", (), None)
    assert found.complete(None) == ""
    wanted = choose(Settings.read(), "e5-small").embed(["why is the sky blue?\nRayleigh."])[0]
    assert np.allclose(found.of(RECORDS[0]), wanted, atol=1e-6)


def test_a_database_that_takes_no_such_vectors_is_told_before_anything_is_embedded(dsn, history, stocked_home, seeded):
    publish(history, "bob", include_private=True, dsn=dsn, vectors=seeded())
    with pytest.raises(StoreError, match=r"is vector\(8\), and all-minilm-l6-v2 gives vectors of 384"):
        publish(history, "ada", include_private=True, dsn=dsn, model="all-minilm")
    assert not (history.parent / "ada.history.emb").exists()


def test_without_pgvector_nothing_is_embedded(postgres, history, stocked_home):
    result = publish(history, "ada", include_private=True, dsn=postgres.database(), model="all-minilm")
    assert result.embedding.startswith("0 of 2 exchanges embedded: the database has no pgvector")
    assert not (history.parent / "ada.history.emb").exists()


def test_too_little_memory_is_told_and_the_lines_are_there(dsn, history, stocked_home, monkeypatch):
    monkeypatch.setenv("BANKML_EMBED_NEED_GB", "900000")
    result = publish(history, "ada", include_private=True, dsn=dsn, model="all-minilm")
    assert result.embedding.startswith("0 of 2 exchanges embedded with all-minilm-l6-v2 (")
    assert "memory" in result.embedding
    assert rows(dsn, "SELECT count(*), count(embedding) FROM bankml_exchanges") == [(4, 0)]


@pytest.mark.filterwarnings("ignore::bankml.ModelWarning")
def test_a_model_whose_licence_is_not_known(dsn, history, unsaid):
    with pytest.raises(LicenceError, match="--allow-licence 'unknown'"):
        publish(history, "ada", include_private=True, dsn=dsn, model=str(unsaid))
    allowed = publish(history, "ada", include_private=True, dsn=dsn, model=str(unsaid), allow_licence=["unknown"])
    assert allowed.embedded == 2
