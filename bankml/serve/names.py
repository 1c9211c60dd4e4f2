"""Which model a client means: the served one by any of its names, else one that is already on this machine."""

import asyncio
import re
from dataclasses import replace

from bankml import models
from bankml.models import Choice, presets
from bankml.serve.errors import RefusedError, not_found

_PART = r"[a-z0-9_][a-z0-9_.-]{0,79}"
_VALID = re.compile(rf"([a-z0-9_][a-z0-9_.:-]{{0,349}}/)?({_PART}/)?{_PART}(:{_PART})?", re.IGNORECASE | re.ASCII)


class Names:
    """Looks up model names. `served` is the model the server was started with."""

    def __init__(self, served: Choice) -> None:
        self.served = served
        preset = presets.find(served.name)
        names = (served.name, served.path.stem, *(preset.aliases if preset else ()))
        self._served = {_key(name) for name in names}

    def add(self, alias: str) -> None:
        """One more name of the served model."""
        self._served.add(_key(alias))

    async def find(self, name: str) -> Choice:
        """The model of this name. Raises RefusedError: 400 for none or a malformed one, 404 for an unknown one."""
        if not name:
            raise RefusedError(400, "model is required")
        if _key(name) in self._served:
            return self.served
        if not _VALID.fullmatch(name):
            raise RefusedError(400, "invalid model name")
        choice = await asyncio.to_thread(_on_this_machine, name)
        if choice is None:
            raise not_found(name)
        return choice


def _on_this_machine(name: str) -> Choice | None:
    """A model of bankml's folder or of Ollama's store. A client's name is never taken for a path."""
    choice = models.find(name)
    if choice and choice.kind != "file":
        return choice
    stem = name.removesuffix(":latest")
    own = (entry.choice for entry in models.list_models() if entry.kind == "file")
    return next((replace(choice, name=stem) for choice in own if choice.path.stem == stem), None)


def _key(name: str) -> str:
    return name.casefold().removesuffix(":latest")
