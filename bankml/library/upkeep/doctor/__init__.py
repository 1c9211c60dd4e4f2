"""Everything that can be wrong with a knowledge base, looked at one by one, and what is derived made anew."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from bankml.errors import BusyError, Error
from bankml.library.upkeep.doctor import file, matrix, model, neighbours, passages, records, sources, vectors
from bankml.library.upkeep.doctor.finding import Finding, ill, well
from bankml.settings import Settings
from bankml.store import Store

__all__ = ["Finding", "checks", "examine", "repair"]

Check = Callable[[], Finding]


def examine(path: Path, settings: Settings) -> list[Finding]:
    """What each check finds of the store at `path`; nothing is raised, and nothing changed but an older schema."""
    try:
        Store.open(path).close()  # brings its tables to this version's, as every command does
        with Store.open(path, read_only=True) as store:
            return [well("file", f"{path} is a knowledge base"), *_found(store, settings)]
    except Error as error:
        return [ill("file", [str(error)], "it cannot be opened", "")]  # whose sentence says what to do


def repair(path: Path, settings: Settings) -> list[str]:
    """Makes anew what is derived from documents and their text, which stay as they are; what was done.

    Raises StoreError.
    """
    with Store.open(path) as store:
        return [found.mend(store) for found in _found(store, settings) if found.mend]


def checks(store: Store, settings: Settings) -> list[tuple[str, Check]]:
    """Every check by its name; what one finds is in its words."""
    return [
        ("pages", partial(file.pages, store)),
        ("tables", partial(file.tables, store)),
        ("record", partial(file.record, store)),
        ("reindex", partial(file.unfinished, store)),
        ("references", partial(passages.references, store)),
        ("records", partial(records.records, store)),
        ("texts", partial(passages.texts, store)),
        ("words", partial(passages.fts, store)),
        ("vectors", partial(vectors.numbers, store)),
        ("coverage", partial(vectors.recipes, store, settings)),
        ("matrix", partial(matrix.matrix, store, settings)),
        ("neighbours", partial(neighbours.neighbours, store, settings)),
        ("files", partial(sources.files, store)),
        ("model", partial(model.model, store, settings)),
    ]


def _found(store: Store, settings: Settings) -> Iterator[Finding]:
    for name, check in checks(store, settings):
        try:
            yield check()
        except BusyError as error:
            yield ill(name, [str(error)], "it could not be looked at", "`bankml doctor` when others have written")
        except Exception as error:  # a damaged row can be of any type
            yield ill(name, [str(error) or type(error).__name__], "it cannot be looked at", file.RESTORE)
