"""Models that were pulled from a hub, beside each a record of what it is.

A file of a hub is models/hf/owner/repo/file.gguf; what was made here of a repository's safetensors is
models/converted/owner/repo/repo-f16.gguf, in a folder of its own, so that no file of the repository has that place.
"""

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path

from bankml.models import atomic, json_object
from bankml.models.digest import is_sha256
from bankml.models.hub_name import HubName
from bankml.settings import Settings

FOLDER = "hf"
CONVERTED = "converted"
MAX_RECORD = 1 << 16  # bytes; a record is some 300


@dataclass(frozen=True)
class HubModel:
    """One file of a hub, on this machine. `commit` is the repository's state that it came from, 40 hex digits.

    `sha256` (64 hex digits) and `size` are what the file must have; `licence` is what its repository states, or "".
    `chosen`: a pull of the repository's name, not of the file's, brought it, and that name means it. `weights` are the
    files that it was converted from, with their sha256; such a model goes by its repository's name alone.
    """

    name: HubName
    path: Path
    commit: str
    sha256: str
    size: int
    licence: str
    chosen: bool = False
    weights: tuple[tuple[str, str], ...] = ()


def place(name: HubName, settings: Settings) -> Path:
    """Where the file of this name lies or will lie; of a repository's name, what is made of its safetensors."""
    if name.file:
        return _root(settings).joinpath(*name.path_parts)
    owner, repo, _ = name.path_parts
    return settings.models / CONVERTED / owner / repo / f"{name.repo}-f16.gguf"


def find(name: HubName, settings: Settings) -> HubModel | None:
    """The file of this name that was pulled; for a repository's name, the one that a pull of that very name brought."""
    if model := _model(name, place(name, settings)):
        return model
    return None if name.file else next((model for model in files(name, settings) if model.chosen), None)


def files(repository: HubName, settings: Settings) -> list[HubModel]:
    """The files that were pulled of this repository and revision, by name."""
    wanted = (repository.owner, repository.repo, repository.revision)
    found = [model for model in models(settings) if model.name.file]
    return [model for model in found if (model.name.owner, model.name.repo, model.name.revision) == wanted]


def models(settings: Settings) -> list[HubModel]:
    """Everything that was pulled, by name: files of hubs first, then what was converted."""
    root, converted = _root(settings), settings.models / CONVERTED
    paths = sorted(path for path in root.glob("*/*/**/*") if path.suffix.lower() == ".gguf")
    names = [(HubName.of_path(path.relative_to(root).parts), path) for path in paths]
    names += [(_repository(path, converted), path) for path in sorted(converted.glob("*/*/*.gguf"))]
    found = [_model(name, path) for name, path in names if name and path == place(name, settings)]
    return [model for model in found if model]


def write(model: HubModel) -> None:
    """Stores the record of `model`; from then on a file in its place is that model."""
    record = {
        "name": str(model.name),
        "commit": model.commit,
        "sha256": model.sha256,
        "size": model.size,
        "licence": model.licence,
        "chosen": model.chosen,
        **({"weights": dict(model.weights)} if model.weights else {}),
    }
    with atomic.replacement(_record(model.path)) as temporary:
        temporary.write_text(json.dumps(record, indent=1) + "\n")


def _root(settings: Settings) -> Path:
    return settings.models / FOLDER


def _repository(path: Path, root: Path) -> HubName | None:
    """Of a converted file's place."""
    name = HubName.of_path(path.relative_to(root).parts)
    return name and replace(name, file="")


def forget(path: Path) -> None:
    """Deletes the record of the file `path`, before another gets its place."""
    _record(path).unlink(missing_ok=True)


def _record(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


def _model(name: HubName, path: Path) -> HubModel | None:
    """None without the file or a sound record of it: then it counts as not pulled."""
    record = json_object.read_sound(_record(path), MAX_RECORD) if os.path.isfile(path) else {}
    match record:
        case {"commit": str(commit), "sha256": str(sha256), "size": int(size), "licence": str(licence)}:
            chosen = record.get("chosen") is True
            made_of = _weights(record.get("weights"))
            return HubModel(name, path, commit, sha256, size, licence, chosen, made_of) if is_sha256(sha256) else None
    return None


def _weights(listed: object) -> tuple[tuple[str, str], ...]:
    pairs = listed.items() if isinstance(listed, dict) else ()
    return tuple((name, digest) for name, digest in pairs if isinstance(digest, str) and is_sha256(digest))
