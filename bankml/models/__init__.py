"""Where a model comes from: built-ins, Ollama's store on disk, files. Importing this loads nothing heavy."""

import os
from pathlib import Path

from bankml.models import builtin
from bankml.models.catalogue import entries as list_models
from bankml.models.description import Description
from bankml.models.names import Choice, choose, find
from bankml.models.progress import Progress, shown
from bankml.settings import Settings

__all__ = ["Choice", "Description", "choose", "find", "list_models", "pull", "resolve"]


def resolve(name: str | os.PathLike[str] | None = None, progress: Progress | None = None) -> Choice:
    """The model that `name` means (None: the default one), with its file on this machine: a missing built-in is pulled.

    Raises ModelError when there is none, with what would work. `progress` as in `pull`.
    """
    choice = choose(name)
    if choice.preset and not choice.present:
        with shown(progress) as show:
            builtin.make(choice.preset, Settings.read(), show)
    return choice


def pull(name: str, progress: Progress | None = None) -> Path:
    """The GGUF file of `name`, downloaded and converted first when it is a built-in that is missing.

    `progress(what, done, total)` hears of bytes; None draws a bar on stderr if that is a terminal. Raises ModelError.
    """
    return resolve(name, progress).path
