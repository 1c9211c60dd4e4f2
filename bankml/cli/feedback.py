"""`bankml feedback`: what an agent says of a record later."""

from typing import Annotated

import typer

from bankml.cli.output import AsJson, write_json
from bankml.cli.remember import Agent
from bankml.cli.store import Db, opened


def feedback(
    record: Annotated[str, typer.Argument(metavar="ID", help="Of a record.", show_default=False)],
    verdict: Annotated[str, typer.Argument(help="helpful, confirmed, stale, wrong or archive.", show_default=False)],
    comment: Annotated[str, typer.Option("--note", help="Why.", show_default=False)] = "",
    agent: Agent = "",
    db: Db = None,
    json: AsJson = False,
) -> None:
    """Say of a record whether it helped, holds, is stale or wrong, or is to be put away. Every verdict is kept."""
    from bankml.memory.origin import provenance
    from bankml.memory.root import here
    from bankml.memory.verdicts import feedback as give
    from bankml.memory.verdicts import judged

    with opened(db) as store:
        found = give(store, record, verdict, comment, provenance("bankml feedback", here(), agent))
    if json:
        write_json(judged(found, verdict))
    else:
        print(f"{found.id} is {found.status}, {found.freshness}, of confidence {found.confidence:g}")
