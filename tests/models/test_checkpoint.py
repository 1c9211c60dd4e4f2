import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bankml.errors import ModelError
from bankml.models.checkpoint import Checkpoint
from oracle import folders

A, B = np.arange(6, dtype=np.float32).reshape(3, 2), np.ones(2, np.float16)


def sharded(folder: Path, **weight_map: Any) -> Path:
    """Tensors a and b in a file each, and an index."""
    folders.write_safetensors(folder / "1.safetensors", {"a": A})
    folders.write_safetensors(folder / "2.safetensors", {"b": B})
    listed = {"a": "1.safetensors", "b": "2.safetensors", **weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": listed}))
    return folder


def test_one_file_and_several_give_the_same(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    folders.write_safetensors(tmp_path / "one" / "model.safetensors", {"a": A, "b": B})
    for folder in (tmp_path / "one", sharded(tmp_path)):
        with Checkpoint(folder) as weights:
            assert sorted(weights.names) == ["a", "b"]
            assert weights.shape("a") == (3, 2)
            np.testing.assert_array_equal(np.concatenate(list(weights.runs("a", first=1))), A[1:])
            np.testing.assert_array_equal(next(weights.runs("b")), B)


@pytest.mark.parametrize(
    ("weight_map", "words"),
    [
        ({"c": "2.safetensors"}, r"2.safetensors: tensor 'c' is missing, which model.safetensors.index.json lists"),
        ({"c": "3.safetensors"}, "3.safetensors cannot be opened"),
        ({"c": "../1.safetensors"}, "must lie in the same folder"),
        ({"c": "/1.safetensors"}, "must lie in the same folder"),
        ({"c": 1}, "must lie in the same folder"),
        ({"c": "\x1b[2J"}, r"names the file '\\x1b\[2J': .* must lie in the same folder"),
        ({"c": "a\0"}, "must lie in the same folder"),
        ({"c": "\ud800"}, "must lie in the same folder"),
        ({"c": "x" * 300}, r"x cannot be opened \(File name too long\): fetch it again"),
    ],
)
def test_an_index_that_does_not_fit_is_refused(tmp_path: Path, weight_map: dict[str, Any], words: str) -> None:
    with pytest.raises(ModelError, match=words):
        Checkpoint(sharded(tmp_path, **weight_map))


def test_a_tensor_in_two_files_is_refused(tmp_path: Path) -> None:
    sharded(tmp_path)
    folders.write_safetensors(tmp_path / "2.safetensors", {"a": A, "b": B})
    with pytest.raises(ModelError, match=r"tensor 'a' is in 1.safetensors too"):
        Checkpoint(tmp_path)


@pytest.mark.parametrize("content", ["{}", '{"weight_map": []}', '{"weight_map": {}}'])
def test_an_index_without_a_map_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "model.safetensors.index.json").write_text(content)
    with pytest.raises(ModelError, match="has no weight_map"):
        Checkpoint(tmp_path)


@pytest.mark.parametrize(
    ("name", "words"), [("pytorch_model.bin", "a pickle may run any program"), ("x", "no model.s")]
)
def test_a_pickle_is_never_opened(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / name).write_bytes(b"cos\nsystem\n(S'touch /tmp/opened'\ntR.")
    with pytest.raises(ModelError, match=words):
        Checkpoint(tmp_path)


def test_a_missing_tensor_is_named(tmp_path: Path) -> None:
    with Checkpoint(sharded(tmp_path)) as weights, pytest.raises(ModelError, match="tensor 'c' is missing"):
        weights.shape("c")
