"""An agent's history in PostgreSQL: its lines, and with pgvector a vector of each.

from bankml.publish import publish
publish("ada.history", "ada", include_private=True).embedding   # 3 of 3 exchanges embedded with bge-m3 (daec91ff…)
"""

import os
from typing import TYPE_CHECKING, Any

from bankml.publish.agent import Agent
from bankml.publish.published import Published

if TYPE_CHECKING:
    from bankml.publish.vectors import Vectors
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
    allow_licence: str | None = None,
    model: str | None = None,
    vectors: "Vectors | str | None" = None,
    settings: "Settings | None" = None,
) -> Published:
    """Replace what the database has of `agent` by the history's lines and their vectors, all of it or nothing.

    Without `include_private` only the agent itself is published, and lines and vectors that an earlier call left there
    are removed. `dsn`: libpq's, else BANKML_PG_DSN, else "dbname=bankml". `name`: for people, else the one that is
    there, else the slug. `dry_run` asks the database and changes nothing. `model`: whose vectors of
    `<history>.emb` are sent, as everywhere in bankml. `vectors`: others than those, or a sentence why there are none.
    Raises InputError for a slug, a DSN or a line of the history that will not do, LicenceError for a model whose
    licence is not known to be open, unless it is `allow_licence`, and StoreError for what the database refuses;
    nothing has changed then.
    """
    from bankml.publish import driver

    driver.required()
    from bankml.publish import publisher

    who = Agent(agent, name)
    source = _source(history, vectors, model, settings) if include_private else PRIVATE
    found, why = (None, source) if isinstance(source, str) else (source, "")
    wanted = publisher.Wanted(who, history, include_private, found, why, allow_licence)
    return publisher.foresee(wanted, dsn, settings) if dry_run else publisher.publish(wanted, dsn, settings)


def _source(
    history: str | os.PathLike[str], vectors: "Vectors | str | None", model: str | None, settings: "Settings | None"
) -> "Vectors | str":
    if vectors is not None:
        return vectors
    from bankml.publish.embedded import embedded

    return embedded(history, model, settings)


def status(dsn: str | None = None, settings: "Settings | None" = None) -> dict[str, Any]:
    """What the database has: see `bankml.publish.contents.contents`."""
    from bankml.publish import driver

    driver.required()
    from bankml.publish.contents import contents

    return contents(dsn, settings)
