"""The files of a repository that a conversion needs, on this disk until it is done."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bankml.errors import ModelError
from bankml.models import json_object, sentence_modules
from bankml.models.checkpoint import INDEX, WHOLE, weight_map
from bankml.models.hub import Hub
from bankml.models.progress import Progress, silent
from bankml.models.repository import Repository, RepositoryFile
from bankml.models.transfer import Transfer
from bankml.sizes import human

MODULES, PROMPTS = "modules.json", "config_sentence_transformers.json"
CONFIGS = ("config.json", "sentence_bert_config.json", "tokenizer_config.json", "special_tokens_map.json", INDEX)
POOLING = "1_Pooling"  # where there is no modules.json that says it
TOKENIZERS = ("tokenizer.json", "vocab.txt")  # the first that there is
MAX_CONFIG = 16 << 20  # bytes; the index of 400 tensors has some 40 KB


def convertible(listed: Repository) -> bool:
    """Whether the repository lists weights that a conversion reads."""
    return any(file.path.rpartition("/")[2] in (WHOLE, INDEX) for file in listed.files)


@dataclass(frozen=True)
class Staged:
    """The state of a repository that was listed, and the folder in which its files come to lie as they do there.

    Everything raises ModelError; what came is kept, and the next call goes on from it.
    """

    hub: Hub
    listed: Repository
    folder: Path

    def configs(self) -> None:
        """Fetches the few small files that say which graph it is, to be looked at before a large one is asked for."""
        self._sweep()
        self._fetch([MODULES], MAX_CONFIG)
        transformer, pooling = self._places()
        self._fetch([_in(transformer, name) for name in CONFIGS], MAX_CONFIG)
        self._fetch([PROMPTS, *(_in(place, "config.json") for place in pooling)], MAX_CONFIG)

    def large(self) -> list[RepositoryFile]:
        """The tokenizer and the weights, once the configs are here."""
        transformer, _ = self._places()
        tokenizers = self._listed([_in(transformer, name) for name in TOKENIZERS], json_object.MAX_BYTES)
        if not tokenizers:
            raise ModelError(f"{self.listed.name} has no {' and no '.join(TOKENIZERS)}: name another repository")
        return [tokenizers[0], *self._weights(transformer)]

    def fetch(self, files: Sequence[RepositoryFile], progress: Progress) -> None:
        """Fetches `files` as far as they are not here."""
        for transfer in map(self._transfer, files):
            transfer.target.parent.mkdir(parents=True, exist_ok=True)
            transfer.sweep()
            if not transfer.is_there():
                transfer.run(progress)
                os.replace(transfer.partial, transfer.target)

    def missing(self, files: Sequence[RepositoryFile]) -> int:
        """Bytes of `files` that are still to come."""
        return sum(transfer.missing for transfer in map(self._transfer, files) if not transfer.target.is_file())

    def _weights(self, transformer: str) -> list[RepositoryFile]:
        if whole := self.listed.find(_in(transformer, WHOLE)):
            return [whole]
        if not self.listed.find(_in(transformer, INDEX)):
            raise self.listed.unusable()
        names = sorted(set(weight_map(self.folder / transformer).values()))
        if absent := [name for name in names if not self.listed.find(_in(transformer, name))]:
            raise ModelError(
                f"{self.listed.name} lacks {absent[0]!r}, which its {INDEX} names: name another repository"
            )
        return self._listed([_in(transformer, name) for name in names])

    def _places(self) -> tuple[str, list[str]]:
        """The folders of the transformer and of poolings, as modules.json says."""
        if not (self.folder / MODULES).exists():
            return "", [POOLING]
        modules = sentence_modules.modules(self.folder / MODULES)
        transformers = [place for kind, place in modules if kind == "Transformer"]
        return (transformers or [""])[0], [place for kind, place in modules if kind == "Pooling"]

    def _listed(self, paths: Sequence[str], limit: int | None = None) -> list[RepositoryFile]:
        """Those that the repository has."""
        found = [file for file in map(self.listed.find, paths) if file]
        if large := [file for file in found if limit and file.size > limit]:
            raise ModelError(
                f"{self.listed.name} has a {large[0].path} of {human(large[0].size)}, and at most {human(limit or 0)} "
                "are read of it: name another repository"
            )
        return found

    def _fetch(self, paths: Sequence[str], limit: int) -> None:
        self.fetch(self._listed(paths, limit), silent)

    def _transfer(self, file: RepositoryFile) -> Transfer:
        name = replace(self.listed.name, file=file.path)
        return Transfer(self.hub, name, self.listed.commit, file, self.folder / file.path)

    def _sweep(self) -> None:
        """Deletes what an earlier pull left of another state: a file that is no longer listed would be converted."""
        kept = {
            path for transfer in map(self._transfer, self.listed.files) for path in (transfer.target, transfer.partial)
        }
        for path in [path for path in self.folder.rglob("*") if not path.is_dir()]:
            if path not in kept:
                path.unlink()


def _in(folder: str, name: str) -> str:
    """A path as the hub writes it."""
    return f"{folder.strip('/')}/{name}".lstrip("/")
