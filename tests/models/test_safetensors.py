import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankml.errors import ModelError
from bankml.models.safetensors import Safetensors

Writer = Callable[[Path, dict[str, np.ndarray]], None]


def file_of(path: Path, header: Any, data: bytes = b"") -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def entry(dtype: str = "F32", shape: Any = (2,), offsets: Any = (0, 8)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
def test_tensors_come_back(tmp_path: Path, safetensors_writer: Writer, dtype: type) -> None:
    arrays = {"a": np.arange(6, dtype=dtype).reshape(2, 3) / 7, "b": np.ones(1, dtype), "none": np.ones((0, 4), dtype)}
    safetensors_writer(tmp_path / "file", arrays)
    with Safetensors(tmp_path / "file") as file:
        for name, array in arrays.items():
            assert file.shape(name) == array.shape
            read = list(file.runs(name))
            assert all(run.dtype == np.float32 for run in read)
            np.testing.assert_array_equal(np.concatenate([array[:0], *read]), array.astype(np.float32))


def test_bfloat16_is_widened_exactly(tmp_path: Path) -> None:
    values = np.array([1.0, -2.5, 3e38, 1e-40], np.float32)
    stored = (values.view(np.uint32) >> 16).astype("<u2")
    with Safetensors(file_of(tmp_path / "f", {"a": entry("BF16", (4,))}, stored.tobytes())) as file:
        (read,) = file.runs("a")
        np.testing.assert_array_equal(read.view(np.uint32), stored.astype(np.uint32) << 16)


@pytest.mark.parametrize(
    ("header", "data", "words"),
    [
        (b"{", b"", "header is not JSON"),
        (b"[]", b"", "header is not an object"),
        (b'{"a":' * 100_000, b"", "header is not JSON"),
        (b'{"a": 1, "a": 1}', b"", "a name occurs twice"),
        ({"a": entry()}, b"\0" * 7, "does not fit its place"),
        ({"a": entry()}, b"\0" * 9, "ends at byte"),
        ({"a": entry(shape=(3,))}, b"\0" * 8, "does not fit"),
        ({"a": entry(shape=(2**62, 2**62, 0))}, b"\0" * 8, "does not fit"),
        ({"a": entry(shape=(-2,))}, b"\0" * 8, "not a count"),
        ({"a": entry(shape=(True, 2))}, b"\0" * 8, "not a count"),
        ({"a": entry(offsets=(-8, 0))}, b"\0" * 8, "not a count"),
        ({"a": entry(offsets=(0.0, 8))}, b"\0" * 8, "not a count"),
        ({"a": entry(offsets=(0, 2**70))}, b"\0" * 8, "does not fit"),
        ({"a": entry("F99")}, b"\0" * 8, "unknown dtype 'F99'"),
        ({"a": {"dtype": "F32"}}, b"", "not described"),
        ({"a": entry(), "b": entry()}, b"\0" * 16, "overlap"),
        ({"a": entry(offsets=(8, 16))}, b"\0" * 16, "hole"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, header: Any, data: bytes, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        Safetensors(file_of(tmp_path / "f", header, data))


@pytest.mark.parametrize("content", [b"", b"1234567", struct.pack("<Q", 2**63), struct.pack("<Q", 99_000_000) + b"{}"])
def test_a_cut_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(ModelError, match=r"ends \d+ bytes too early|claims \d+ bytes"):
        Safetensors(tmp_path / "f")


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"none cannot be opened \(No such file or directory\): fetch it again"):
        Safetensors(tmp_path / "none")
    with Safetensors(file_of(tmp_path / "f", {"a": entry("I32")}, b"\0" * 8)) as file:
        with pytest.raises(ModelError, match="tensor 'b' is missing"):
            next(file.runs("b"))
        with pytest.raises(ModelError, match="tensor 'a' is I32"):
            next(file.runs("a"))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)
entries = st.fixed_dictionaries(
    {},
    optional={
        "dtype": st.sampled_from(["F32", "F16", "BF16", "I64", "X"]) | json_values,
        "shape": st.lists(st.integers(-1, 4) | st.just(2**40), max_size=4) | json_values,
        "data_offsets": st.lists(st.integers(-1, 64), min_size=2, max_size=2) | json_values,
    },
)


@given(
    header=st.dictionaries(st.text(max_size=3), entries | json_values, max_size=3) | json_values,
    data=st.binary(max_size=64),
)
def test_any_header_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, header: Any, data: bytes) -> None:
    _read_or_refuse(file_of(tmp_path_factory.getbasetemp() / "any-header", header, data))


@given(content=st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any-bytes"
    path.write_bytes(struct.pack("<Q", len(content)) + content)
    _read_or_refuse(path)
    path.write_bytes(content)
    _read_or_refuse(path)


def _read_or_refuse(path: Path) -> None:
    try:
        with Safetensors(path) as file:
            for name, described in file.entries.items():
                assert described.offset + described.size <= path.stat().st_size
                if described.dtype in ("F32", "F16", "BF16", "F64") and described.shape:
                    rows, *row = described.shape
                    runs = list(file.runs(name))
                    assert sum(map(len, runs)) == rows
                    assert all(run.shape[1:] == tuple(row) for run in runs)
    except ModelError:
        return
