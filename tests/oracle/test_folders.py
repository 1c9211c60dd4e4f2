"""The float64 encoder on a folder's own weights: agrees with a right conversion, and not with a wrong one."""

from pathlib import Path
from typing import Any

import pytest

from bankml import models
from bankml._engine import Engine
from oracle import folders, vectors

TEXTS = ["why is the sky blue?", "hello", "Ein Satz: текст"]


@pytest.fixture
def converted(xlmr_folder: Path, tmp_path: Path) -> tuple[Path, list[list[int]]]:
    path = models.convert(xlmr_folder, tmp_path / "m.gguf", type="f32").path
    engine = Engine(path, threads=1)
    return path, [engine.tokenize(text)[0] for text in TEXTS]


@pytest.mark.parametrize("wrong", [{}, {"first": 0}, {"first": 1}, {"pooling": "mean"}, {"epsilon": 1e-2}])
def test_a_wrong_conversion_is_caught(
    xlmr_folder: Path, converted: tuple[Path, list[list[int]]], wrong: dict[str, Any]
) -> None:
    path, ids = converted
    reference = folders.FolderReference(xlmr_folder, "cls")
    for name, value in wrong.items():
        setattr(reference, name, value)
    found = vectors.distance(vectors.encode_ids(path, ids), reference.encode_ids(ids))
    assert vectors.FLOATS.allows(found) is (not wrong), found


def test_llama_cpp_loads_what_is_converted_and_agrees(xlmr_folder: Path, tmp_path: Path) -> None:
    llama = pytest.importorskip("oracle.llama")
    path = models.convert(xlmr_folder, tmp_path / "m.gguf").path
    theirs, engine = llama.Tokenizer(path), Engine(path)
    ids = [engine.tokenize(text)[0] for text in TEXTS]
    assert [theirs.ids(text) for text in TEXTS] == ids
    ours = vectors.encode_ids(path, ids, "tanh")
    assert vectors.distance(ours, llama.encode_ids(path, ids)).cosine >= vectors.LLAMA
