"""Where a model comes from: built-ins, a hub, Ollama's store on disk, files. Importing this loads nothing heavy."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from bankml.models import builtin
from bankml.models.canonical import canonical, display, same
from bankml.models.catalogue import entries as list_models
from bankml.models.description import Description
from bankml.models.hub_name import HubName
from bankml.models.names import Choice, choose, find, not_here
from bankml.models.pinned import Pinned
from bankml.models.progress import Progress, shown
from bankml.settings import Settings

if TYPE_CHECKING:
    from bankml.models.conversion import Converted

__all__ = [
    "Choice",
    "Description",
    "canonical",
    "choose",
    "convert",
    "display",
    "fetch",
    "find",
    "list_models",
    "pull",
    "resolve",
    "same",
]


def resolve(name: str | os.PathLike[str] | None = None, progress: Progress | None = None) -> Choice:
    """The model that `name` means (None: the default one), with its file on this machine.

    A built-in that is missing is pulled, and so is a repository of a hub that bankml makes its file of: hf:owner/repo
    or a short name of one. GGUF files of a hub come by `pull` alone. Raises ModelError when there is none, with what
    would work. `progress` as in `pull`.
    """
    choice = choose(name)
    if choice.preset and not choice.present:
        with shown(progress) as show:
            builtin.make(choice.preset, Settings.read(), show)
    elif choice.repository:
        _download(choice.repository, None, progress, to_convert=True)
        return choose(name)
    elif not choice.present:
        raise not_here(choice.name, choice.pinned)
    return choice


def pull(name: str, progress: Progress | None = None) -> Path:
    """The GGUF file of `name`, downloaded first when it is missing, and made where a hub has safetensors alone.

    `name` is a built-in, hf:owner/repo, hf:owner/repo/file.gguf, bge-m3, or a short name such as bge-small-en-v1.5.

    `progress(what, done, total)` hears of bytes; None draws a bar on stderr if that is a terminal. Raises ModelError.
    """
    return fetch(name, progress)[0].path


def fetch(name: str, progress: Progress | None = None, pooling: str | None = None) -> tuple[Choice, bool]:
    """As `pull`: the model, and whether it had to be fetched.

    `pooling`: mean, cls or last, for a repository to be converted that does not say it. Raises PoolingError where it
    does not and None was given, before its weights are fetched.
    """
    if (source := _source(name)) is None:
        had = choose(name).present
        choice = resolve(name, progress)
        if choice.hub and choice.hub.weights:
            from bankml.models import optimised

            optimised.sweep(choice.path)
        return choice, not had
    fetched = _download(*source, progress, pooling=pooling)
    return choose(name), fetched


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


def _source(name: str) -> tuple[HubName, Pinned | None] | None:
    """Where on a hub the file of `name` is to be fetched from; None for one that is here, or comes another way."""
    choice = choose(name)
    if choice.present or choice.kind != "hub":
        return None
    if choice.pinned:
        return HubName.parse(choice.pinned.source), choice.pinned
    return choice.repository or HubName.parse(choice.name), None


def _download(
    source: HubName,
    pinned: Pinned | None,
    progress: Progress | None,
    to_convert: bool = False,
    pooling: str | None = None,
) -> bool:
    """Whether there was something to do. `to_convert`: a GGUF file is not fetched, however large or small it is."""
    from bankml.models.download import download

    with shown(progress) as show:
        return download(source, pinned, Settings.read(), show, to_convert, pooling)[1]
