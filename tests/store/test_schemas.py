"""A file of every released schema opens, and holds what it held."""

import lzma

import numpy as np
import pytest

from bankml.library.upkeep import doctor
from bankml.settings import Settings
from bankml.store import Bound, Store, assertions, config, records
from bankml.store.schema import VERSION
from tests.store.schemas import BOUND, DOCUMENTS, FOLDER, RECORD

FILES = sorted(FOLDER.glob("schema-*.db.xz"))


@pytest.fixture(params=FILES, ids=lambda path: path.name)
def path(request, tmp_path):
    content = lzma.decompress(request.param.read_bytes())
    folder = tmp_path / request.param.name
    folder.mkdir()
    (folder / "kb.db").write_bytes(content)
    return folder / "kb.db"


def test_there_is_one_of_this_schema():
    assert f"schema-{VERSION}.db.xz" in [path.name for path in FILES]


def test_it_opens_and_holds_what_it_held(path):
    with Store.open(path) as store, store.reading() as db:
        assert config.get(db, "schema_version") == str(VERSION)
        assert Bound.read(db) == BOUND
        rows = db.execute(
            """SELECT path, text FROM documents JOIN chunks ON document_id = documents.id WHERE type != 'record'
            ORDER BY chunks.id"""
        )
        assert rows.fetchall() == [(name, text) for name, texts in DOCUMENTS.items() for text in texts]
        (found,) = db.execute("SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH '\"heaters\"'").fetchall()
        vectors = db.execute("SELECT chunk_id, vector FROM chunks_vec").fetchall()
    assert found == (2,)
    assert all(np.array_equal(np.frombuffer(vector, "<f4"), np.full(4, 0.5)) for _, vector in vectors)


def test_records_are_there_since_the_second(path):
    with Store.open(path) as store, store.reading() as db:
        found = records.find(db, RECORD.id)
        said = assertions.of(db, RECORD.id)
    if "schema-1" in str(path.parent):
        assert found is None
    else:
        assert found == RECORD
        assert [assertion.content for assertion in said] == [RECORD.content]


def test_nothing_is_wrong_with_it(path):
    """Its model is on no machine, and its files are not here."""
    wrong = {found.check for found in doctor.examine(path, Settings.read()) if not found.ok}
    assert wrong == {"files", "model"}
