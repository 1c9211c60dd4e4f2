"""An agent's history in PostgreSQL: its lines, and with pgvector a vector of each.

from bankml.publish import publish
publish("ada.history", "ada", include_private=True).embedding   # 3 of 3 exchanges embedded with bge-m3 (daec91ff…)
"""

import os
from typing import TYPE_CHECKING, Any

from bankml.publish.agent import Agent
from bankml.publish.published import Published

if TYPE_CHECKING:
    from collections.abc import Collection

    from bankml.publish.vectors import Progress, Vectors
    from bankml.settings import Settings

__all__ = ["Published", "publish", "status"]

PRIVATE = "no exchange was published: the lines are private, and so are their vectors (--include-private, for both)"


def publish(
    history: str | os.PathLike[str],
    agent: str,
    *,
    include_private: bool = False,
    dsn: str | None = None,
    name: str | None = None,
    dry_run: bool = False,
    allow_licence: "Collection[str]" = (),
    model: str | None = None,
    vectors: "Vectors | str | None" = None,
    progress: "Progress | None" = None,
    settings: "Settings | None" = None,
) -> Published:
    """Replace what the database has of `agent` by the history's lines and their vectors, all of it or nothing.

    Without `include_private` only the agent itself is published, and lines and vectors that an earlier call left there
    are removed. `dsn`: libpq's, else BANKML_PG_DSN, else "dbname=bankml". `name`: for people, else the one that is
    there, else the slug. `dry_run` asks the database and changes nothing. `model`: whose vectors, of
    `<history>.emb`, else the default one's; exchanges that have none are embedded first, if that can be done here, and
    `progress(done, to do)` is told. `vectors`: others than those, or a sentence why there are none.
    Raises InputError for a slug, a DSN or a line of the history that will not do, LicenceError for a model whose
    licence is not known to be open, unless `allow_licence` names it, and StoreError for what the database refuses;
    nothing has changed then.
    """
    from bankml.publish import driver

    driver.required()
    from bankml.embedders.licences import check_licence
    from bankml.publish import publisher
    from bankml.publish.embedded import embedded

    who = Agent(agent, name)
    found: Vectors | str | None = vectors if include_private else PRIVATE
    if found is None:
        found = embedded(history, model, allow_licence, settings)
    if isinstance(found, str):
        wanted = publisher.Wanted(who, history, include_private, None, found)
    else:
        check_licence(found, allow_licence)
        wanted = publisher.Wanted(who, history, include_private, found)
    return publisher.foresee(wanted, dsn, settings) if dry_run else publisher.publish(wanted, dsn, settings, progress)


def status(dsn: str | None = None, settings: "Settings | None" = None) -> dict[str, Any]:
    """What the database has: see `bankml.publish.contents.contents`."""
    from bankml.publish import driver

    driver.required()
    from bankml.publish.contents import contents

    return contents(dsn, settings)
