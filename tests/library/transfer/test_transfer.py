"""What is exported comes back to the bit; what is torn or hostile changes nothing."""

import io
import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bankml.errors import InputError, MismatchError
from bankml.library.transfer.exporting import Moved, export
from bankml.library.transfer.importing import Imported, restore
from bankml.library.transfer.incoming import GAPS, SPARE, whole
from bankml.store import Bound, DocumentRow, Passage, Store, config, documents, vectors
from tests.library.whole import count, faults, texts

BOUND = Bound("a-model", 4, "ab" * 32, "0123456789abcdef")
OLDER = "f" * 16


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The export of a store with odd paths and texts, gaps in its ids, and vectors of two recipes."""
    with Store.create(tmp_path_factory.mktemp("from") / "kb.db") as store:
        fill(store)
        return b"".join(export(store, Moved()))


@pytest.fixture
def new(tmp_path: Path) -> Callable[[], Store]:
    """Another empty store."""
    numbers = iter(range(10_000))
    return lambda: Store.create(tmp_path / f"{next(numbers)}.db")


def fill(store: Store) -> None:
    with store.writing() as db:
        BOUND.write(db)
        vectors.create(db, BOUND.dims)
        for number, path in enumerate((b"/a.md", b"/gone.md", b"/\xff\n.txt", "/ü b.txt".encode(), b"stdin")):
            row = DocumentRow(path, "text", f"Title {number} \u2028", f"{number:064x}", number, -number, "recipe 1")
            passages = [Passage(f"Text {number}.{part}\0\n", "A > B" if part else "", part, part + 9, part + 1, None, 5)
                        for part in range(number)]  # fmt: skip
            ids = [id for id, _ in documents.replace(db, row, passages).added]
            rows = np.random.default_rng(number).standard_normal((len(ids), 4)).astype(np.float32)
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
            vectors.insert(db, ids[1:], OLDER if number == 3 else BOUND.fingerprint, rows[1:])
        found = documents.find(db, b"/gone.md")
        assert found
        documents.remove(db, [found[0]])


def put(store: Store, content: bytes, **options: bool) -> Imported:
    with whole(io.BytesIO(content), "kb.jsonl", **options) as found:
        return restore(store, found)


def state(store: Store) -> list[list[tuple]]:
    """All that an export holds, and the words."""
    queries = (
        "SELECT * FROM documents ORDER BY id",
        "SELECT * FROM chunks ORDER BY id",
        "SELECT * FROM chunks_vec ORDER BY chunk_id",
        "SELECT rowid, * FROM chunks_fts ORDER BY rowid",
    )
    with store.reading() as db:
        return [list(db.execute(query)) for query in queries]


def test_a_new_store_becomes_the_same_to_the_bit(tmp_path, new, lines):
    with Store.create(tmp_path / "from.db") as first, new() as second:
        fill(first)
        moved = put(second, b"".join(export(first, Moved())))
        assert (moved.documents, moved.chunks, moved.vectors) == (4, 9, 6)
        assert state(second) == state(first)
        with second.reading() as db:
            assert Bound.read(db) == BOUND
        assert b"".join(export(second, Moved())) == b"".join(export(first, Moved()))
        assert faults(second) == []


def test_every_line_is_json_that_says_what_it_is(lines):
    found = [json.loads(line) for line in lines.splitlines()]
    assert found[0]["bankml"] == "knowledge base"
    assert found[0]["model"] == {"name": "a-model", "dims": 4, "digest": "ab" * 32, "fingerprint": BOUND.fingerprint}
    assert [next(iter(one)) for one in found[1:4]] == ["document", "document", "chunk"]
    assert found[-1] == {"end": {"documents": 4, "chunks": 9}}


def test_without_vectors_there_is_no_model_either(new, lines):
    with new() as store, new() as second:
        put(store, lines, with_vectors=False)
        assert count(store, "chunks") == 9
        assert count(store, "chunks_vec") == 0
        bare = b"".join(export(store, Moved(), vectors=False))
        assert b"vector" not in bare
        put(second, bare)
        with second.reading() as db:
            assert Bound.read(db) is None


def test_a_store_with_documents_keeps_its_own_and_takes_those_of_the_file(new, lines):
    with new() as store:
        with store.writing() as db:
            for path in (b"/mine.md", b"/a.md"):
                row = DocumentRow(path, "text", "", "0" * 64, 1, 1, "r")
                documents.replace(db, row, [Passage("Mine.", "", 0, 5, 1, None, 3)])
        put(store, lines)
        put(store, lines)  # twice is once
        assert set(texts(store)) == {b"/mine.md", b"/a.md", b"/\xff\n.txt", "/ü b.txt".encode(), b"stdin"}
        assert texts(store)[b"/a.md"] == []
        assert texts(store)[b"/mine.md"] == ["Mine."]
        assert count(store, "chunks_vec") == 6
        assert faults(store) == []


@pytest.mark.parametrize("bound", [Bound("other", 4, "cd" * 32, "1" * 16), None], ids=["bound", "named only"])
def test_a_store_of_another_model_is_a_mismatch(new, lines, bound):
    with new() as store:
        with store.writing() as db:
            bound.write(db) if bound else config.put(db, "model_name", "other")
        before = state(store)
        with pytest.raises(MismatchError, match=r"DB uses 'other'.*'a-model' \(4 dim\).*--no-vectors"):
            put(store, lines)
        assert state(store) == before
        put(store, lines, with_vectors=False)


def test_a_torn_file_changes_nothing(new, lines):
    each = lines.splitlines(keepends=True)
    with new() as store:
        before = state(store)
        for number in range(len(each)):
            with pytest.raises(InputError, match=r"kb\.jsonl, line \d+: .*; nothing was imported"):
                put(store, b"".join(each[:number]))
        for cut in random.Random(0).sample(range(len(lines) - 1), 60):
            with pytest.raises(InputError):
                put(store, lines[:cut])
        assert state(store) == before
        put(store, lines)  # and all ids are free still
        assert count(store, "documents") == 4


def test_lines_that_are_missing_or_double_are_told(new, lines):
    each = lines.splitlines(keepends=True)
    with new() as store:
        for number in range(1, len(each)):
            for wrong in (each[:number] + each[number + 1 :], [*each[:number], each[number], *each[number:]]):
                with pytest.raises(InputError, match="line"):
                    put(store, b"".join(wrong))
        assert count(store, "documents") == 0


CHUNK = {"id": 1, "text": "t", "heading": "", "start": 0, "end": 1, "line": 1, "page": None, "tokens": 3}
HEADER = {
    "bankml": "knowledge base",
    "version": 1,
    "model": {"name": "m", "dims": 4, "digest": "ab" * 32, "fingerprint": "0" * 16},
}
DOCUMENT = {
    "id": 1, "type": "text", "title": "", "sha256": "0" * 64, "size": 1, "modified": 1, "recipe": "", "added_at": 1,
    "path": "/a",
}  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"id": 0}, "id"),
        ({"id": 2**63}, "id"),
        ({"id": "1"}, "id"),
        ({"text": None}, "text"),
        ({"start": 5}, "before it starts"),
        ({"line": 0}, "line"),
        ({"tokens": -1}, "tokens"),
        ({"vector": "AAAA"}, "3 bytes"),
        ({"vector": "****"}, "base64"),
        ({"vector": "AAAAAAAAAAAAAAAAAAAAAA=="}, "length is 0"),
        ({"vector": "AADAfwAAwH8AAMB/AADAfw=="}, "length is nan"),
        ({"vector": 1}, "vector"),
        ({"vector": "AACAPwAAAAAAAAAAAAAAAA==", "fingerprint": "x"}, "fingerprint"),
    ],
)
def test_a_hostile_chunk_is_a_sentence_with_its_line(new, wrong, said):
    objects = [HEADER, {"document": DOCUMENT}, {"chunk": CHUNK | wrong}, {"end": {"documents": 1, "chunks": 1}}]
    content = b"".join(json.dumps(one).encode() + b"\n" for one in objects)
    with new() as store, pytest.raises(InputError, match=rf"kb\.jsonl, line 3: .*{said}"):
        put(store, content)


@pytest.mark.parametrize(
    ("objects", "said"),
    [
        ([{"bankml": "knowledge base", "version": 3}], "line 1: this is version 3"),
        ([{"hello": 1}], "line 1: this is no exported"),
        ([{"chunk": CHUNK}], "line 1: this is no exported"),
        ([HEADER, {"chunk": CHUNK}], "line 2: it is a chunk"),
        ([HEADER, HEADER], "line 2: it is no document"),
        ([HEADER, {"document": DOCUMENT}, {"document": DOCUMENT}], "line 3: a document of this path"),
        ([HEADER, {"document": DOCUMENT}, {"document": DOCUMENT | {"path": "/b"}}], "line 3: the id 1"),
        ([HEADER, {"document": DOCUMENT | {"path": ""}}], "line 2: a document needs a path"),
        ([HEADER, {"document": DOCUMENT | {"path": "/a\0"}}], "line 2: a document needs a path"),
        ([HEADER, {"end": {"documents": 0, "chunks": 0}}, {"document": DOCUMENT}], "line 3: there is more"),
        ([HEADER, {"end": {"documents": 1, "chunks": 0}}], "line 2: it says 1 documents"),
    ],
)
def test_a_hostile_file_is_a_sentence_with_its_line(new, objects, said):
    with new() as store, pytest.raises(InputError, match=said):
        put(store, b"".join(json.dumps(one).encode() + b"\n" for one in objects))


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_bytes_are_a_sentence_or_a_whole_store(store, lines, data):
    start = data.draw(st.integers(0, len(lines)))
    end = data.draw(st.integers(start, min(len(lines), start + 40)))
    content = lines[:start] + data.draw(st.binary(max_size=20)) + lines[end:]
    before = count(store, "documents")
    said = None
    try:
        put(store, content)
    except (InputError, MismatchError) as error:
        said = str(error)
    assert said is None or ("\n" not in said and count(store, "documents") == before)
    assert faults(store) == []


def numbered(chunk: int, document: int) -> bytes:
    """The lines of a document with two chunks, the second of which has this id."""
    objects = [
        HEADER,
        {"document": DOCUMENT | {"id": document}},
        {"chunk": CHUNK},
        {"chunk": CHUNK | {"id": chunk}},
        {"end": {"documents": 1, "chunks": 2}},
    ]
    return b"".join(json.dumps(one).encode() + b"\n" for one in objects)


@pytest.mark.parametrize(
    ("chunk", "document", "kept"),
    [
        (2 * GAPS + SPARE, 1, True),
        (2, GAPS + SPARE, True),
        (2 * GAPS + SPARE + 1, 1, False),
        (2, GAPS + SPARE + 1, False),
        (2**53, 2**53, False),
    ],
)
def test_ids_that_no_store_can_have_given_are_not_kept(new, chunk, document, kept):
    """A search sets aside room for the largest."""
    with new() as store:
        assert put(store, numbered(chunk, document)).renumbered is not kept
        with store.reading() as db:
            ids = [id for (id,) in db.execute("SELECT id FROM chunks ORDER BY id")]
            assert ids == ([1, chunk] if kept else [1, 2])
            assert db.execute("SELECT id FROM documents").fetchall() == [(document if kept else 1,)]
        assert faults(store) == []
        assert not put(store, numbered(2**53, 1)).renumbered  # nothing is kept where documents are already


def test_a_line_without_end_is_not_held(new):
    with new() as store, pytest.raises(InputError, match="line 2: it is longer than 64 MiB"):
        put(store, json.dumps(HEADER).encode() + b"\n" + bytes(65 << 20))


def test_an_export_is_of_one_moment(tmp_path):
    with Store.create(tmp_path / "kb.db") as store:
        fill(store)
        running = export(store, Moved())
        content = next(running)
        with store.writing() as db:
            documents.remove(db, [id for (id,) in db.execute("SELECT id FROM documents")])
        content += b"".join(running)
        assert json.loads(content.splitlines()[-1]) == {"end": {"documents": 4, "chunks": 9}}
        assert count(store, "documents") == 0


def test_paths_that_are_no_text_are_base64(lines):
    found = [json.loads(line)["document"] for line in lines.splitlines() if b'"document"' in line]
    assert [os.fsdecode(one.get("path", one.get("path_base64"))) for one in found] == [
        "/a.md",
        "L/8KLnR4dA==",
        "/ü b.txt",
        "stdin",
    ]
