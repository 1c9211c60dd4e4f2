"""`bankml publish --store`."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bankml.cli.output import note, write_json
from bankml.cli.progress import progress
from bankml.cli.store import opened
from bankml.settings import Settings
from bankml.utf8 import printable

if TYPE_CHECKING:
    from bankml.publish.store.overlap import Overlap
    from bankml.publish.store.publication import Publication
    from bankml.publish.store.shared import Shared

STORE_COLUMNS = ("store", "private", "documents", "records", "passages", "embedded", "model", "published")


def publish_store(
    db: Path | None,
    dsn: str | None,
    name: str | None,
    private: bool,
    documents: bool,
    paths: Sequence[str],
    allow_licence: Sequence[str],
    dry_run: bool,
    check: bool,
    model: str | None,
    json: bool,
) -> None:
    """As `bankml.publish.store.publishing.publish`, and with `check` what of the answers is the same there."""
    from bankml.publish import driver

    driver.required()
    from bankml.publish.store.choice import Choice
    from bankml.publish.store.overlap import overlaps
    from bankml.publish.store.publishing import publish

    settings = Settings.read()
    with opened(db, read_only=True) as store:
        with progress("publishing", "passages") as show:
            choice = Choice(private, documents, tuple(paths))
            done = publish(store, choice, dsn, name, allow_licence, settings, dry_run, show)
        checked: dict[str, Overlap] = {}
        if check and not dry_run:
            with progress("comparing answers", "queries") as show:
                checked = overlaps(store, choice, done.name, dsn, settings, model, progress=show)
    if name is None and "\ufffd" in done.name:
        note(f"the file's name is no UTF-8, so the store is called {done.name!r} there: name it with --name")
    if json:
        write_json(done.json() | ({"overlap": {kind: one.json() for kind, one in checked.items()}} if checked else {}))
    else:
        _show(done, checked)


def published(dsn: str, names: Sequence[str], model: str | None) -> "AbstractContextManager[Shared]":
    """Stores that a database has; no names: of all."""
    from bankml.publish import driver

    driver.required()
    from bankml.publish.store.shared import shared

    return shared(dsn, names, Settings.read(), model)


def store_row(store: dict[str, Any]) -> list[str]:
    """Of the table of `bankml publish status`."""
    digest = f" ({store['digest'][:8]}…)" if store["digest"] else ""
    return [
        store["name"],
        "yes" if store["private_included"] else "no",
        "yes" if store["documents_included"] else "no",
        *(str(store[name]) for name in ("records", "passages", "embedded")),
        f"{store['model'] or '-'}{digest}",
        f"{store['published_at']:%Y-%m-%d %H:%M}",
    ]


def _show(done: "Publication", checked: "Mapping[str, Overlap]") -> None:
    facts: dict[str, Any] = {
        "store": f"{done.name} ({'with' if done.private_included else 'without'} what is private)",
        "database": done.database,
        "records": _of(done.records, done.left_out["records"]),
        "passages": f"{done.passages}: {done.written} written, {done.removed} removed",
        "documents": "none" if not done.documents_included else f"{done.left_out['documents']} left out",
        "embedded": done.embedding,
    }
    if done.dry_run:
        facts["would"] = "nothing was changed, as asked"
    else:
        took = f", built in {done.index_seconds:.1f} s" if done.index_seconds is not None else ""
        facts["index"] = f"{done.index}{took}"
    facts |= {f"overlap of {kind}": str(found) for kind, found in checked.items() if found.queries}
    for key, value in facts.items():
        print(printable(f"{key}: {value}"))


def _of(shown: int, left_out: int) -> str:
    return f"{shown}{f', {left_out} left out' if left_out else ''}"
