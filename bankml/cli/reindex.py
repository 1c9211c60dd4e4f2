"""`bankml reindex`."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Annotated

import typer

from bankml.cli.output import AsJson, Model, note, write_json
from bankml.cli.progress import facts
from bankml.cli.store import Db, opened
from bankml.settings import Settings

if TYPE_CHECKING:
    from bankml.embedders import Embedder
    from bankml.library.upkeep.reindexed import Reindexed
    from bankml.store import Store

SOME_FAILED = 3  # exit status, as of `bankml add`
SHOWN = 10  # chunks without a vector


def reindex(
    model: Model = None,
    discard: Annotated[
        bool, typer.Option("--discard", help="Give up what an interrupted reindex has made, and nothing else.")
    ] = False,
    vectors: Annotated[
        bool, typer.Option("--vectors", help="With the model that is asked for now (`bankml config`), after a switch.")
    ] = False,
    missing: Annotated[
        bool, typer.Option("--missing", help="Only what has no vector yet, with the store's own model.")
    ] = False,
    db: Db = None,
    json: AsJson = False,
) -> None:
    """Embed every chunk anew, with the same model or another; until the last is done the old vectors are searched.

    What is done is kept when it is interrupted: the same command goes on there.
    """
    with opened(db) as store:
        if discard:
            _discard(store, json)
            return
        settings = Settings.read()
        embedder = _embedder(store, settings, model, vectors)
        done = _run(store, embedder, missing)
        _tell(done, json, "there already" if missing else "before an interruption")
        _note_others(store, settings, done)
    if done.without:
        raise typer.Exit(SOME_FAILED)


def run(store: "Store", settings: Settings) -> "Reindexed":
    """As `bankml reindex --vectors`, with its progress."""
    return _run(store, _embedder(store, settings, None, True), False)


def _discard(store: "Store", json: bool) -> None:
    from bankml.library.upkeep.reindex import discard

    chunks = discard(store)
    if json:
        write_json({"discarded": chunks})
    else:
        print(f"{chunks:,} new vectors given up; the old ones are as they were")


def _embedder(store: "Store", settings: Settings, model: str | None, vectors: bool) -> "Embedder":
    """Of the model that is named, else of the store's own; it is pulled and converted where it is missing.

    `vectors`: of the one that every other command asks for.
    """
    from bankml import models
    from bankml.library.model import binding
    from bankml.library.model.wanted import asked
    from bankml.store import config

    with store.reading() as db:
        recorded = config.get(db, "model_name")
    wanted = asked(store.path, settings, model, recorded)
    name = wanted.name if vectors else model or recorded or wanted.name
    if settings.embed_provider != "ollama":  # which pulls for itself
        models.fetch(name)
    return binding.unchecked(store, settings, name)


def _run(store: "Store", embedder: "Embedder", missing: bool) -> "Reindexed":
    from bankml.library.upkeep.missing import embed_missing
    from bankml.library.upkeep.reindex import reindex

    done: Reindexed | None = None
    with _shown() as show:

        def progress(now: "Reindexed") -> None:
            nonlocal done
            done = now
            show(now)

        try:
            return embed_missing(store, embedder, progress) if missing else reindex(store, embedder, progress)
        except KeyboardInterrupt:
            note(_interrupted("--missing" if missing else f"--model {embedder.reference}", done))
            raise


def _interrupted(options: str, done: "Reindexed | None") -> str:
    made = f"{done.done:,} of {done.chunks:,} chunks are embedded and kept" if done else "nothing was begun"
    return f"interrupted: {made}, the old vectors answer; `bankml reindex {options}` goes on"


def _tell(done: "Reindexed", json: bool, resumed: str) -> None:
    if json:
        write_json(done.object())
        return
    kept = f", {done.resumed:,} of them {resumed}" if done.resumed else ""
    model = f"{done.bound.model_name} ({done.bound.dims} dimensions)"
    print(f"{done.done:,} of {done.chunks:,} chunks embedded with {model}{kept}")
    if done.truncated:
        note(f"{done.truncated:,} chunks are longer than the model reads: what is behind is found by words alone")
    for one in done.without[:SHOWN]:
        note(f"{one.path}, chunk {one.seq + 1}: {one.error}")
    if len(done.without) > SHOWN:
        note(f"and {len(done.without) - SHOWN:,} more; words alone find them")


def _note_others(store: "Store", settings: Settings, done: "Reindexed") -> None:
    """A setting that names another model fails the next command; a licence may forbid what is done with vectors."""
    from bankml.library.model.wanted import DEFAULT, asked
    from bankml.models import same

    other = asked(store.path, settings)
    if other.by != DEFAULT and not same(other.name, done.bound.model_name):
        note(f"{other.by} names {other.name} still: change it to {done.bound.model_name}, or the next command refuses")


def _shown() -> "AbstractContextManager[Callable[[Reindexed], None]]":
    """Chunks, tokens a second and the time that is left, on a person's terminal."""
    return facts("embedding", _how_far, numbers=True)


def _how_far(done: "Reindexed", seconds: float) -> tuple[str, int, int]:
    speed = f", {done.tokens / seconds:,.0f} tokens/s" if done.tokens and seconds else ""
    return f"chunks{speed}", done.done, max(done.done, done.chunks)
