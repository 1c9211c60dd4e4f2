"""What every library gets, as a folder: texts and their vectors, questions and theirs. Loads nothing but numpy."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Job:
    """`warm` questions of the first are asked and not timed; `model` made the vectors; `language` is of the texts."""

    texts: Sequence[str]
    questions: Sequence[str]
    model: str
    language: str = ""
    warm: int = 0
    k: int = 10

    def write(self, folder: Path, vectors: Floats, asked: Floats) -> None:
        """Leaves it in a folder, with the vectors of its texts (texts, dims) and questions."""
        (folder / "job.json").write_text(json.dumps(asdict(self)), encoding="utf-8")
        np.save(folder / "vectors.npy", vectors)
        np.save(folder / "asked.npy", asked)

    @classmethod
    def read(cls, folder: Path) -> tuple["Job", Floats, Floats]:
        """What `write` left there."""
        job = cls(**json.loads((folder / "job.json").read_text(encoding="utf-8")))
        return job, np.load(folder / "vectors.npy"), np.load(folder / "asked.npy")
