"""The weights of a Hugging Face folder: one safetensors file, or several with an index."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from bankml.errors import ModelError
from bankml.models import json_object
from bankml.models.safetensors import Safetensors
from bankml.utf8 import printable

WHOLE, INDEX = "model.safetensors", "model.safetensors.index.json"
PICKLED = ("pytorch_model.bin", "pytorch_model.bin.index.json")


class Checkpoint:
    """The open files. Raises ModelError, naming the file and the tensor, for whatever is missing or wrong."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files: dict[str, Safetensors] = {}  # by the tensor's name
        with ExitStack() as opened:
            for name in _file_names(folder):
                self._add(opened.enter_context(Safetensors(folder / name)))
            self._check_index()
            self._opened = opened.pop_all()

    def __enter__(self) -> "Checkpoint":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._opened.close()

    @property
    def names(self) -> list[str]:
        """Of all tensors."""
        return list(self._files)

    def shape(self, name: str) -> tuple[int, ...]:
        """The tensor's shape, slowest dimension first."""
        return self._file(name).shape(name)

    def check_float(self, name: str) -> None:
        """Raises when the tensor is of a type that cannot be read as float32."""
        self._file(name).check_float(name)

    def runs(self, name: str, first: int = 0) -> Iterator[NDArray[np.float32]]:
        """The tensor's rows from `first` on, a few MB at a time."""
        return self._file(name).runs(name, first)

    def _file(self, name: str) -> Safetensors:
        if name not in self._files:
            raise ModelError(
                f"{self.folder}: tensor {name!r} is missing: the weights are not of the kind that config.json says"
            )
        return self._files[name]

    def _add(self, file: Safetensors) -> None:
        for name in file.entries:
            if name in self._files:
                raise ModelError(
                    f"{file.path}: tensor {name!r} is in {self._files[name].path.name} too: fetch both again"
                )
            self._files[name] = file

    def _check_index(self) -> None:
        if (self.folder / WHOLE).exists():
            return
        for name, file in weight_map(self.folder).items():
            if name not in self._files:
                raise ModelError(
                    f"{self.folder / file}: tensor {name!r} is missing, which {INDEX} lists: fetch it again"
                )


def _file_names(folder: Path) -> list[str]:
    if (folder / WHOLE).exists():
        return [WHOLE]
    if (folder / INDEX).exists():
        return sorted(set(weight_map(folder).values()))
    if pickled := [name for name in PICKLED if (folder / name).exists()]:
        raise ModelError(
            f"{folder} has its weights in {pickled[0]} alone, and a pickle may run any program when it is opened: "
            f"fetch {WHOLE} of this model, or save it again with safetensors"
        )
    raise ModelError(f"{folder} has no {WHOLE} and no {INDEX}: the model's folder is incomplete")


def weight_map(folder: Path) -> dict[str, str]:
    """Each tensor's file, as the index in `folder` says. Raises ModelError when that is damaged or leads elsewhere."""
    listed = json_object.read(folder / INDEX).get("weight_map")
    if not isinstance(listed, dict) or not listed:
        raise ModelError(f"{folder / INDEX} has no weight_map: fetch it again")
    for file in listed.values():
        if not isinstance(file, str) or Path(file).name != file or printable(file) != file:
            raise ModelError(f"{folder / INDEX} names the file {file!r}: the files must lie in the same folder")
    return listed
