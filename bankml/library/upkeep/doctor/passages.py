"""Documents and their chunks: what belongs to what, and whether words find it."""

import sqlite3
from collections.abc import Iterator

from bankml.cache import key
from bankml.errors import StoreError
from bankml.library.upkeep.doctor.file import REPAIR, RESTORE
from bankml.library.upkeep.doctor.finding import Finding, ill, well
from bankml.store import Store, words
from bankml.store.connection import writable
from bankml.store.passage import embedded
from bankml.store.schema import MIGRATIONS
from bankml.terms import tokens

VECTORS = ("chunks_vec", "chunks_vec_next", "chunks_vec_old")


class _LookedError(Exception):
    """Undoes a transaction in which there was nothing to do."""


def references(store: Store) -> Finding:
    """Whether every vector has its chunk, and every chunk its document."""
    with store.reading() as db:
        rows = db.execute("PRAGMA foreign_key_check").fetchall()
    wrong = [f"{table} {'' if row is None else row} has no {parent[:-1]}" for table, row, parent, _ in rows]
    if not wrong:
        return well("references", "every vector has its chunk, every chunk its document")
    if any(table == "chunks" for table, *_ in rows):
        return ill("references", wrong, "chunks have no document", RESTORE, _without_orphans)
    if not all(table.startswith("chunks_vec") for table, *_ in rows):
        return ill("references", wrong, "parts of records have no record", RESTORE, _without_orphans)
    return ill("references", wrong, "vectors have no chunk", REPAIR, _without_orphans)


def texts(store: Store) -> Finding:
    """Whether what is embedded of each chunk is what its key was made of."""
    with store.reading() as db:
        count, wrong = 0, []
        for chunk_id, recorded, text, _ in _passages(db):
            count += 1
            if key(text) != recorded:
                wrong.append(f"chunk {chunk_id}")
    if wrong:
        return ill(
            "texts", wrong, "texts are not what they were", "`bankml add` their files once more, changed by a touch"
        )
    return well("texts", f"{count:,} chunks have the text that they were made with")


def fts(store: Store) -> Finding:
    """FTS5's own look at its index, and whether it holds the words of every chunk and of nothing else."""
    wrong = _fts5_says(store) if writable(store.path) else []
    count = 0
    if not wrong:
        with store.reading() as db:
            for chunk_id, _, text, kept in _passages(db, "chunks_fts_content.c0"):
                count += 1
                if kept != " ".join(tokens(text)):
                    wrong.append(f"chunk {chunk_id}")
            strays = db.execute("SELECT id FROM chunks_fts_content WHERE id NOT IN (SELECT id FROM chunks)")
            wrong += [f"words of chunk {chunk_id}, which is gone" for (chunk_id,) in strays]
    if wrong:
        return ill("words", wrong, "words do not find what they should", REPAIR, _words_made_anew)
    return well("words", f"the words of {count:,} chunks are there")


def _passages(db: sqlite3.Connection, more: str = "NULL") -> Iterator[tuple[int, str, str, object]]:
    """Id, key and what is embedded of each chunk, and one more column."""
    rows = db.execute(
        f"""SELECT chunks.id, key, text, heading, {more}
        FROM chunks LEFT JOIN chunks_fts_content ON chunks_fts_content.id = chunks.id"""
    )
    for chunk_id, recorded, text, heading, other in rows:
        yield chunk_id, recorded, embedded(heading, text), other


def _fts5_says(store: Store) -> list[str]:
    """Its check is a command that is inserted: it takes the turn of a writer, and is undone. Raises BusyError."""
    try:
        with Store.open(store.path) as own, own.writing() as db:
            db.execute("INSERT INTO chunks_fts (chunks_fts) VALUES ('integrity-check')")
            raise _LookedError
    except _LookedError:
        return []
    except StoreError as error:
        return [str(error.__cause__ or error)]


def _without_orphans(store: Store) -> str:
    with store.writing() as db:
        here = {name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE name LIKE 'chunks_vec%'")}
        for table in here.intersection(VECTORS):
            db.execute(f"DELETE FROM {table} WHERE chunk_id NOT IN (SELECT id FROM chunks)")
    return "vectors without a chunk were removed"


def _words_made_anew(store: Store) -> str:
    (statement,) = (s for _, statements in MIGRATIONS for s in statements if "CREATE VIRTUAL TABLE chunks_fts" in s)
    with store.writing() as db:
        db.execute("DROP TABLE chunks_fts")
        db.execute(statement)
        for chunk_id, _, text, _ in list(_passages(db)):
            words.insert(db, chunk_id, text)
    return "words were taken anew from all chunks"
