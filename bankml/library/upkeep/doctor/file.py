"""The file as a database: its pages, its tables, what it says of itself."""

import sqlite3

from bankml.library.upkeep.doctor.finding import Finding, ill, well
from bankml.store import Bound, Store, config, successor, vectors
from bankml.store.schema import MIGRATIONS, VERSION

RESTORE = (
    "copy the file as it is, then put a sound copy in its place, or `bankml add` the files to a new one; "
    "`bankml export` saves what can still be read of it"
)
REPAIR = "`bankml doctor --repair`"
INDEX = ("missing from index", "entries in index", "non-unique entry in index", "out of order")  # an index is derived
DERIVED = (
    *("chunks_key", "chunks_deleted", "records_kept", "records_successor"),
    *("cited_name", "assertions_record", "assertions_kept", "feedback_record"),
    *("documents_content", "assertions_valid"),
)
KEYS = ("store_id", "generation", "epoch", "schema_version")


def pages(store: Store) -> Finding:
    """SQLite's own look at every page, row and index."""
    with store.reading() as db:
        said = [row[0] for row in db.execute("PRAGMA integrity_check(100)")]
        (count,) = db.execute("PRAGMA page_count").fetchone()
    if said == ["ok"]:
        return well("pages", f"{count:,} pages are sound")
    derived = all(any(words in line for words in INDEX) for line in said)
    return ill("pages", said, "SQLite finds damage", REPAIR if derived else RESTORE, _reindexed if derived else None)


def tables(store: Store) -> Finding:
    """Whether every table, index and trigger is there, as a new store has them."""
    with store.reading() as db:
        here = _schema(db)
    lacking = sorted(name for name, sql in _new_schema().items() if here.get(name) != sql)
    if not lacking:
        return well("tables", f"{len(here)} tables, indexes and triggers are as they should be")
    made = [name for name in lacking if name in DERIVED and name not in here]
    if made == lacking:
        return ill("tables", lacking, "an index or a trigger is missing", REPAIR, _made_anew)
    return ill("tables", lacking, "a table is missing, or another than it should be", RESTORE)


def record(store: Store) -> Finding:
    """Whether the store's record of itself and of its migrations is whole."""
    with store.reading() as db:
        wrong = [f"{key} is missing" for key in KEYS if not config.get(db, key)]
        wrong += [f"{key} is {config.get(db, key)!r}" for key in KEYS[1:] if not _number(config.get(db, key))]
        wrong += _model_record(db)
        rows = db.execute("SELECT number, name FROM migrations ORDER BY number").fetchall()
        schema = config.get(db, "schema_version")
    if rows != [(number, name) for number, (name, _) in enumerate(MIGRATIONS, 1)]:
        wrong.append(f"the migrations are {rows}")
    if schema != str(VERSION):
        wrong.append(f"schema_version is {schema!r}, the migrations come to {VERSION}")
    if wrong:
        return ill("record", wrong, "what the store says of itself is not whole", RESTORE)
    return well("record", f"schema {VERSION}, all keys are there")


def unfinished(store: Store) -> Finding:
    """What reindexes have left."""
    with store.reading() as db:
        begun = successor.unfinished(db)
        strays = [vectors.REPLACED] if vectors.exists(db, vectors.REPLACED) else []
        strays += [successor.TABLE] if begun is None and vectors.exists(db, successor.TABLE) else []
    if strays:
        return ill("reindex", strays, "a table of an ended reindex takes room", REPAIR, _swept)
    if begun:
        remedy = f"`bankml reindex --model {begun.bound.model_name}` goes on, `bankml reindex --discard` gives it up"
        return ill("reindex", [f"{begun.chunks:,} new vectors"], "a reindex is not finished", remedy)
    return well("reindex", "none is unfinished")


def _reindexed(store: Store) -> str:
    with store.writing() as db:
        db.execute("REINDEX")
    return "indexes were made anew"


def _made_anew(store: Store) -> str:
    with store.writing() as db:
        here = _schema(db)
        for statement in (each for _, statements in MIGRATIONS for each in statements):
            name = statement.split()[2]
            if name in DERIVED and name not in here:
                db.execute(statement)
    return "indexes and triggers that were missing were made"


def _swept(store: Store) -> str:
    with store.writing() as db:
        db.execute(f"DROP TABLE IF EXISTS {vectors.REPLACED}")
        if successor.unfinished(db) is None:
            successor.discard(db)
    return "what ended reindexes had left was removed"


def _number(value: str | None) -> bool:
    return value is None or value.isdecimal()


def _model_record(db: sqlite3.Connection) -> list[str]:
    """Of a model all is recorded, or the name at most."""
    keys = ("model_name", "embedding_dim", "digest", "fingerprint")
    found = {key: config.get(db, key) for key in keys}
    if not any(found[key] for key in keys[1:]):
        return []
    missing = [f"{key} of the model is missing" for key in keys if not found[key]]
    if missing or not _number(found["embedding_dim"]):
        return missing or [f"embedding_dim is {found['embedding_dim']!r}"]
    bound = Bound.read(db)
    sql = db.execute("SELECT sql FROM sqlite_schema WHERE name = 'chunks_vec'").fetchone()
    width = f"length (vector) = {4 * bound.dims})" if bound else ""
    if sql and width not in sql[0]:
        return [f"embedding_dim is {found['embedding_dim']}, and chunks_vec is made for another"]
    return []


def _schema(db: sqlite3.Connection) -> dict[str, str]:
    """What each object was made by, without spaces; of the tables of vectors, whose width varies, the name alone."""
    rows = db.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL").fetchall()
    return {name: "" if name.startswith("chunks_vec") else "".join(sql.split()) for name, sql in rows}


def _new_schema() -> dict[str, str]:
    """Of a new store."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    try:
        for _, statements in MIGRATIONS:
            for statement in statements:
                db.execute(statement)
        return _schema(db)
    finally:
        db.close()
