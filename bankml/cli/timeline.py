"""`bankml timeline`."""

from typing import Annotated

import typer

from bankml.cli.output import AsJson, write_json
from bankml.cli.store import Db, opened


def timeline(
    id: Annotated[str, typer.Argument(help="A record's id, or how it begins.", show_default=False)],
    full: Annotated[bool, typer.Option("--full", help="Print contents whole, not their first 600 characters.")] = False,
    db: Db = None,
    json: AsJson = False,
) -> None:
    """Print all that a record ever said: since when, until when, recorded when, and what changed."""
    from bankml.memory.timeline import timeline as look

    with opened(db) as store:
        found = look(store, id)
    if json:
        write_json(found.object(full))
    else:
        from bankml.cli.events import write_events

        write_events(found, full)
