from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGUFReader, GGUFWriter

from bankml.errors import ModelError
from bankml.models.gguf_writer import Bert, Origin, Tensor, write

BERT = Bert(1, 32, 64, 4, 16, 1e-12, "cls", 1, "F16")
MATRIX = np.arange(64, dtype=np.float32).reshape(2, 32) / 3
BLOCKS = np.arange(36, dtype=np.uint8).reshape(2, 18)


def tokenizer(writer: GGUFWriter) -> None:
    writer.add_tokenizer_model("bert")


def written(path: Path, *tensors: Tensor) -> GGUFReader:
    write(path, Origin("a name", "Apache-2.0", "https://example.org", "an organization"), BERT, tokenizer, tensors)
    return GGUFReader(path)


def value(reader: GGUFReader, key: str) -> Any:
    return reader.fields[key].contents()


def test_every_key_is_there(tmp_path: Path) -> None:
    reader = written(tmp_path / "f.gguf", Tensor("a", "F32", (2, 32), lambda: MATRIX))
    expected = {
        "general.architecture": "bert", "general.name": "a name", "general.license": "apache-2.0",
        "general.source.url": "https://example.org", "general.organization": "an organization",
        "general.file_type": 1, "general.quantization_version": 2,
        "bert.block_count": 1, "bert.context_length": 16, "bert.embedding_length": 32, "bert.feed_forward_length": 64,
        "bert.attention.head_count": 4, "bert.attention.causal": False, "bert.pooling_type": 2,
        "tokenizer.ggml.token_type_count": 1, "tokenizer.ggml.model": "bert",
    }  # fmt: skip
    assert {key: value(reader, key) for key in expected} == expected
    assert value(reader, "bert.attention.layer_norm_epsilon") == np.float32(1e-12)


def test_tensors_are_stored_as_their_types_say(tmp_path: Path) -> None:
    tensors = [
        Tensor("wide", "F32", (2, 32), lambda: MATRIX),
        Tensor("half", "F16", (2, 32), lambda: MATRIX),
        Tensor("blocks", "Q4_0", (2, 18), lambda: BLOCKS),
        Tensor("vector", "F32", (32,), lambda: MATRIX[1]),
    ]
    found = {tensor.name: tensor for tensor in written(tmp_path / "f.gguf", *tensors).tensors}
    np.testing.assert_array_equal(found["wide"].data, MATRIX)
    np.testing.assert_array_equal(found["half"].data, MATRIX.astype(np.float16))
    np.testing.assert_array_equal(found["vector"].data, MATRIX[1])
    assert found["blocks"].data.tobytes() == BLOCKS.tobytes()
    assert [list(found[name].shape) for name in ("half", "blocks", "vector")] == [[32, 2], [32, 2], [32]]


def test_same_input_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        written(tmp_path / name, Tensor("t", "F16", (2, 32), lambda: MATRIX))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("bad", [np.inf, np.nan, 65_520.0])
def test_a_value_the_type_cannot_hold_is_refused(tmp_path: Path, bad: float) -> None:
    matrix = MATRIX.copy()
    matrix[1, 5] = bad
    with pytest.raises(ModelError, match="t has a value that F16 cannot hold"):
        written(tmp_path / "f.gguf", Tensor("t", "F16", (2, 32), lambda: matrix))


def test_a_shape_that_is_not_the_announced_one_is_refused(tmp_path: Path) -> None:
    tensor = replace(Tensor("t", "F32", (2, 32), lambda: MATRIX), shape=(32, 2))
    with pytest.raises(ModelError, match=r"t has shape \(2, 32\), not \(32, 2\)"):
        written(tmp_path / "f.gguf", tensor)
