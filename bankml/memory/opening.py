"""The store of those who remember, made where there is none."""

from contextlib import suppress
from pathlib import Path

from bankml import models
from bankml.errors import Error
from bankml.library.model import binding
from bankml.library.model.initialise import missing
from bankml.library.model.wanted import asked
from bankml.settings import Settings
from bankml.store import Store


def opened(path: Path, settings: Settings, model: str | None = None) -> Store:
    """The store at `path`. One that is made has the name of its model recorded, as by `init`; nothing is downloaded.

    `model`: as --model. The first write that finds the model on this machine binds the store to it. Raises StoreError.
    """
    if not missing(path):
        return Store.open(path)
    wanted = asked(path, settings, model)
    store = Store.create(path)
    with suppress(Error):  # a name that means nothing keeps nobody from writing; what is to embed says it
        name = (
            wanted.name if settings.embed_provider == "ollama" else models.display(models.choose(wanted.name, settings))
        )
        with store.writing() as db:
            binding.promise(db, name, wanted)
    return store
