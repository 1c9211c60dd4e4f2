"""`bankml publish` and `bankml publish status`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bankml.cli.history import AllowLicence
from bankml.cli.output import AsJson, Model, table, write_facts, write_json
from bankml.cli.progress import progress
from bankml.cli.published_store import STORE_COLUMNS, publish_store, store_row
from bankml.cli.store import Db
from bankml.utf8 import printable

if TYPE_CHECKING:
    from bankml.publish import Published

WIDTH = 14
COLUMNS = ("agent", "name", "private lines", "exchanges", "embedded", "model", "published")

Dsn = Annotated[
    str | None,
    typer.Option(
        help="Where the database is, as libpq has it; else BANKML_PG_DSN, else dbname=bankml. "
        "Leave a password to ~/.pgpass or PGPASSWORD.",
        show_default=False,
    ),
]

app = typer.Typer(invoke_without_command=True)


@app.callback()
def publish(
    context: typer.Context,
    history: Annotated[Path | None, typer.Option(help="The .history file.", show_default=False)] = None,
    agent: Annotated[str | None, typer.Option(help="The agent's slug, such as ada.", show_default=False)] = None,
    store: Annotated[
        bool, typer.Option("--store", help="Publish records and passages of the knowledge base, not a history.")
    ] = False,
    db: Db = None,
    include_private: Annotated[
        bool,
        typer.Option(
            "--include-private",
            "--private",
            help="Publish what is private too: a history's lines and their vectors; of a store what is of a session "
            "or named private.",
        ),
    ] = False,
    documents: Annotated[
        bool, typer.Option("--documents/--no-documents", help="Of a store: passages of documents beside its records.")
    ] = True,
    path: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GLOB",
            help="Of a store: only documents that match, as of `search` (repeatable).",
            show_default=False,
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Of a store: also ask both sides and tell how many answers are the same.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done and change nothing.")] = False,
    dsn: Dsn = None,
    name: Annotated[
        str | None, typer.Option(help="The agent's or the store's name for people.", show_default=False)
    ] = None,
    model: Model = None,
    allow_licence: AllowLicence = None,
    json: AsJson = False,
) -> None:
    """Put an agent or a store into PostgreSQL, all at once, and nothing private unless --include-private is given.

    `bankml publish status` shows what is there.
    """
    if context.invoked_subcommand is not None:
        return
    if store:
        given = (db, dsn, name, include_private, documents, path or (), allow_licence or (), dry_run, check, model)
        publish_store(*given, json=json)
        return
    for option, value in (("--history", history), ("--agent", agent)):
        if value is None:
            context.fail(f"Missing option '{option}', or --store for a knowledge base")
    assert history is not None
    assert agent is not None
    from bankml import publish as module

    with progress("embedding") as show:
        result = module.publish(
            history,
            agent,
            include_private=include_private,
            dsn=dsn,
            name=name,
            dry_run=dry_run,
            allow_licence=allow_licence or (),
            model=model,
            progress=show,
        )
    if json:
        write_json(result.json())
    else:
        _show(result)


@app.command()
def status(context: typer.Context, dsn: Dsn = None, json: AsJson = False) -> None:
    """Show what was published: the agents, their lines and vectors, the stores, the index, the extensions."""
    from bankml.publish import status as found_in

    before = context.parent.params if context.parent else {}  # options that stand before `status`
    found = found_in(dsn or before.get("dsn"))
    if json or before.get("json"):
        write_json(found)
        return
    extensions = found["extensions"]
    facts = {
        "database": f"{found['database']} (PostgreSQL {found['server']})",
        "pgvector": extensions["vector"] or "not in this database",
        "pgvectorscale": extensions["vectorscale"] or "not in this database",
        "vectors": f"{found['dims']} numbers each" if found["dims"] else "no column for them",
        "index": found["index"] or "none",
        "embedded": f"{found['embedded']} of {_lines(found['exchanges'], found['lines'], 'exchanges')}",
    }
    write_facts(facts, WIDTH)
    if found["agents"]:
        print()
        table(COLUMNS, [_row(agent) for agent in found["agents"]])
    if found["stores"]:
        print()
        table(STORE_COLUMNS, [store_row(store) for store in found["stores"]])


def _show(result: "Published") -> None:
    index = result.index
    if result.index_seconds is not None:
        index += f", built in {result.index_seconds:.1f} s"
    facts = {
        "agent": f"{result.agent} ({'with' if result.private_included else 'without'} its private lines)",
        "database": result.database,
        "exchanges": _lines(result.exchanges, result.lines),
        "embedded": result.embedding,
        **({"would": "; ".join(result.would)} if result.dry_run else {"index": index}),
    }
    for key, value in facts.items():
        print(printable(f"{key}: {value}"))


def _lines(exchanges: int, lines: int, unit: str = "") -> str:
    """So many exchanges, and of how many lines where some are none."""
    return f"{exchanges} {unit}".strip() + (f" in {lines} lines" if lines != exchanges else "")


def _row(agent: dict[str, Any]) -> list[str]:
    digest = f" ({agent['digest'][:8]}…)" if agent["digest"] else ""
    return [
        agent["slug"],
        agent["name"],
        "yes" if agent["private_included"] else "no",
        str(agent["exchanges"]),
        str(agent["embedded"]),
        f"{agent['model'] or '-'}{digest}",
        f"{agent['published_at']:%Y-%m-%d %H:%M}",
    ]
