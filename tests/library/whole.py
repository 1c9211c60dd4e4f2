"""Whether a store is whole: what must be true of it at every moment, whoever was killed while writing it."""

from bankml.store import Store


def faults(store: Store) -> list[str]:
    """What is wrong with it; nothing of one that is whole."""
    with store.reading() as db:
        found = [f"integrity: {row}" for row in db.execute("PRAGMA integrity_check") if row != ("ok",)]
        found += [f"foreign key: {row}" for row in db.execute("PRAGMA foreign_key_check")]
        chunks = {row[0] for row in db.execute("SELECT id FROM chunks")}
        words = {row[0] for row in db.execute("SELECT rowid FROM chunks_fts")}
        vectors = {row[0] for row in db.execute("SELECT chunk_id FROM chunks_vec")}
        found += [f"no words: {chunks - words}"] if chunks - words else []
        found += [f"words of no chunk: {words - chunks}"] if words - chunks else []
        found += [f"vectors of no chunk: {vectors - chunks}"] if vectors - chunks else []
        gaps = db.execute(
            "SELECT document_id FROM chunks GROUP BY document_id HAVING min(seq) <> 0 OR max(seq) <> count(*) - 1"
        )
        return found + [f"a gap in document {row[0]}" for row in gaps]


def texts(store: Store) -> dict[bytes, list[str]]:
    """The chunks of each document, in order, by the document's path."""
    with store.reading() as db:
        found: dict[bytes, list[str]] = {path: [] for (path,) in db.execute("SELECT path FROM documents")}
        for path, text in db.execute(
            "SELECT d.path, c.text FROM chunks c JOIN documents d ON d.id = c.document_id ORDER BY d.path, c.seq"
        ):
            found[path].append(text)
        return found


def count(store: Store, table: str) -> int:
    """Rows of a table."""
    with store.reading() as db:
        return int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
