"""A file of every released schema opens, and holds what it held."""

import lzma

import numpy as np
import pytest

from bankml.library.upkeep import doctor
from bankml.settings import Settings
from bankml.store import Bound, Store, config
from bankml.store.schema import VERSION
from tests.store.schemas import BOUND, DOCUMENTS, FOLDER

FILES = sorted(FOLDER.glob("schema-*.db.xz"))


@pytest.fixture(params=FILES, ids=lambda path: path.name)
def path(request, tmp_path):
    content = lzma.decompress(request.param.read_bytes())
    (tmp_path / "kb.db").write_bytes(content)
    return tmp_path / "kb.db"


def test_there_is_one_of_this_schema():
    assert f"schema-{VERSION}.db.xz" in [path.name for path in FILES]


def test_it_opens_and_holds_what_it_held(path):
    with Store.open(path) as store, store.reading() as db:
        assert config.get(db, "schema_version") == str(VERSION)
        assert Bound.read(db) == BOUND
        rows = db.execute(
            "SELECT path, text FROM documents JOIN chunks ON document_id = documents.id ORDER BY chunks.id"
        )
        assert rows.fetchall() == [(name, text) for name, texts in DOCUMENTS.items() for text in texts]
        (found,) = db.execute("SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH '\"heaters\"'").fetchall()
        vectors = db.execute("SELECT chunk_id, vector FROM chunks_vec").fetchall()
    assert found == (2,)
    assert all(np.array_equal(np.frombuffer(vector, "<f4"), np.full(4, 0.5)) for _, vector in vectors)


def test_nothing_is_wrong_with_it(path):
    """Its model is on no machine, and its files are not here."""
    wrong = {found.check for found in doctor.examine(path, Settings.read()) if not found.ok}
    assert wrong == {"files", "model"}
