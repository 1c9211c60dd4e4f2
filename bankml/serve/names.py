"""Which model a client means: the served one by any of its names, else one that is already on this machine."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from bankml import models
from bankml.errors import InputError
from bankml.models import Choice, hub_name
from bankml.models.hub_name import HubName
from bankml.models.ollama_name import OllamaName
from bankml.serve.errors import RefusedError, not_found


class Names:
    """Looks up model names. `served` is the model the server was started with."""

    def __init__(self, served: Choice) -> None:
        self.served = served
        names = (served.name, served.path.stem, *served.aliases)
        self._served = {key(name) for name in names}
        self._added: set[str] = set()
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="names")  # listings of files keep no name waiting

    def add(self, alias: str) -> None:
        """One more name of the served model, which any other model of that name goes before.

        It is what the file calls itself, and a file may call itself anything.
        """
        self._added.add(key(alias))

    async def find(self, name: str) -> Choice:
        """The model of this name, which is never taken for a path and never pulled.

        Raises RefusedError: 400 for none or a malformed one, 404 for an unknown one; ModelError for a damaged one.
        """
        if not name:
            raise RefusedError(400, "model is required")
        if key(name) in self._served:
            return self.served
        find = asyncio.get_running_loop().run_in_executor
        if choice := await find(self._threads, models.find, name.removesuffix(":latest")):
            return choice
        if key(name) in self._added:
            return self.served
        raise _unknown(name)


def _unknown(name: str) -> RefusedError:
    try:
        HubName.parse(name) if name.startswith(hub_name.PREFIX) else OllamaName.parse(name)
    except InputError:
        return RefusedError(400, "invalid model name")
    return not_found(name)


def key(name: str) -> str:
    """What names of one model have in common: neither case nor the tag `latest` counts."""
    return name.casefold().removesuffix(":latest")
