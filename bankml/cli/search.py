"""`bankml search`."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from bankml.cli.output import AsJson, Model, note, write_json
from bankml.cli.published_store import published
from bankml.cli.store import Db, opened
from bankml.settings import Settings

if TYPE_CHECKING:
    from bankml.library.search.hit import Found

N = 10


class Mode(StrEnum):
    """What ranks."""

    words = "words"
    meaning = "meaning"
    fused = "fused"


def search(
    query: Annotated[list[str], typer.Argument(help="What to find: words, or a question.", show_default=False)],
    results: Annotated[int, typer.Option("-n", "--results", min=1, max=1000, help="How many at most.")] = N,
    mode: Annotated[Mode, typer.Option(help="What ranks: words alone, meaning alone, or both.")] = Mode.fused,
    path: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GLOB",
            help="Only files that match, or lie in a folder that does: 'notes/**/*.md', /home/me/notes (repeatable).",
            show_default=False,
        ),
    ] = None,
    type: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TYPE", help="Only documents of this type: markdown, pdf, … (repeatable).", show_default=False
        ),
    ] = None,
    after: Annotated[
        str | None, typer.Option(metavar="DATE", help="Only files changed on this day or later.", show_default=False)
    ] = None,
    before: Annotated[
        str | None, typer.Option(metavar="DATE", help="Only files changed before this day.", show_default=False)
    ] = None,
    document: Annotated[
        int | None,
        typer.Option(metavar="ID", min=1, max=2**63 - 1, help="Only this document, by its id.", show_default=False),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Also tell how they were found.")] = False,
    dsn: Annotated[
        str | None,
        typer.Option(help="Ask stores that were published to this PostgreSQL; as of `publish`.", show_default=False),
    ] = None,
    store: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="With --dsn: only the store published as this.", show_default=False),
    ] = None,
    model: Model = None,
    db: Db = None,
    json: AsJson = False,
) -> None:
    """Print the passages that fit best, with their file and line; the last line says who ranked them."""
    if store and dsn is None:
        raise typer.BadParameter("it names a store of a database: give --dsn too", param_hint="--store")
    if dsn is not None:
        if path or type or after or before or document is not None:
            raise typer.BadParameter("published documents are not filtered", param_hint="--dsn")
        with published(dsn, store or (), model) as asked_of:
            _write(asked_of.search(" ".join(query), results, mode.value), explain, json)
        return
    from bankml.library.model.binding import embedder
    from bankml.library.model.wanted import named
    from bankml.library.search.searcher import Searcher

    if model is not None:
        named(model)
    asked = " ".join(query)
    with opened(db) as own, Searcher(own, lambda: embedder(own, Settings.read(), model)) as searcher:
        found = searcher.search(
            asked, results, mode.value, path=path, type=type, after=after, before=before, document=document
        )
        _write(found, explain, json)
        if searcher.wants_neighbours():
            note("searches of so many passages are faster with an index: `bankml doctor --repair` makes it, in minutes")


def _write(found: "Found", explain: bool, json: bool) -> None:
    if json:
        from bankml.library.search.answer import answer

        write_json(answer(found, explain))
        return
    from bankml.cli.passages import write_passages

    write_passages(found, explain)
