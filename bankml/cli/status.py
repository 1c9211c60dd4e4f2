"""`bankml status`."""

from typing import TYPE_CHECKING

import typer

from bankml.cli.output import AsJson, write_facts, write_json
from bankml.cli.store import Db, opened
from bankml.settings import Settings
from bankml.sizes import human

if TYPE_CHECKING:
    from bankml.library.upkeep.status import Status

WIDTH = 16


def status(db: Db = None, json: AsJson = False) -> None:
    """Show what the knowledge base holds and what to run; exit 1 when meaning finds less than half of it."""
    from bankml.library.upkeep.status import status as look

    with opened(db, read_only=True) as store:
        found = look(store, Settings.read())
    if json:
        write_json(found.object())
    else:
        write_facts(_facts(found), WIDTH)
    if not found.sound:
        raise typer.Exit(1)


def _facts(found: "Status") -> dict[str, str]:
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in found.types.items())
    lacks = [(found.missing, "without a vector"), (found.foreign, "of another recipe"), (found.orphans, "orphans")]
    others = "".join(f", {count:,} {what}" for count, what in lacks if count)
    facts = {
        "knowledge base": f"{found.db}, {human(found.size)}, journal {human(found.journal)}",
        "model": _model(found),
        "documents": f"{found.documents:,}" + (f" ({kinds})" if kinds else ""),
        "records": ", ".join(f"{count:,} {kind}" for kind, count in found.records.items()) or "0",
        "chunks": f"{found.chunks:,}",
        "vectors": f"{found.embedded:,} of {found.chunks:,} chunks{others}",
        "changes": f"{found.generation:,}",
    }
    if begun := found.reindexing:
        state = "at work" if begun.running else "interrupted"
        facts["reindex"] = f"to {begun.model}, {state}: {begun.chunks:,} of {found.chunks:,} chunks are embedded anew"
    return facts | {"to run": found.next}


def _model(found: "Status") -> str:
    if found.digest is None:
        return f"{found.model or 'none'}, not bound yet"
    state = "" if found.model_present else ", cannot be used here"
    state += ", not searched by (search.vector.enabled is false)" if found.disabled else ""
    return f"{found.model}, {found.dims} dimensions, sha256 {found.digest[:12]}{state}"
