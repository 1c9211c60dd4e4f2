"""What stands around a passage: the file's own text while that is what was added, else what the store kept."""

import os
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankml.library.search import source as sources
from bankml.library.search.source import Source, source
from bankml.store import DocumentRow, Passage, Store, documents

TEXT = "# Sky\n\nIt is blue.\n\n    indented\n\n## Sea\n\nIt is blue too, 😀.\n"


@pytest.fixture
def store(tmp_path):
    with Store.create(tmp_path / "kb.db") as store:
        yield store


def parts(text: str, spans: list[tuple[int, int]], lines: bool = True) -> list[Passage]:
    """Passages of a text."""
    return [
        Passage(text[a:b], "Sky", a, b, text.count("\n", 0, a) + 1 if lines else None, None if lines else 3, 9)
        for a, b in spans
    ]


def added(store: Store, path: bytes, content: bytes, passages: list[Passage]) -> list[int]:
    """The ids of the passages of a document that was added."""
    row = DocumentRow(path, "markdown", "Sky", sha256(content).hexdigest(), len(content), 0, "")
    with store.writing() as db:
        return [chunk_id for chunk_id, _ in documents.replace(db, row, passages).added]


def passage(found: Source) -> str:
    return found.text[found.start : found.end]


@pytest.fixture
def file(store, tmp_path) -> tuple[Path, list[int]]:
    """A file in the store, with the ids of its passages."""
    path = tmp_path / "sky.md"
    path.write_text(TEXT)
    spans = [(0, 18), (24, 32), (34, len(TEXT) - 1)]
    return path, added(store, os.fsencode(path), path.read_bytes(), parts(TEXT, spans))


def test_the_file_is_shown_while_it_is_what_was_added(store, file):
    path, ids = file
    found = source(store, ids[1])
    assert (found.text, found.first_line, found.note) == (TEXT, 1, "")
    assert (passage(found), found.line, found.heading) == ("indented", 5, "Sky")
    assert (found.path, found.id) == (os.fsencode(path), ids[1])


@pytest.mark.parametrize(
    ("change", "note"),
    [
        (lambda path: path.write_text(TEXT + "more"), sources.CHANGED),
        (lambda path: path.write_text(TEXT.replace("blue", "grey")), sources.CHANGED),
        (lambda path: path.unlink(), sources.GONE),
        (lambda path: (path.unlink(), path.mkdir()), sources.CHANGED),
        (lambda path: (path.unlink(), os.mkfifo(path)), sources.CHANGED),
        (lambda path: (path.unlink(), path.symlink_to("/etc/passwd")), sources.CHANGED),
        (lambda path: (path.unlink(), path.symlink_to(path)), sources.UNREADABLE),
    ],
)
def test_a_file_that_changed_shows_what_was_added_and_says_so(store, file, change, note):
    path, ids = file
    change(path)
    for chunk_id, text in zip(ids, ["# Sky\n\nIt is blue.", "indented", "## Sea\n\nIt is blue too, 😀."], strict=True):
        found = source(store, chunk_id)
        assert (found.note, passage(found), found.first_line) == (note, text, 1)
        before = found.text[: found.start].count("\n") + 1
        assert before == found.line  # the lines are those of the file
    assert found.text.split() == TEXT.split()


def test_a_large_file_is_not_read(store, tmp_path, monkeypatch):
    path = tmp_path / "large.md"
    path.write_text(TEXT)
    [chunk_id] = added(store, os.fsencode(path), path.read_bytes(), parts(TEXT, [(7, 18)]))
    monkeypatch.setattr(sources, "LARGEST", 10)
    monkeypatch.setattr(sources.regular_file, "read", lambda *_: pytest.fail("it was read"))
    found = source(store, chunk_id)
    assert (found.note, found.text, found.first_line) == (sources.LARGE, "It is blue.", 3)


@pytest.mark.parametrize("name", [b"note", b"../../etc/passwd", b"etc/passwd", b"-"])
def test_a_name_is_never_a_path(store, name, monkeypatch):
    monkeypatch.setattr(sources.regular_file, "read", lambda *_: pytest.fail("it was read"))
    [chunk_id] = added(store, name, b"what was sent", [Passage("what was sent", "", 0, 13, None, None, 3)])
    found = source(store, chunk_id)
    assert (found.text, found.note, found.first_line) == ("what was sent", "", None)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_a_file_in_another_encoding(store, tmp_path, encoding):
    text = "one\n\ndéjà vu\n"
    (tmp_path / "a.txt").write_bytes(text.encode(encoding))
    path = os.fsencode(tmp_path / "a.txt")
    [chunk_id] = added(store, path, text.encode(encoding), parts(text, [(5, 12)]))
    found = source(store, chunk_id)
    assert (found.text, passage(found), found.line, found.note) == (text, "déjà vu", 3, "")


def test_text_that_is_not_the_files_own_comes_from_the_store(store, tmp_path):
    """As of a PDF: what was taken out of it has pages, not lines."""
    path = tmp_path / "a.pdf"
    path.write_bytes(b"%PDF-1.4 \xff\xfe")
    ids = added(store, os.fsencode(path), path.read_bytes(), parts(TEXT, [(0, 18), (24, 32)], lines=False))
    found = source(store, ids[1])
    assert (found.text, passage(found)) == ("# Sky\n\nIt is blue.\n\nindented", "indented")
    assert (found.first_line, found.line, found.page, found.note) == (None, None, 3, "")


def test_a_passage_that_is_not_there(store):
    assert source(store, 1) is None
    assert source(store, -1) is None
    assert source(store, 2**70) is None


def test_of_a_long_document_some_passages_are_read(store):
    text = "".join(f"line {number}\n" for number in range(1000))
    spans = [(at, at + 9) for at in range(0, 9000, 9)]
    ids = added(store, b"long", text.encode(), parts(text, spans))
    found = source(store, ids[500])
    assert passage(found) == text[slice(*spans[500])]
    assert len(found.text) < 700
    assert found.first_line + found.text[: found.start].count("\n") == found.line


@given(
    st.text("ab \n", min_size=30, max_size=200), st.lists(st.integers(1, 20), min_size=1, max_size=9), st.integers(0, 5)
)
def test_passages_that_overlap_are_put_together_as_they_were(text, widths, overlap):
    spans, at = [], 0
    for width in widths:
        start = max(0, at - min(overlap, width - 1))
        spans.append((start, min(start + width, len(text))))
        at = spans[-1][1]
    chunks = [sources._Chunk(number, p.text, p.start, p.end, p.line) for number, p in enumerate(parts(text, spans))]
    for chunk in chunks:
        whole, start, first = sources._kept(chunks, chunk)
        assert whole == text[: spans[-1][1]]
        assert (start, first) == (chunk.start, 1)
