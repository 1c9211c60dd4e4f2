"""The tables, as numbered migrations: each runs in one transaction with the row that records it.

A migration that was released is never edited; the next one changes what it left.
"""

LARGEST_ID = 2**63 - 1  # SQLite counts no further
APPLICATION_ID = 0x62616E6B  # "bank": tells our files from those of other programs

MIGRATIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "documents, passages, words, vectors",
        (
            "CREATE TABLE config (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
            # path: the bytes of an absolute path, or a name that does not begin with a slash. A path need not be UTF-8.
            """CREATE TABLE documents (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                path BLOB NOT NULL UNIQUE,
                type TEXT NOT NULL,
                title TEXT NOT NULL,
                sha256 TEXT NOT NULL,
                size INTEGER NOT NULL,
                modified INTEGER NOT NULL,
                recipe TEXT NOT NULL,
                added_at INTEGER NOT NULL
            )""",
            # AUTOINCREMENT: the id of a chunk that has gone is never another's.
            """CREATE TABLE chunks (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
                seq INTEGER NOT NULL,
                text TEXT NOT NULL,
                heading TEXT NOT NULL,
                start INTEGER NOT NULL,
                stop INTEGER NOT NULL,
                line INTEGER,
                page INTEGER,
                tokens INTEGER NOT NULL,
                key TEXT NOT NULL,
                UNIQUE (document_id, seq)
            )""",
            "CREATE INDEX chunks_key ON chunks (key)",
            # Terms are cut by bankml.terms and joined by spaces; "ascii" leaves every other character as it is.
            "CREATE VIRTUAL TABLE chunks_fts USING fts5 (terms, tokenize = 'ascii')",
            """CREATE TRIGGER chunks_deleted AFTER DELETE ON chunks BEGIN
                DELETE FROM chunks_fts WHERE rowid = old.id;
            END""",
            # Made anew with the width of the model's vectors when a model is bound. UNIQUE is an index by which 100,000
            # vectors are counted in milliseconds, and one that keeps to its table when that is renamed.
            """CREATE TABLE chunks_vec (
                chunk_id INTEGER PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE,
                fingerprint TEXT NOT NULL,
                vector BLOB NOT NULL CHECK (typeof (vector) = 'blob' AND length (vector) % 4 = 0),
                UNIQUE (fingerprint, chunk_id)
            )""",
            """INSERT INTO config VALUES
                ('store_id', lower (hex (randomblob (16)))), ('generation', '0'), ('epoch', '0')""",
        ),
    ),
)

VERSION = len(MIGRATIONS)
