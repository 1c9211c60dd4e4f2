"""`bankml workspace`: repositories whose memories answer queries together."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bankml.cli.output import AsJson, note, table, write_json
from bankml.cli.store import Db, opened
from bankml.settings import Settings
from bankml.utf8 import printable

if TYPE_CHECKING:
    from bankml.memory.workspace.links import Link
    from bankml.memory.workspace.repin import Moved


SOME_FAILED = 3  # exit status, as of `bankml add`

app = typer.Typer(name="workspace", help="Linked repositories: their memories answer queries together.")


@app.command()
def add(
    path: Annotated[Path, typer.Argument(help="A knowledge base's file, or the folder of its kb.db.")],
    name: Annotated[
        str | None, typer.Option(help="What answers call it; its folder's name by itself.", show_default=False)
    ] = None,
    db: Db = None,
    json: AsJson = False,
) -> None:
    """Link another repository with this one: each asks the other from now on."""
    from bankml.memory.workspace import links, states

    with opened(db) as store:
        link = links.add(store, path.expanduser(), name)
        found = next(one for one in states.states(store) if one.name == link.peer.name)
    if json:
        write_json({**found.object(), "mutual": link.mutual, "why_not_mutual": link.why})
        return
    print(f"{printable(link.peer.name)} is linked: {printable(found.path)}")
    _note_one_sided(link)
    if found.why:
        note(f"{link.peer.name}: {found.state}: {found.why}")


@app.command("list")
def listed(db: Db = None, json: AsJson = False) -> None:
    """Show the linked repositories, and what each can answer."""
    from bankml.memory.workspace.states import states

    with opened(db) as store:
        found = states(store)
    if json:
        write_json({"peers": [one.object() for one in found]})
        return
    rows = [
        [one.name, one.state, f"{one.records:,}", f"{one.embedded:,} of {one.chunks:,}", one.model or "", one.path]
        for one in found
    ]
    table(["name", "state", "records", "vectors", "model", "path"], rows)
    for one in found:
        if one.why:
            note(f"{one.name}: {one.why}")
    if not found:
        note("no repository is linked: `bankml workspace add PATH` links one")


@app.command()
def remove(
    name: Annotated[str, typer.Argument(help="As `bankml workspace list` shows it, or its path.")],
    db: Db = None,
    json: AsJson = False,
) -> None:
    """Unlink a repository, here and there; neither loses anything else."""
    from bankml.memory.workspace import links

    with opened(db) as store:
        link = links.remove(store, name)
    if json:
        write_json({"name": link.peer.name, "mutual": link.mutual, "why_not_mutual": link.why})
        return
    print(f"{printable(link.peer.name)} is unlinked")
    _note_one_sided(link)


@app.command("repin-embedding")
def repin_embedding(
    reindex: Annotated[bool, typer.Option("--reindex", help="Make the vectors of each anew at once.")] = False,
    db: Db = None,
    json: AsJson = False,
) -> None:
    """Move all linked repositories to this one's model; those whose vectors are of another must be reindexed."""
    from bankml.memory.workspace.repin import repin

    settings = Settings.read()
    with opened(db) as store:
        moved = repin(store, settings)
    if reindex:
        moved = [_reindexed(one, settings) if one.reindex else one for one in moved]
    if json:
        write_json({"peers": [asdict(one) for one in moved]})
    else:
        _tell(moved)
    if any(one.why for one in moved):
        raise typer.Exit(SOME_FAILED)


def _reindexed(moved: "Moved", settings: Settings) -> "Moved":
    from dataclasses import replace

    from bankml.cli.reindex import run
    from bankml.errors import Error

    try:
        with opened(Path(moved.path)) as store:
            run(store, replace(settings, embed_model=None))  # the config.yaml that was just written says which
    except Error as error:
        return replace(moved, why=str(error))
    return replace(moved, reindex="")


def _tell(moved: "list[Moved]") -> None:
    for one in moved:
        print(f"{printable(one.name)}: {'not moved' if one.why and not one.reindex else 'moved'}")
        if one.why:
            note(f"{one.name}: {one.why}")
        if one.reindex:
            note(f"{one.name}: its vectors are of another profile: run `{one.reindex}`")
    if not moved:
        note("no repository is linked: `bankml workspace add PATH` links one")


def _note_one_sided(link: "Link") -> None:
    if not link.mutual:
        note(f"{link.peer.name} does not know of it: {link.why}")
