"""`bankml history`: a .history file searched, embedded, told about and tidied."""

from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from bankml.cli.model import choose as choose_model
from bankml.cli.output import AsJson, Model, note, write_facts, write_json
from bankml.errors import CancelledError, Error, UnavailableError
from bankml.settings import Settings
from bankml.sizes import human

if TYPE_CHECKING:
    from bankml.cli.progress import Show
    from bankml.embedders import Embedder

WAIT = 3.0  # seconds that a search embeds what is missing before it answers

history = typer.Typer(
    name="history", help="Find in a .history file by words and by meaning.", no_args_is_help=True, add_completion=False
)

File = Annotated[Path, typer.Argument(metavar="FILE", help="A .history file: JSON lines.", show_default=False)]
AllowLicence = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-licence",
        metavar="NAME",
        help="Embed with a model of this licence though it is not known to be open (repeatable).",
        show_default=False,
    ),
]


@history.command()
def search(
    file: File,
    query: Annotated[
        list[str] | None, typer.Argument(help="What to find; nothing: the latest exchanges.", show_default=False)
    ] = None,
    results: Annotated[int, typer.Option("-n", "--results", min=1, max=1000, help="How many at most.")] = 8,
    model: Model = None,
    words: Annotated[bool, typer.Option("--words", help="By words alone: no model is used.")] = False,
    wait: Annotated[float, typer.Option(min=0, help="Seconds to embed what has no vector yet, first.")] = WAIT,
    allow_licence: AllowLicence = None,
    json: AsJson = False,
) -> None:
    """Print the exchanges that fit best; without a model they are found by words, and the last line says why."""
    from bankml.cli.progress import progress
    from bankml.history.searcher import Searcher

    embedder = embedder_of(model, words)
    with (
        progress("reading", "exchanges") as show,
        Searcher(file, embedder, embed=False, count=_thousands(show)) as searcher,
    ):
        if wait and query and not words:
            _embed_some(file, embedder, wait, allow_licence or [])
        found = searcher.search(" ".join(query or []), results)
    if json:
        write_json({"results": [asdict(hit) for hit in found.results], "status": found.status})
    else:
        from bankml.cli.hits import write_hits

        write_hits(found, " ".join(query or []))


@history.command()
def index(file: File, model: Model = None, allow_licence: AllowLicence = None, json: AsJson = False) -> None:
    """Embed every exchange that has no vector yet; what is done stays done when it is interrupted."""
    from bankml.cli.progress import progress
    from bankml.embedders import choose
    from bankml.history.file import opened
    from bankml.history.indexing import index as embed_missing

    with opened(file):  # before a model is pulled for it
        pass
    try:
        embedder = choose(name=model)
    except UnavailableError:
        if Settings.read().embed_provider == "ollama":
            raise
        choose_model(model)  # a built-in that is missing is pulled; else it says why
        embedder = choose(name=model)
    with progress("embedding") as show:
        done = embed_missing(file, embedder, progress=show, allow_licence=allow_licence or [])
    if json:
        write_json(asdict(done))
    else:
        print(f"{done.embedded:,} embedded with {embedder.model}, {done.cached:,} were; {done.total:,} exchanges")
        _note_skipped(done.skipped_lines)


@history.command()
def status(file: File, model: Model = None, json: AsJson = False) -> None:
    """Show how many exchanges there are, and how many of them the model has a vector of."""
    from bankml.history.coverage import coverage

    embedder, why = None, ""
    try:
        embedder = embedder_of(model, words=False)()
    except UnavailableError as error:
        why = str(error)
    found = coverage(file, embedder)
    if json:
        write_json({**asdict(found), "model": embedder and embedder.model, "why": why})
        return
    write_facts(
        {
            "exchanges": f"{found.total:,}",
            "embedded": f"{found.embedded:,}" + (f", with {embedder.model}" if embedder else f" ({why})"),
            "lines left out": f"{found.skipped_lines:,}",
            "vectors": f"{found.cached:,} in {file}.emb, and {found.skipped_vectors:,} bad lines",
        },
        16,
    )


@history.command()
def compact(file: File, model: Model = None, json: AsJson = False) -> None:
    """Rewrite FILE.emb with the vectors that FILE and the model need, and nothing else."""
    from bankml.history.coverage import compact as rewrite

    done = rewrite(file, embedder_of(model, words=False)())
    if json:
        write_json(asdict(done))
    else:
        removed = (
            f"{done.others:,} of other models, {done.unwanted:,} of texts that are gone, {done.repeated:,} repeated"
        )
        print(
            f"{done.kept:,} vectors kept; removed: {removed}, {done.bad:,} bad; {human(done.before - done.after)} freed"
        )


def embedder_of(model: str | None, words: bool) -> "Callable[[], Embedder]":
    """What chooses the embedder, when it is first needed; nothing is ever pulled. ModelError for a name of none."""
    if model is not None and not words and Settings.read().embed_provider != "ollama":
        from bankml.models import choose as find

        find(model)

    @cache
    def chosen() -> "Embedder":
        if words:
            raise UnavailableError("as asked")
        from bankml.embedders import choose

        return choose(name=model)

    return chosen


def _thousands(show: "Show") -> Callable[[int], None]:
    """Counts, and shows every thousandth: drawing takes longer than reading."""
    read = 0

    def count(more: int) -> None:
        nonlocal read
        read += more
        if read % 1000 == 0:
            show(read, None)

    return count


def _embed_some(file: Path, embedder: "Callable[[], Embedder]", seconds: float, allow_licence: list[str]) -> None:
    """What can be embedded in so many seconds; why nothing can is the search's to say."""
    from bankml.history.indexing import index as embed_missing

    end = monotonic() + seconds
    try:
        embed_missing(file, embedder(), cancelled=lambda: monotonic() > end, allow_licence=allow_licence)
    except CancelledError:
        note(f"not all is embedded yet; `bankml history index {file}` does it once and for all")
    except UnavailableError:
        pass  # which the status says
    except Error as error:
        note(f"not all is embedded: {error}")


def _note_skipped(lines: int) -> None:
    from bankml.history.status import left_out

    if lines:
        note(left_out(lines))
