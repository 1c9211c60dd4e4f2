"""Many processes at once: nobody is told that the database is locked, and every reader sees whole documents."""

import json
import subprocess
import sys

from bankml.store import Store, config

READ = """
import json, sys, time
from pathlib import Path
from bankml.store import Store, config
reads, until = 0, time.monotonic() + float(sys.argv[2])
with Store.open(Path(sys.argv[1])) as store:
    while time.monotonic() < until:
        with store.reading() as db:
            documents, chunks = (db.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in ("documents", "chunks"))
            words = len(db.execute("SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH 'word'").fetchall())
        assert chunks == words == 5 * documents, (documents, chunks, words)
        reads += 1
print(json.dumps(reads))
"""
WRITE = """
import json, os, sys, time
from pathlib import Path
from bankml.store import DocumentRow, Passage, Store, documents
writes, until = 0, time.monotonic() + float(sys.argv[2])
while time.monotonic() < until:
    with Store.open(Path(sys.argv[1])) as store:
        for number in range(10):
            row = DocumentRow(b"%d/%d" % (os.getpid(), number), "text", "T", "0" * 64, 1, 0, "1")
            texts = [f"word {writes} {n}" for n in range(5)]
            with store.writing() as db:
                documents.find(db, row.path)  # who reads first must not find that another has written meanwhile
                documents.replace(db, row, [Passage(text, "", 0, len(text), 1, None, 4) for text in texts])
            writes += 1
print(json.dumps(writes))
"""


def test_four_read_and_two_write(tmp_path):
    path = tmp_path / "kb.db"
    Store.create(path).close()
    command = [sys.executable, "-c"]
    asked = [READ] * 4 + [WRITE] * 2
    crowd = [
        subprocess.Popen([*command, code, path, "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) for code in asked
    ]
    said = [process.communicate(timeout=120) for process in crowd]
    assert [err for _, err in said] == [b""] * 6
    counts = [json.loads(out) for out, _ in said]
    assert min(counts) > 1
    with Store.open(path) as store, store.reading() as db:
        assert config.generation(db) == sum(counts[4:])
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
