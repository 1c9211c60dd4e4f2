"""Where a model comes from: built-ins, Ollama's store on disk, files. Importing this loads nothing heavy."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from bankml.models import builtin
from bankml.models.catalogue import entries as list_models
from bankml.models.description import Description
from bankml.models.names import Choice, choose, find
from bankml.models.progress import Progress, shown
from bankml.settings import Settings

if TYPE_CHECKING:
    from bankml.models.conversion import Converted

__all__ = ["Choice", "Description", "choose", "convert", "find", "list_models", "pull", "resolve"]


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


def convert(
    folder: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    type: Literal["f32", "f16", "q8_0"] = "f16",
    pooling: Literal["mean", "cls", "last"] | None = None,
    overwrite: bool = False,
    name: str = "",
    url: str = "",
    organization: str = "",
    progress: Progress | None = None,
) -> "Converted":
    """Writes the BERT or XLM-RoBERTa encoder in a Hugging Face folder as the GGUF file `target`.

    `target` must end in .gguf. `type` is that of the matrices; `pooling` answers where the folder records none. `name`
    (else the folder's), `url` and `organization` are stored in the file, and the licence that README.md states.
    `progress` as in `pull`. Raises ModelError when the folder cannot be converted, `target` cannot be written, or it is
    there and `overwrite` is False; nothing is left behind then. Raises InputError for an option that is not one.
    """
    from bankml.models import conversion

    with shown(progress) as show:
        return conversion.convert(
            Path(folder),
            Path(target),
            type=type,
            pooling=pooling,
            overwrite=overwrite,
            name=name,
            url=url,
            organization=organization,
            progress=show,
        )
