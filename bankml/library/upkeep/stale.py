"""Whether vectors have to be made anew after a setting was changed."""

from pathlib import Path

from bankml.errors import MismatchError, UnavailableError
from bankml.library.model import binding
from bankml.library.model.counts import Counts
from bankml.library.model.fingerprint import fingerprint
from bankml.library.model.initialise import missing
from bankml.library.model.wanted import wanted
from bankml.settings import Settings
from bankml.store import Store, config


def stale(path: Path, settings: Settings) -> str:
    """Why `bankml reindex --vectors` is wanted for the store at `path`, in one sentence; "" where it is not.

    Nothing is loaded or changed. Raises StoreError.
    """
    if missing(path):
        return ""
    with Store.open(path, read_only=True) as store:
        with store.reading() as db:
            recorded, counts = config.get(db, "model_name"), Counts.of(db)
        try:
            foreign = counts.foreign(fingerprint(binding.embedder(store, settings)))
        except MismatchError:
            asked = wanted(store, settings)
            return (
                f"the vectors are of {recorded}, and {asked.name} is asked for now ({asked.by}): until they are made "
                "anew `bankml search` refuses, and agents are answered by words alone"
            )
        except UnavailableError:  # the model is the same and not here, or nothing is to be embedded
            return ""
    return f"{foreign:,} vectors are of another recipe and are not searched any more" if foreign else ""
