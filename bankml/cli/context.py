"""`bankml context`."""

from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Annotated

import typer

from bankml.cli.output import AsJson, Model, note, write_json
from bankml.cli.store import Db, opened
from bankml.settings import Settings

if TYPE_CHECKING:
    from bankml.memory.context import Pack

TOLD = 10  # records that were left out


class Tokenizer(StrEnum):
    """What counts the tokens."""

    characters = "characters"
    model = "model"


def context(
    query: Annotated[str, typer.Option(help="What to find: words, or a question.", show_default=False)],
    task: Annotated[str, typer.Option(help="What it is for; ranks together with the query.", show_default=False)] = "",
    token_budget: Annotated[
        int | None,
        typer.Option("--token-budget", min=0, help="Tokens that the pack takes at most.", show_default="1500"),
    ] = None,
    tokenizer: Annotated[
        Tokenizer, typer.Option(help="What counts them: characters / 4, or the tokenizer of the store's model.")
    ] = Tokenizer.characters,
    session: Annotated[
        str, typer.Option(metavar="NAME", help="Also the records of this session.", show_default=False)
    ] = "",
    model: Model = None,
    db: Db = None,
    json: AsJson = False,
) -> None:
    """Print a context pack for a prompt, constraints first, in Markdown; what was left out is told on stderr."""
    from bankml.library.model.binding import embedder
    from bankml.library.model.wanted import named
    from bankml.library.search.searcher import Searcher
    from bankml.memory.context import BUDGET, pack
    from bankml.memory.cost import characters, counting
    from bankml.memory.recall.recaller import Recaller
    from bankml.memory.root import here

    if model is not None:
        named(model)
    with opened(db) as store:
        choose = cache(lambda: embedder(store, Settings.read(), model))
        with Searcher(store, choose) as searcher:
            count = characters if tokenizer == Tokenizer.characters else counting(choose())
            budget = BUDGET if token_budget is None else token_budget
            found = pack(Recaller(searcher), query, task, budget, count, session, here())
    if json:
        write_json(found.object())
    else:
        _write(found)


def _write(found: "Pack") -> None:
    """The pack alone on stdout: what is told of it is no part of a prompt."""
    print(found.markdown(), end="")
    for left in found.excluded[:TOLD]:
        note(f"left out {left.id} {' '.join(left.title.split())}: {left.reason}")
    if len(found.excluded) > TOLD:
        note(f"left out {len(found.excluded) - TOLD:,} more, which --json lists")
    note(found.status)
