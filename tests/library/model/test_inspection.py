"""What is told of a knowledge base, in whatever state it is; and that telling changes nothing."""

import os
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from bankml.embedders import choose
from bankml.errors import StoreError
from bankml.library.model import binding
from bankml.library.model.fingerprint import fingerprint
from bankml.library.model.initialise import initialise
from bankml.library.model.inspection import inspect
from bankml.settings import Settings
from bankml.store import DocumentRow, Passage, Store, documents, vectors

MINILM = "all-MiniLM-L6-v2"
DOCUMENT = DocumentRow(b"/a.txt", "text", "a", "0" * 64, 3, 0, "1")


def filled(path: Path, fingerprints: list[str | None]) -> None:
    """A chunk for each; one with a fingerprint has a vector of it."""
    passages = [Passage(f"text {number}", "", 0, 6, 1, None, 4) for number in range(len(fingerprints))]
    with Store.open(path) as store, store.writing() as db:
        added = documents.replace(db, DOCUMENT, passages).added
        for (chunk, _), mark in zip(added, fingerprints, strict=True):
            if mark:
                vectors.insert(db, [chunk], mark, np.ones((1, 384), np.float32))


def test_nothing_exists(path: Path, settings: Settings) -> None:
    found = inspect(path, settings)
    assert (found["folder_exists"], found["database_initialised"], found["bound"]) == (False, False, False)
    assert "run `bankml init`" in found["database_error"]
    assert (found["model"], found["model_from"], found["model_present"]) == (MINILM, "default", False)
    assert "bankml pull" in found["model_error"]
    assert (found["documents"], found["chunks"], found["embedded"], found["coverage"]) == (0, 0, 0, None)
    assert found["home"] == os.environ["BANKML_HOME"]
    assert not path.parent.exists()
    assert not settings.home.exists()


@pytest.mark.usefixtures("stocked_home")
def test_a_new_one(path: Path, settings: Settings) -> None:
    done = initialise(path, settings)
    found = inspect(path, settings)
    assert (found["database_initialised"], found["database_error"], found["bound"]) == (True, None, True)
    assert (found["model"], found["model_from"], found["model_present"]) == (MINILM, "the knowledge base", True)
    assert (found["dims"], found["digest"], found["model_error"]) == (384, done.bound.digest, None)


@pytest.mark.usefixtures("stocked_home")
def test_coverage_is_of_the_current_recipe(path: Path, settings: Settings) -> None:
    initialise(path, settings)
    ours = fingerprint(choose(name="minilm"))
    filled(path, [ours, ours, "another", None])
    found = inspect(path, settings)
    assert (found["documents"], found["chunks"], found["embedded"], found["foreign_vectors"]) == (1, 4, 2, 1)
    assert found["coverage"] == 0.5
    path.with_name("config.yaml").write_text("query_prefix: 'find: '")
    found = inspect(path, settings)
    assert (found["embedded"], found["foreign_vectors"], found["model_error"]) == (0, 3, None)


@pytest.mark.usefixtures("stocked_home")
def test_the_model_is_gone(path: Path, settings: Settings) -> None:
    """Then the record says whose vectors count."""
    initialise(path, settings)
    filled(path, [fingerprint(choose(name="minilm"))])
    (settings.models / "all-minilm-l6-v2-f16.gguf").unlink()
    found = inspect(path, settings)
    assert (found["model_present"], found["dims"], found["embedded"], found["coverage"]) == (False, 384, 1, 1.0)
    assert "bankml pull" in found["model_error"]


@pytest.mark.usefixtures("stocked_home")
def test_a_mismatch_and_a_config_that_is_wrong(path: Path, settings: Settings) -> None:
    initialise(path, settings)
    path.with_name("config.yaml").write_text("model: e5")
    found = inspect(path, settings)
    assert (found["model"], found["model_from"], found["model_present"]) == ("e5", "config.yaml", True)
    assert found["model_error"].startswith(f"Model mismatch: DB uses '{MINILM}' (384 dim) but config specifies 'e5'")
    path.with_name("config.yaml").write_text("modell: e5")
    found = inspect(path, settings)
    assert (found["model"], found["database_initialised"]) == (MINILM, True)
    assert "'modell' is no setting" in found["model_error"]


@pytest.mark.usefixtures("stocked_home")
def test_files_that_are_none_of_ours(path: Path, settings: Settings) -> None:
    initialise(path, settings)
    whole = path.read_bytes()
    for content in (b"", b"no database " * 100, whole[: len(whole) // 2], whole[:100] + bytes(len(whole) - 100)):
        path.write_bytes(content)
        found = inspect(path, settings)
        assert not found["database_initialised"]
        assert str(path) in found["database_error"]
        assert found["model"] == MINILM
        assert path.read_bytes() == content
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE theirs (a)")
    other.close()
    assert "another program" in inspect(path, settings)["database_error"]
    assert "a folder" in inspect(path.parent, settings)["database_error"]


@pytest.mark.usefixtures("stocked_home")
def test_it_writes_nothing(path: Path, settings: Settings) -> None:
    initialise(path, settings)
    before = path.read_bytes()
    inspect(path, settings)
    assert path.read_bytes() == before
    assert not [log for log in path.parent.glob("*-wal") if log.stat().st_size]


@pytest.mark.usefixtures("stocked_home")
def test_a_record_that_somebody_else_wrote(path: Path, settings: Settings) -> None:
    initialise(path, settings)
    with Store.open(path) as store, store.writing() as db:
        db.execute("UPDATE config SET value = 'many' WHERE key = 'embedding_dim'")
    assert "embedding_dim" in inspect(path, settings)["database_error"]
    with Store.open(path) as store, pytest.raises(StoreError, match="embedding_dim"):
        binding.embedder(store, settings)
