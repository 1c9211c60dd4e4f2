"""The store that a command uses."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from bankml.store import Store

Db = Annotated[
    Path | None,
    typer.Option("--db", help="The knowledge base's file; kb.db in bankml's folder by itself.", show_default=False),
]


def opened(db: Path | None, read_only: bool = False) -> "Store":
    """The store at `db`, or at its usual place. Raises StoreError with what to do where there is none."""
    from bankml.store import Store, place

    return Store.open(place(db), read_only)
