"""A Hugging Face folder becomes a GGUF file: whole, checked by loading it, or not there at all."""

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bankml.errors import InputError, ModelError
from bankml.gguf_numbers import POOLINGS
from bankml.models import atomic, hugging_face, model_card
from bankml.models.digest import sha256
from bankml.models.gguf_writer import Origin, write
from bankml.models.hugging_face import Source, recorded_pooling
from bankml.models.progress import Progress, silent
from bankml.utf8 import whole

__all__ = ["Converted", "convert", "recorded_pooling"]

TYPES = {"f32": "F32", "f16": "F16", "q8_0": "Q8_0"}


class TargetError(ModelError):
    """The disk does not take the file."""


@dataclass(frozen=True)
class Converted:
    """The file that was made. `notes` are sentences that its user should know."""

    path: Path
    name: str
    architecture: str
    layers: int
    dims: int
    context_length: int
    pooling: str
    type: str
    licence: str
    size: int
    sha256: str
    notes: tuple[str, ...]


def convert(
    folder: Path,
    target: Path,
    *,
    type: str = "f16",
    pooling: str | None = None,
    overwrite: bool = False,
    name: str = "",
    url: str = "",
    organization: str = "",
    licence: str = "",
    progress: Progress = silent,
) -> Converted:
    """Writes the model in `folder` as the GGUF file `target`; as bankml.models.convert.

    `licence`: None was stated where it is "", and README.md's counts. Raises TargetError, a ModelError, where the disk
    refuses and `folder` is not to blame.
    """
    if type not in TYPES:
        raise InputError(f"the type is {type!r}: it must be one of {', '.join(TYPES)}")
    if pooling not in (None, *POOLINGS[1:]):
        raise InputError(f"the pooling is {pooling!r}: it must be one of {', '.join(POOLINGS[1:])}")
    with _folder_errors(folder):
        _check_folder(folder)
        origin = Origin(whole(name or _name(folder)), licence or model_card.licence(folder), url, organization)
    with _target_errors(target):
        _check_target(target, overwrite)
    with _folder_errors(folder), hugging_face.opened(folder, TYPES[type], pooling) as source, _target_errors(target):
        with atomic.replacement(target) as temporary:
            write(temporary, origin, source.bert, source.tokenizer, source.tensors, progress)
            _load(temporary, source)
            _check_target(target, overwrite)  # again: it may have appeared meanwhile
        return _converted(target, origin, source, progress)


def _converted(target: Path, origin: Origin, source: Source, progress: Progress) -> Converted:
    bert = source.bert
    return Converted(
        path=target,
        name=origin.name,
        architecture="bert",
        layers=bert.layers,
        dims=bert.hidden,
        context_length=bert.context_length,
        pooling=bert.pooling,
        type=bert.matrices,
        licence=origin.licence,
        size=target.stat().st_size,
        sha256=sha256(target, progress),
        notes=source.notes,
    )


def _load(path: Path, source: Source) -> None:
    """What the engine refuses must not get the target's name."""
    from bankml._engine import Engine

    try:
        engine = Engine(path, 1)
    except ModelError as error:
        raise ModelError(f"the file that was made cannot be loaded ({error}): this model cannot be converted") from None
    found = (engine.dims, engine.context_length, engine.pooling)
    engine.close()
    if found != (source.bert.hidden, source.bert.context_length, source.bert.pooling):
        raise ModelError(f"the file that was made says {found}, and its source {source.bert}: it was not kept")


def _check_folder(folder: Path) -> None:
    if not folder.exists():
        raise ModelError(f"there is no folder {str(folder)!r}: check the path")
    if not folder.is_dir():
        raise ModelError(f"{str(folder)!r} is not a folder: give the one that holds config.json and model.safetensors")


def _check_target(target: Path, overwrite: bool) -> None:
    if target.suffix.lower() != ".gguf":
        raise InputError(f"{str(target)!r} does not end in .gguf, by which a model's file is known: add it")
    if target.is_dir():
        raise ModelError(f"{str(target)!r} is a folder: give the name of the file to write")
    if not overwrite and (target.exists() or target.is_symlink()):
        raise ModelError(f"{str(target)!r} is there already: give --force to replace it, or another name")


def _name(folder: Path) -> str:
    """The folder's; in the hub's cache, where that is a commit, the repository's."""
    place = folder.resolve()
    cached = re.fullmatch(r"models--.+--(.+)", place.parent.parent.name) if place.parent.name == "snapshots" else None
    return cached[1] if cached else place.name


@contextmanager
def _folder_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ModelError(f"{str(folder)!r} cannot be read ({error.strerror}): check the path") from None


@contextmanager
def _target_errors(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        remedy = "free some space there or choose another place" if full else "choose another place"
        raise TargetError(f"{str(target)!r} cannot be written ({error.strerror}): {remedy}") from None
