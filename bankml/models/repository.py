"""What a repository of a hub holds, as the hub lists it. Nothing in the answer is believed before it is checked."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

import msgspec

from bankml.errors import ModelError
from bankml.models.digest import is_sha256
from bankml.models.hub import Hub
from bankml.models.hub_name import HubName
from bankml.sizes import human

MAX_LISTING = 64 << 20  # bytes; a repository of 100,000 files is listed in some 20 MB
LISTED = 12  # files in an error message
MAIN = "main"
PICKLED = ("pytorch_model.bin", "pytorch_model.bin.index.json")

_COMMIT = re.compile(r"[0-9a-f]{40}", re.ASCII)
_F16 = re.compile(r"(?<![a-z0-9])fp?16(?![a-z0-9])", re.IGNORECASE)


class _Lfs(msgspec.Struct):
    sha256: str
    size: int


class _Sibling(msgspec.Struct, rename="camel"):
    rfilename: str
    size: int | None = None
    blob_id: str | None = None
    lfs: _Lfs | None = None


class _Info(msgspec.Struct):
    sha: str
    siblings: list[_Sibling]
    tags: list[str] | None = None


@dataclass(frozen=True)
class RepositoryFile:
    """A file by its path. `sha256` is "" for one that is kept in git itself, of which git's sha1 is known alone."""

    path: str
    size: int
    sha256: str
    identity: str  # the sha256, or git's sha1 of the content: 64 or 40 hex digits


@dataclass(frozen=True)
class Repository:
    """The state `commit` of the repository `name`, whose `file` is the one that was asked for, or ""."""

    name: HubName
    commit: str
    licence: str
    files: tuple[RepositoryFile, ...]

    @property
    def models(self) -> tuple[RepositoryFile, ...]:
        """Its GGUF files."""
        return tuple(file for file in self.files if _is_model(file, self.name))

    def find(self, path: str) -> RepositoryFile | None:
        """Its file of this path."""
        return next((file for file in self.files if file.path == path), None)

    def pick(self) -> RepositoryFile:
        """The file that was asked for, or that the repository's name alone means. Raises ModelError with a list."""
        if self.name.file:
            if file := self.find(self.name.file):
                return file
            raise ModelError(
                f"{replace(self.name, file='')} has no file {self.name.file}: it has {_listed(self.files)}"
            )
        if not self.models:
            raise self.unusable()
        picked = preferred([file.path for file in self.models])
        if picked and (file := self.find(picked)):
            return file
        raise self._several()

    def unusable(self) -> ModelError:
        """The error where there is neither a GGUF file nor safetensors."""
        if pickled := next((file.path for file in self.files if file.path.endswith(PICKLED)), ""):
            return ModelError(
                f"{self.name} has its weights in {pickled} alone, and a pickle may run any program when it is opened: "
                "name another repository, or a revision (hf:owner/repo@revision), with model.safetensors or a GGUF file"
            )
        return ModelError(
            f"{self.name} has no GGUF file and no model.safetensors to make one of, only {_listed(self.files)}: name "
            "another repository"
        )

    def _several(self) -> ModelError:
        return ModelError(
            f"{self.name} has {len(self.models)} GGUF files: name one, as in `bankml pull "
            f"{replace(self.name, file=self.models[0].path)}`; they are {_listed(self.models)}"
        )


def read(hub: Hub, name: HubName) -> Repository:
    """Asks `hub` for the listing of `name`'s repository. Raises ModelError."""
    path = f"api/models/{name.repository}/revision/{quote(name.revision or MAIN, safe='')}?blobs=true"
    with hub.stream(path, name) as response:
        content = _body(response, hub)
    try:
        info = msgspec.json.decode(content, type=_Info)
    except (msgspec.DecodeError, RecursionError):
        raise _no_hub(hub) from None
    if not _COMMIT.fullmatch(info.sha):
        raise _no_hub(hub)
    licence = next((tag.removeprefix("license:") for tag in info.tags or () if tag.startswith("license:")), "")
    files = [file for file in map(_file, info.siblings) if file]
    return Repository(name, info.sha, licence, tuple(sorted(files, key=lambda file: file.path)))


def preferred(files: Sequence[str]) -> str | None:
    """The file that a repository's name alone means: its only one, else the only one that calls itself F16 (or FP16).

    F16 holds what was trained, and every number of it is used as it is; None when the choice is the user's.
    """
    candidates = files if len(files) == 1 else [file for file in files if _F16.search(file.rpartition("/")[2])]
    return candidates[0] if len(candidates) == 1 else None


def _body(response: Any, hub: Hub) -> bytes:
    content = bytearray()
    for chunk in response.iter_bytes():
        content += chunk
        if len(content) > MAX_LISTING:
            raise _no_hub(hub)
    return bytes(content)


def _file(sibling: _Sibling) -> RepositoryFile | None:
    """None for a file without a size or a digest, or with a name that could not be shown."""
    sha256 = sibling.lfs.sha256 if sibling.lfs else ""
    size = sibling.lfs.size if sibling.lfs else sibling.size
    identity = sha256 or sibling.blob_id or ""
    sound = is_sha256(sha256) if sha256 else _COMMIT.fullmatch(identity)
    if size is None or size < 0 or not sound or not sibling.rfilename.isprintable():
        return None
    return RepositoryFile(sibling.rfilename, size, sha256, identity)


def _is_model(file: RepositoryFile, name: HubName) -> bool:
    return file.path.lower().endswith(".gguf") and not replace(name, file=file.path).invalid_part()


def _listed(files: Sequence[RepositoryFile]) -> str:
    """Models first, with their sizes."""
    ordered = sorted(files, key=lambda file: (not file.path.lower().endswith(".gguf"), file.path))
    shown = [f"{file.path} ({human(file.size)})" for file in ordered[:LISTED]]
    more = [f"{len(files) - LISTED} more"] if len(files) > LISTED else []
    return ", ".join(shown + more) or "nothing"


def _no_hub(hub: Hub) -> ModelError:
    return ModelError(f"{hub} does not answer as a hub does: check HF_ENDPOINT, and whether a proxy asks for a login")
