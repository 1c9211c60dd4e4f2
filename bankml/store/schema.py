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
    (
        "records, assertions, feedback, peers",
        (
            # What an agent knows. Its passages are those of a document of its own, of the type `record`.
            # Times are microseconds since 1970, UTC; lists and provenance are JSON.
            """CREATE TABLE records (
                id TEXT PRIMARY KEY,
                document_id INTEGER NOT NULL UNIQUE REFERENCES documents (id) ON DELETE CASCADE,
                title TEXT NOT NULL,
                content TEXT NOT NULL,
                reasoning TEXT NOT NULL,
                category TEXT NOT NULL,
                tags TEXT NOT NULL,
                confidence REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),
                status TEXT NOT NULL,
                freshness TEXT NOT NULL,
                namespace TEXT NOT NULL,
                session TEXT NOT NULL,
                root BLOB NOT NULL,
                provenance TEXT NOT NULL,
                superseded_by TEXT REFERENCES records (id) ON DELETE SET NULL,
                created_at INTEGER NOT NULL,
                updated_at INTEGER NOT NULL
            ) WITHOUT ROWID""",
            # By it a record that is there already is found among 100,000 in microseconds.
            "CREATE INDEX documents_content ON documents (sha256)",
            # What may be found is told by it alone: a row holds the content, and 10,000 of them are read in 0.3 s.
            "CREATE INDEX records_kept ON records (status, namespace, category, session, document_id)",
            "CREATE INDEX records_successor ON records (superseded_by)",
            # A file that a record depends on, relative to the record's root, as it was when the record was written or
            # confirmed; sha256 is '' where it could not be read. name: of the file alone, casefolded.
            """CREATE TABLE cited (
                record_id TEXT NOT NULL REFERENCES records (id) ON DELETE CASCADE,
                seq INTEGER NOT NULL,
                path BLOB NOT NULL,
                name TEXT NOT NULL,
                sha256 TEXT NOT NULL,
                size INTEGER NOT NULL,
                modified INTEGER NOT NULL,
                PRIMARY KEY (record_id, seq)
            ) WITHOUT ROWID""",
            "CREATE INDEX cited_name ON cited (name)",
            """CREATE TABLE assertions (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                record_id TEXT NOT NULL REFERENCES records (id) ON DELETE CASCADE,
                valid_from INTEGER NOT NULL,
                valid_to INTEGER,
                recorded_at INTEGER NOT NULL,
                confidence REAL NOT NULL,
                content TEXT NOT NULL,
                provenance TEXT NOT NULL
            )""",
            "CREATE INDEX assertions_record ON assertions (record_id, recorded_at)",
            # What held at a time is told by it alone.
            "CREATE INDEX assertions_valid ON assertions (valid_from, valid_to, record_id)",
            # What was asserted stays as it was; an open end may be closed, once.
            """CREATE TRIGGER assertions_kept BEFORE UPDATE ON assertions
            WHEN old.record_id IS NOT new.record_id OR old.content IS NOT new.content
                OR old.confidence IS NOT new.confidence OR old.valid_from IS NOT new.valid_from
                OR old.recorded_at IS NOT new.recorded_at OR old.provenance IS NOT new.provenance
                OR old.valid_to IS NOT NULL
            BEGIN
                SELECT raise (ABORT, 'an assertion is never overwritten');
            END""",
            """CREATE TABLE feedback (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                record_id TEXT NOT NULL REFERENCES records (id) ON DELETE CASCADE,
                verdict TEXT NOT NULL,
                note TEXT NOT NULL,
                provenance TEXT NOT NULL,
                recorded_at INTEGER NOT NULL
            )""",
            "CREATE INDEX feedback_record ON feedback (record_id)",
            # The stores of linked repositories, by the bytes of their paths.
            """CREATE TABLE peers (
                path BLOB PRIMARY KEY,
                name TEXT NOT NULL,
                store_id TEXT NOT NULL,
                added_at INTEGER NOT NULL
            ) WITHOUT ROWID""",
        ),
    ),
)

VERSION = len(MIGRATIONS)
