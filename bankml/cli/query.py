"""`bankml query`."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bankml.cli.output import AsJson, Model, write_json
from bankml.cli.past import instant_of
from bankml.cli.published_store import published
from bankml.cli.search import Mode
from bankml.cli.store import Db, opened
from bankml.settings import Settings

if TYPE_CHECKING:
    from bankml.memory.recall.recalled import Recalled
    from bankml.memory.recall.recaller import Recaller

N = 10


class Fusion(StrEnum):
    """How the two arms become one ranking."""

    convex = "convex"
    rrf = "rrf"


FUSION = Fusion.convex


class Category(StrEnum):
    """What kind of a record it is."""

    fact = "fact"
    decision = "decision"
    constraint = "constraint"
    architecture = "architecture"
    state = "state"


class Status(StrEnum):
    """Whether a record is still to be gone by."""

    active = "active"
    superseded = "superseded"
    archived = "archived"
    any = "any"


class Namespace(StrEnum):
    """Whom a record is for."""

    session = "session"
    project = "project"
    organization = "organization"
    global_ = "global"


def query(
    query: Annotated[
        list[str],
        typer.Argument(help="What to find: a question, words, a file, a record's id.", show_default=False),
    ],
    results: Annotated[int, typer.Option("-n", "--results", min=1, max=1000, help="How many at most.")] = N,
    mode: Annotated[Mode, typer.Option(help="What ranks: words alone, meaning alone, or both.")] = Mode.fused,
    fusion: Annotated[
        Fusion | None, typer.Option(help="How words and meaning become one ranking.", show_default=FUSION.value)
    ] = None,  # tells whether it is given
    status: Annotated[
        list[Status] | None,
        typer.Option(help="Records of this status; active ones by itself (repeatable).", show_default=False),
    ] = None,
    category: Annotated[
        list[Category] | None, typer.Option(help="Only records of this category (repeatable).", show_default=False)
    ] = None,
    prefer: Annotated[
        list[Category] | None,
        typer.Option(help="Records of this category before others that fit as well (repeatable).", show_default=False),
    ] = None,
    namespace: Annotated[
        list[Namespace] | None, typer.Option(help="Only records of this namespace (repeatable).", show_default=False)
    ] = None,
    session: Annotated[
        str, typer.Option(metavar="NAME", help="Also the records of this session.", show_default=False)
    ] = "",
    tag: Annotated[
        list[str] | None,
        typer.Option(metavar="TAG", help="Only records that have it (repeatable: all of them).", show_default=False),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Also tell what ranked each.")] = False,
    as_of: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="What records of the project said then: 2026-01-31, 2026-01-31T09:30Z. Found by what they say now.",
            show_default=False,
        ),
    ] = None,
    dsn: Annotated[
        str | None,
        typer.Option(
            help="Ask stores that were published to this PostgreSQL (`bankml publish --store`); as of `publish`.",
            show_default=False,
        ),
    ] = None,
    store: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="With --dsn: only the store published as this.", show_default=False),
    ] = None,
    peers: Annotated[bool, typer.Option("--peers/--no-peers", help="With linked repositories, or alone.")] = True,
    model: Model = None,
    db: Db = None,
    json: AsJson = False,
) -> None:
    """Print what is remembered that answers best; the last line says what ranked, and what is missing."""
    from bankml.memory.instant import iso
    from bankml.memory.root import here

    if store and dsn is None:
        raise typer.BadParameter("it names a store of a database: give --dsn too", param_hint="--store")
    others = [name.value for name in namespace or () if name != Namespace.project]
    refused = {"--explain": explain, "--mode meaning": mode == Mode.meaning, f"--namespace {', '.join(others)}": others}
    refused |= {"--session": session, "--prefer": prefer, "--dsn": dsn, "--fusion": fusion}
    at = instant_of(as_of, refused | {"--model": model is not None})
    root, asked = here(), " ".join(query)
    statuses: list[str] = [*status] if status else ["active"]
    if at is not None:
        found = _of_then(db, asked, at, results, statuses, category or (), tag or ())
    else:
        with _own(db, model, peers) if dsn is None else published(dsn, store or (), model) as recaller:
            found = recaller.recall(
                asked,
                results,
                mode.value,
                (fusion or FUSION).value,
                statuses=statuses,
                categories=category or (),
                namespaces=namespace or (),
                session=session,
                tags=tag or (),
                root=root,
                prefer=prefer or (),
            )
    if json:
        from bankml.memory.recall.answer import answer

        write_json(answer(found, root, explain) | ({} if at is None else {"as_of": iso(at)}))
    else:
        from bankml.cli.records import write_recalled

        write_recalled(found, root, explain)


@contextmanager
def _own(db: Path | None, model: str | None = None, peers: bool = False) -> "Iterator[Recaller]":
    """The records of a store of this machine, and with `peers` those of linked ones."""
    from bankml.library.model.binding import embedder
    from bankml.library.model.wanted import named
    from bankml.library.search.searcher import Searcher
    from bankml.memory.recall.recaller import Recaller
    from bankml.memory.workspace.workspace import Workspace

    if model is not None:
        named(model)
    with opened(db) as store, Searcher(store, lambda: embedder(store, Settings.read(), model)) as searcher:
        if not peers:
            yield Recaller(searcher)
            return
        with closing(Workspace(store, searcher)) as workspace:
            yield workspace


def _of_then(db: Path | None, query: str, at: int, n: int, *narrowed: "Sequence[str]") -> "Recalled":
    """What the records said at `at`."""
    from bankml.memory.past import as_of

    with _own(db) as recaller:
        return as_of(recaller, query, at, n, *narrowed)
