"""No store ever holds the vectors of two models, and who tries is told both."""

import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bankml import Encoder
from bankml.embedders import Embedder, choose
from bankml.errors import MismatchError, StoreError, UnavailableError
from bankml.library.model import binding
from bankml.library.model.fingerprint import fingerprint
from bankml.library.model.wanted import Wanted, wanted
from bankml.library.upkeep.reindex import reindex
from bankml.models.prefixes import Override
from bankml.settings import Settings
from bankml.store import Bound, DocumentRow, Passage, Store, config, documents, vectors
from oracle import seeded

MINILM = "all-MiniLM-L6-v2"

pytestmark = pytest.mark.usefixtures("stocked_home")


@pytest.fixture
def bound(store: Store) -> Store:
    """Bound to all-MiniLM-L6-v2."""
    with store.writing() as db:
        binding.check(db, choose(name="minilm"))
    return store


def read(store: Store) -> Bound | None:
    with store.reading() as db:
        return Bound.read(db)


def state(store: Store) -> list[tuple]:
    with store.reading() as db:
        return list(db.execute("SELECT * FROM config ORDER BY key"))


def configure(store: Store, text: str) -> None:
    (store.path.parent / "config.yaml").write_text(text)


def refused(store: Store, model: str | None = None) -> str:
    before = state(store)
    with pytest.raises(MismatchError) as caught:
        binding.embedder(store, Settings.read(), model)
    assert state(store) == before
    return str(caught.value)


def test_the_first_model_is_recorded(store: Store, settings: Settings, minilm: Path) -> None:
    assert read(store) is None
    ours = binding.embedder(store, settings)
    assert read(store) is None  # nothing is written before vectors are
    with store.writing() as db:
        binding.check(db, ours)
    assert read(store) == Bound(MINILM, 384, ours.digest, fingerprint(ours))


def test_the_table_takes_vectors_of_this_width_alone(bound: Store) -> None:
    with bound.reading() as db:
        (sql,) = db.execute("SELECT sql FROM sqlite_schema WHERE name = 'chunks_vec'").fetchone()
    assert str(4 * 384) in sql


@pytest.mark.parametrize(
    "name",
    ["all-MiniLM-L6-v2", "ALL-MINILM-L6-V2", "minilm", "all-minilm:latest", "sentence-transformers/all-MiniLM-L6-v2"],
)
def test_aliases_are_one_model(bound: Store, settings: Settings, name: str) -> None:
    assert binding.embedder(bound, settings, name).digest == read(bound).digest
    configure(bound, f"model: {name}")
    assert binding.embedder(bound, settings).digest == read(bound).digest


def test_the_same_file_under_any_path_is_one_model(
    bound: Store, settings: Settings, minilm: Path, tmp_path: Path
) -> None:
    copy = shutil.copy(minilm, tmp_path / "copy.gguf")
    for path in (minilm, copy):
        assert binding.embedder(bound, settings, str(path)).digest == read(bound).digest


def test_a_file_is_recorded_by_its_whole_path(
    store: Store, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = seeded.tiny(tmp_path / "tiny.gguf")
    monkeypatch.chdir(tmp_path)
    with store.writing() as db:
        binding.check(db, binding.embedder(store, settings, "./tiny.gguf"))
    assert read(store).model_name == str(file)
    monkeypatch.chdir("/")
    assert binding.embedder(store, settings).digest == read(store).digest


def test_who_says_what(bound: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Flag, environment, config.yaml, record, in this order."""
    assert wanted(bound, Settings.read()) == Wanted(MINILM, "the knowledge base")
    configure(bound, "model: a")
    assert wanted(bound, Settings.read()) == Wanted("a", "config.yaml")
    monkeypatch.setenv("MINDX_EMBED_MODEL", "b")
    assert wanted(bound, Settings.read()) == Wanted("b", "MINDX_EMBED_MODEL")
    monkeypatch.setenv("BANKML_EMBED_MODEL", "c")
    assert wanted(bound, Settings.read()) == Wanted("c", "BANKML_EMBED_MODEL")
    assert wanted(bound, Settings.read(), "d") == Wanted("d", "--model")


def test_a_new_store_wants_the_default(store: Store, settings: Settings) -> None:
    assert wanted(store, settings) == Wanted(MINILM, "default")


def test_the_sentence_names_both_both_dims_the_remedy_and_who_said_it(
    bound: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin, end = f"Model mismatch: DB uses '{MINILM}' (384 dim) but", "to switch models"
    run = "'multilingual-e5-small' (384 dim). Run bankml reindex --model multilingual-e5-small"
    assert refused(bound, "multilingual-e5-small") == f"{begin} --model specifies {run} {end}."
    configure(bound, "model: multilingual-e5-small")
    assert refused(bound) == f"{begin} config specifies {run} {end}."
    monkeypatch.setenv("BANKML_EMBED_MODEL", "multilingual-e5-small")
    assert refused(bound) == (f"{begin} BANKML_EMBED_MODEL specifies {run} {end}, or unset BANKML_EMBED_MODEL.")


def test_a_model_that_is_not_here_is_another_all_the_same(bound: Store) -> None:
    assert "specifies 'bge-m3' (1024 dim). Run bankml reindex --model bge-m3 " in refused(bound, "bge-m3")
    for name in ("nomic-embed-text", "nomic-embed-text:latest", "hf:nomic-ai/nomic-embed-text-v1.5"):
        assert f"specifies '{name}' (768 dim). Run bankml reindex --model {name} to switch models" in refused(
            bound, name
        )


@pytest.mark.parametrize("name", ["no such thing", "/nonexist.gguf", "../../etc/passwd"])
def test_no_model_is_advised_that_does_not_exist(bound: Store, name: str) -> None:
    told = refused(bound, name)
    assert told.startswith(f"--model specifies '{name}', which cannot be used: ")
    assert f"DB uses '{MINILM}' (384 dim)" in told
    assert "reindex" not in told


def test_another_width(bound: Store, tmp_path: Path) -> None:
    file = seeded.tiny(tmp_path / "tiny.gguf", hidden=64)
    assert f"DB uses '{MINILM}' (384 dim) but --model specifies '{file}' (64 dim)" in refused(bound, str(file))


def test_the_same_name_with_other_bytes(store: Store, settings: Settings, tmp_path: Path) -> None:
    file = seeded.tiny(tmp_path / "tiny.gguf")
    with store.writing() as db:
        binding.check(db, binding.embedder(store, settings, str(file)))
    before = read(store)
    seeded.tiny(file, seed=8)
    after = choose(name=file).digest
    assert refused(store) == (
        f"Model mismatch: DB uses '{file}' ({before.dims} dim, sha256 {before.digest[:12]}) but the '{file}' here is "
        f"another file ({before.dims} dim, sha256 {after[:12]}). Run bankml reindex --model {file} to switch models."
    )
    assert "but --model specifies another (" in refused(store, str(file))


@pytest.mark.parametrize("name", [None, "minilm"])
def test_the_same_name_that_is_not_here(bound: Store, settings: Settings, name: str | None) -> None:
    """Then words alone can be searched; an alias is no other model."""
    (settings.models / "all-minilm-l6-v2-f16.gguf").unlink()
    with pytest.raises(UnavailableError, match="bankml pull all-minilm-l6-v2"):
        binding.embedder(bound, settings, name)


def test_another_recipe_is_no_mismatch(bound: Store, settings: Settings) -> None:
    """Its vectors are left out and counted, by their own fingerprints."""
    before = read(bound)
    configure(bound, "query_prefix: 'find: '")
    ours = binding.embedder(bound, settings)
    assert ours.query_prefix == "find: "
    assert fingerprint(ours) != before.fingerprint
    with bound.writing() as db:
        binding.check(db, ours)
    assert read(bound) == before


def test_reindex_is_exempt(bound: Store, settings: Settings) -> None:
    configure(bound, "model: e5-small\nquery_prefix: 'find: '")
    ours = binding.unchecked(bound, settings)
    assert (ours.reference, ours.query_prefix, ours.document_prefix) == ("multilingual-e5-small", "find: ", "passage: ")


def written(store: Store, ours: Embedder) -> None:
    """As a command that writes something before it checks."""
    with store.writing() as db:
        config.put(db, "written", "before the check")
        binding.check(db, ours)


def test_a_store_that_was_bound_meanwhile_takes_no_other(store: Store, settings: Settings) -> None:
    """Both chose while it was new."""
    minilm, e5 = binding.embedder(store, settings), binding.embedder(store, settings, "e5")
    with store.writing() as db:
        binding.check(db, e5)
    before = state(store)
    with pytest.raises(MismatchError, match=f"uses 'multilingual-e5-small' .* specifies '{MINILM}'"):
        written(store, minilm)
    assert state(store) == before


RACE = """
import sys
from pathlib import Path
from bankml.errors import MismatchError
from bankml.library.model import binding
from bankml.settings import Settings
from bankml.store import Store
store = Store.open(Path(sys.argv[1]))
ours = binding.embedder(store, Settings.read(), sys.argv[2])
print("ready", flush=True)
sys.stdin.read()
try:
    with store.writing() as db:
        binding.check(db, ours)
    print(ours.reference)
except MismatchError:
    print("refused")
"""


def test_of_two_processes_exactly_one_binds(store: Store) -> None:
    models = ("minilm", "e5")
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, str(store.path), model],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for model in models
    ]
    for racer in racers:
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        racer.stdin.close()
    said = sorted(racer.stdout.read().strip() for racer in racers)
    assert [racer.wait(60) for racer in racers] == [0, 0]
    assert "refused" in said
    assert read(store).model_name in said


def test_a_name_alone_is_a_promise(store: Store, settings: Settings) -> None:
    """Of a store that was made offline: its model binds it once it is there, another one does not."""
    with store.writing() as db:
        binding.promise(db, MINILM, Wanted(MINILM, "default"))
    assert read(store) is None
    assert "DB uses 'all-MiniLM-L6-v2' but --model specifies 'e5' (384 dim)" in refused(store, "e5")
    with pytest.raises(MismatchError), store.writing() as db:
        binding.check(db, choose(name="e5"))
    with pytest.raises(MismatchError), store.writing() as db:
        binding.promise(db, "bge-m3", Wanted("bge-m3", "--model"))
    with store.writing() as db:
        binding.check(db, binding.embedder(store, settings))
    assert read(store).model_name == MINILM


def test_a_config_that_cannot_be_read_stops_it(bound: Store, settings: Settings) -> None:
    configure(bound, "modell: x")
    with pytest.raises(StoreError, match="'modell' is no setting"):
        binding.embedder(bound, settings, MINILM)


@pytest.mark.parametrize(
    "lost", [["digest"], ["embedding_dim"], ["model_name", "embedding_dim", "digest", "fingerprint"]]
)
def test_a_record_that_lost_something_costs_no_vectors(bound: Store, lost: list[str]) -> None:
    """It reads as that of a store which is not bound yet, whose table of vectors is made anew for the first model."""
    ours = choose(name="minilm")
    with bound.writing() as db:
        vectors.insert(db, [a_chunk(db)], fingerprint(ours), np.eye(1, 384, dtype=np.float32))
        for key in lost:
            config.put(db, key, None)
    with bound.writing() as db, pytest.raises(StoreError, match=r"record of the model is lost or damaged.*reindex"):
        binding.check(db, ours)
    with bound.reading() as db:
        assert db.execute("SELECT count(*) FROM chunks_vec").fetchone() == (1,)
    reindex(bound, ours)
    with bound.writing() as db:
        binding.check(db, ours)


def a_chunk(db: sqlite3.Connection) -> int:
    """The id of the one chunk of a document that is put into it."""
    row = DocumentRow(b"a", "text", "", "0" * 64, 1, 0, "1")
    ((chunk_id, _),) = documents.replace(db, row, [Passage("text", "", 0, 4, 1, None, 3)]).added
    return chunk_id


def test_a_path_that_no_text_can_hold(store: Store, tmp_path: Path) -> None:
    file = seeded.tiny(tmp_path / "tiny.gguf")
    odd = file.rename(tmp_path / "t\udcffiny.gguf")
    with pytest.raises(UnavailableError, match="not UTF-8"), store.writing() as db:
        binding.check(db, choose(name=odd))
    assert read(store) is None


def test_prefixes_that_stand_in_for_the_familys(store: Store, settings: Settings) -> None:
    configure(store, "model: e5\ndocument_prefix: ''")
    ours = binding.embedder(store, settings)
    assert (ours.document_prefix, ours.query_prefix) == ("", "query: ")
    assert fingerprint(ours) == fingerprint(choose(name="e5", prefixes=Override(document="")))


def test_the_query_prefix_is_applied_to_queries_only(bound: Store, settings: Settings, encoder: Encoder) -> None:
    configure(bound, "query_prefix: 'Represent this: '")
    ours = binding.embedder(bound, settings)
    text = "how fast is it"
    plain, prefixed = encoder.encode([text, f"Represent this: {text}"])
    assert np.abs(plain - prefixed).max() > 0.01
    assert np.abs(ours.embed([text])[0] - plain).max() < 1e-6
    assert np.abs(ours.embed([text], query=True)[0] - prefixed).max() < 1e-6
    ours.close()
