"""Files become documents: once, whole, with the vectors of their text, whatever happens beside."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bankml import models
from bankml.documents.extract import extract
from bankml.documents.source import Source
from bankml.embedders import NativeEmbedder, choose
from bankml.encoder import Encoder
from bankml.errors import CancelledError, MismatchError, UnavailableError
from bankml.library.add import reading
from bankml.library.add.added import Added
from bankml.library.add.ingest import Ingest
from bankml.library.add.selection import Selection
from bankml.library.model.configuration import Configuration
from bankml.library.model.fingerprint import fingerprint
from bankml.models.prefixes import Override
from bankml.store import Bound, Store, documents
from oracle import seeded
from tests.library.whole import count, faults, texts

SUBJECTS = ("apples", "harbours", "clouds", "violins", "trains", "glaciers")
PARAGRAPHS = [
    f"Paragraph {number} is about {word}. " + f"It says much of {word} and of nothing else. " * 12
    for number, word in enumerate(SUBJECTS)
]


class Recording(NativeEmbedder):
    """The real embedder, which keeps what it was asked, and does something first."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.asked: list[str] = []
        self.first: Callable[[], None] = lambda: None

    def embed(self, texts, **options):
        first, self.first = self.first, lambda: None
        first()
        self.asked += texts
        return super().embed(texts, **options)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model of 512 positions."""
    return seeded.tiny(tmp_path_factory.mktemp("tiny") / "tiny.gguf")


@pytest.fixture
def embedder(tiny: Path) -> Recording:
    return Recording(models.choose(str(tiny)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the documents lie."""
    (tmp_path / "documents").mkdir()
    return tmp_path / "documents"


@pytest.fixture
def add(store: Store, folder: Path) -> Callable[..., Added]:
    """Adds the folder, or what is named."""

    def run(embedder: NativeEmbedder | None, *paths: Path, **options: Any) -> Added:
        selection = Selection([str(path) for path in paths or (folder,)], store.path)
        ingest = Ingest(store, embedder, Configuration.read(store.path), **options)
        return ingest.run(list(selection.sources()))

    return run


def write(path: Path, *paragraphs: str) -> Path:
    path.write_text("\n\n".join(paragraphs))
    return path


def stored(store: Store) -> dict[str, bytes]:
    """Vectors by the text of their chunk."""
    with store.reading() as db:
        rows = db.execute("SELECT c.heading, c.text, v.vector FROM chunks c JOIN chunks_vec v ON v.chunk_id = c.id")
        return {f"{heading}\n{text}" if heading else text: vector for heading, text, vector in rows}


def test_every_chunk_is_found_by_words_and_by_the_models_own_vector(store, folder, add, embedder, tiny):
    write(folder / "a.txt", *PARAGRAPHS)
    write(folder / "b.txt", "A short one.")
    done = add(embedder)
    assert (done.added, done.updated, done.unchanged, done.failed) == (2, 0, 0, [])
    assert done.chunks == done.embedded == count(store, "chunks") == count(store, "chunks_vec") > 2
    assert faults(store) == []
    with Encoder(tiny) as encoder:
        for text, vector in stored(store).items():
            np.testing.assert_allclose(np.frombuffer(vector, "<f4"), encoder.encode([text])[0], atol=1e-6)
        assert done.tokens == encoder.encode_full(list(stored(store))).tokens.sum()


def test_what_has_not_changed_is_passed_over(store, folder, add, embedder):
    write(folder / "a.txt", *PARAGRAPHS)
    add(embedder)
    before = embedder.asked[:]
    os.utime(folder / "a.txt", (1, 1))  # another time is no other text
    done = add(embedder)
    assert (done.added, done.updated, done.unchanged, done.chunks, done.embedded) == (0, 0, 1, 0, 0)
    assert embedder.asked == before


def test_an_edit_of_the_same_size_and_time_is_seen(store, folder, add, embedder):
    path = write(folder / "a.txt", "The answer is 41.")
    state = path.stat()
    add(embedder)
    write(path, "The answer is 42.")
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert path.stat().st_size == state.st_size
    assert add(embedder).updated == 1
    assert texts(store)[os.fsencode(path)] == ["The answer is 42."]


def test_only_changed_chunks_are_embedded_anew(store, folder, add, embedder):
    path = write(folder / "a.txt", *PARAGRAPHS)
    first = add(embedder)
    with store.reading() as db:
        ids = dict(db.execute("SELECT text, id FROM chunks"))
    write(path, *PARAGRAPHS[:-1], PARAGRAPHS[-1].replace("glaciers", "deserts"))
    embedder.asked.clear()
    done = add(embedder)
    assert done.updated == 1
    assert 0 < done.embedded == len(embedder.asked) < first.embedded
    assert done.reused == done.chunks - done.embedded
    assert not any("apples" in text for text in embedder.asked)
    with store.reading() as db:
        now = dict(db.execute("SELECT text, id FROM chunks"))
    assert all(now[text] == id for text, id in ids.items() if text in now)
    assert faults(store) == []


def test_a_text_in_two_files_is_embedded_once(store, folder, add, embedder):
    write(folder / "a.txt", *PARAGRAPHS)
    write(folder / "b.txt", *PARAGRAPHS)
    done = add(embedder)
    assert len(embedder.asked) == len(set(embedder.asked)) == done.embedded == done.chunks // 2
    write(folder / "later.txt", *PARAGRAPHS)
    assert (done := add(embedder)).embedded == 0
    assert done.reused == done.chunks == count(store, "chunks_vec") // 3
    assert len(set(stored(store).values())) == done.chunks


def test_a_text_that_was_embedded_by_another_recipe_is_embedded_anew(store, folder, add, embedder, tiny):
    """As when a prefix is changed in config.yaml: the vector that is there would be stored under the new recipe."""
    write(folder / "a.txt", "One text in two files.")
    add(embedder)
    copy = write(folder / "b.txt", "One text in two files.")
    other = choose(name=tiny, prefixes=Override(document="something else: "))
    assert add(other, copy).embedded == 1
    with store.reading() as db:
        rows = db.execute(
            """SELECT d.path, v.fingerprint, v.vector FROM documents d JOIN chunks c ON c.document_id = d.id
            JOIN chunks_vec v ON v.chunk_id = c.id ORDER BY d.path"""
        ).fetchall()
    for (_, recipe, vector), its in zip(rows, (embedder, other), strict=True):
        assert recipe == fingerprint(its)
        truth = its.embed(["One text in two files."])[0]
        np.testing.assert_allclose(np.frombuffer(vector, "<f4"), truth, atol=1e-6)
    assert rows[0][2] != rows[1][2]


def test_without_a_model_words_find_it_and_the_next_run_with_one_embeds(store, folder, add, embedder):
    write(folder / "a.txt", *PARAGRAPHS)
    done = add(None, why="no model is here")
    assert (done.added, done.embedded, done.status) == (1, 0, "no model is here")
    assert done.without_vector == done.chunks == count(store, "chunks_fts")
    done = add(embedder)
    assert count(store, "chunks_vec") == count(store, "chunks") == done.embedded
    before = texts(store)
    assert (
        add(None, why="gone").unchanged == 1
    )  # chunks that the model counted stay where only an estimate is to be had
    assert texts(store) == before


def test_chunks_that_lack_a_vector_get_one(store, folder, add, embedder):
    write(folder / "a.txt", *PARAGRAPHS)
    first = add(embedder)
    with store.writing() as db:
        db.execute("DELETE FROM chunks_vec WHERE chunk_id % 2 = 0")
    lost = first.chunks - count(store, "chunks_vec")
    done = add(embedder)
    assert (done.unchanged, done.updated, done.embedded) == (1, 0, lost)
    assert count(store, "chunks_vec") == first.chunks


def test_another_size_of_chunks_makes_them_anew(store, folder, add, embedder):
    write(folder / "a.txt", *PARAGRAPHS)
    before = add(embedder).chunks
    (store.path.parent / "config.yaml").write_text("chunk_tokens: 64\n")
    done = add(embedder)
    assert done.updated == 1
    assert done.chunks > before
    assert faults(store) == []


def test_a_broken_file_is_named_and_the_others_are_added(store, folder, add, embedder):
    write(folder / "a.txt", "Before.")
    (folder / "b.txt").write_bytes(bytes(range(256)) * 8)
    write(folder / "c.txt", "Behind.")
    done = add(embedder, folder, folder / "b.txt")
    assert done.added == 2
    assert [failed.path for failed in done.failed] == [str(folder / "b.txt")]
    assert done.failed[0].error


def test_what_was_stored_of_a_file_stays_when_it_breaks(store, folder, add, embedder):
    path = write(folder / "a.txt", "Good.")
    add(embedder)
    path.write_bytes(bytes(range(256)) * 8)
    assert len(add(embedder, path).failed) == 1
    assert texts(store) == {os.fsencode(path): ["Good."]}


def test_a_text_that_the_model_cannot_embed_costs_its_chunk(store, folder, add, overflowing, tmp_path):
    bad = overflowing(tmp_path / "bad.gguf", "overflow")
    write(folder / "a.txt", "A good text.")
    write(folder / "b.txt", "overflow is here")
    done = add(NativeEmbedder(models.choose(str(bad))))
    assert (done.added, done.failed, done.embedded, done.without_vector) == (2, [], 1, 1)
    assert "overflow" in done.status
    assert faults(store) == []
    assert add(NativeEmbedder(models.choose(str(bad)))).unchanged == 2


def test_where_the_model_goes_the_rest_is_found_by_words(store, folder, add, embedder):
    write(folder / "a.txt", *PARAGRAPHS)

    def gone() -> None:
        raise UnavailableError("its file is gone")

    embedder.first = gone
    done = add(embedder)
    assert (done.added, done.embedded, done.status) == (1, 0, "its file is gone")
    assert add(embedder).embedded == done.chunks


def test_what_another_process_stored_meanwhile_is_not_put_back(store, folder, add, embedder, tiny):
    path = write(folder / "a.txt", "The old text.")

    def other() -> None:
        write(path, "The new text.")
        assert add(NativeEmbedder(models.choose(str(tiny)))).added == 1

    embedder.first = other
    done = add(embedder)
    assert texts(store) == {os.fsencode(path): ["The new text."]}
    assert (done.added, done.updated, done.unchanged) == (0, 0, 1)


def test_a_store_that_is_switched_to_another_model_meanwhile_takes_no_vector(store, folder, add, embedder):
    write(folder / "a.txt", "One.")

    def switched() -> None:
        with store.writing() as db:
            Bound("other", 7, "0" * 64, "0" * 16).write(db)

    embedder.first = switched
    with pytest.raises(MismatchError, match="'other'"):
        add(embedder)
    assert count(store, "documents") == count(store, "chunks_vec") == 0


def test_what_is_done_stays_done_when_it_is_cut_short(store, folder, add, embedder):
    for number in range(40):
        write(folder / f"{number:02}.txt", *(text.replace(".", f" {number}.") for text in PARAGRAPHS))
    stop = threading.Event()
    with pytest.raises(CancelledError):
        add(embedder, progress=lambda added: stop.set() if added.added else None, cancelled=stop.is_set)
    assert 0 < (before := count(store, "documents")) < 40
    assert faults(store) == []
    assert count(store, "chunks") == count(store, "chunks_vec")
    done = add(embedder)
    assert (done.added, done.unchanged) == (40 - before, before)


def test_several_at_once_add_everything_once(store, folder, embedder, tiny):
    for number in range(60):
        write(folder / f"{number:02}.txt", f"Number {number}.", *PARAGRAPHS[:1])
    done: list[Added] = []

    def run() -> None:
        sources = list(Selection([str(folder)], store.path).sources())
        ours = NativeEmbedder(models.choose(str(tiny)))
        done.append(Ingest(store, ours, Configuration.read(store.path)).run(sources))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 4
    assert [len(one.failed) for one in done] == [0] * 4
    assert sum(one.added for one in done) == 60
    assert faults(store) == []
    assert count(store, "chunks") == count(store, "chunks_vec")


def test_standard_input_is_read_once(store, add, embedder):
    import io

    source = Source("notes", 0, 0, stream=io.BytesIO(b"From a pipe."))
    other = NativeEmbedder(embedder._choice)

    def meanwhile() -> None:
        same = Source("notes", 0, 0, stream=io.BytesIO(b"From another."))
        Ingest(store, other, Configuration.read(store.path)).run([same])

    embedder.first = meanwhile
    Ingest(store, embedder, Configuration.read(store.path)).run([source])
    assert texts(store) == {b"notes": ["From a pipe."]}


def test_vectors_carry_the_recipe_of_their_model(store, folder, add, embedder):
    write(folder / "a.txt", "One.")
    add(embedder)
    with store.reading() as db:
        assert db.execute("SELECT DISTINCT fingerprint FROM chunks_vec").fetchall() == [(fingerprint(embedder),)]
        found = documents.find(db, os.fsencode(folder / "a.txt"))
    assert found
    assert (found[1].size, found[1].type) == (4, "text")


@pytest.mark.parametrize("asked", [0, 1, 2, 7])
def test_a_large_document_that_nobody_waits_for_is_given_up_wherever_it_is(
    store, folder, add, embedder, asked, monkeypatch
):
    """Before its text is extracted, behind that, and whenever its passages are counted."""
    extracted = []
    monkeypatch.setattr(reading, "extract", lambda *given: extracted.append(given) or extract(*given))
    write(folder / "a.txt", *PARAGRAPHS * 400)
    times = iter(range(10**6))
    with pytest.raises(CancelledError):
        add(embedder, cancelled=lambda: next(times) >= asked)
    assert next(times) <= asked + 2  # the next time that it is asked it stops
    assert (len(extracted), embedder.asked, count(store, "documents")) == (asked > 0, [], 0)
