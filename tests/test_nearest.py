"""bankml.nearest: exact, the same bits always, one clear sentence for what does not fit."""

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankml import InputError, _engine
from bankml.nearest import cosines, nearest, quantized

Arrays = tuple[np.ndarray, np.ndarray | None]  # a matrix and its scales

TYPES = ("f32", "f16", "int8")
EVERY = [(kind, backend) for kind in TYPES for backend in _engine.backends()]


def unit(n: int, dims: int, seed: int = 0) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(n, dims)).astype(np.float32)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def stored(rows: np.ndarray, kind: str) -> Arrays:
    if kind == "int8":
        return quantized(rows)
    return rows.astype({"f32": np.float32, "f16": np.float16}[kind]), None


def truth(matrix: np.ndarray, scales: np.ndarray | None, query: np.ndarray) -> np.ndarray:
    """Products in float64."""
    products = matrix.astype(np.float64) @ query.astype(np.float64)
    return products if scales is None else products * scales


def tolerance(matrix: np.ndarray, scales: np.ndarray | None, query: np.ndarray) -> np.ndarray:
    """docs/numerics.md: 2·k·2⁻²⁴·Σ|x·w|; for int8 half a step of the query's integers times Σ|w|, and one rounding."""
    sizes = np.abs(matrix.astype(np.float64))
    if scales is None:
        return 2 * matrix.shape[1] * 2**-24 * (sizes @ np.abs(query)) + 1e-30
    step = max(np.abs(query).max() / 32767, np.abs(query.astype(np.float64)).sum() / (2**24 - 1 - len(query)))
    return (sizes.sum(axis=1) * step / 2 + np.abs(truth(matrix, None, query)) * 2**-23) * scales + 1e-30


def order(values: np.ndarray) -> np.ndarray:
    return np.lexsort((np.arange(len(values)), -values))


@pytest.mark.parametrize(("kind", "backend"), EVERY)
@pytest.mark.parametrize(
    ("n", "dims"), [(1, 1), (3, 7), (50, 16), (77, 31), (200, 33), (2100, 65), (1200, 384), (700, 1024)]
)
def test_the_cosines_are_those_of_float64(kind: str, backend: str, n: int, dims: int) -> None:
    matrix, scales = stored(unit(n, dims), kind)
    query = unit(1, dims, seed=1)[0]
    rows, found = _engine.nearest(matrix, query, n, scales, backend=backend)
    assert sorted(rows) == list(range(n))
    assert (np.abs(found - truth(matrix, scales, query)[rows]) <= tolerance(matrix, scales, query)[rows]).all()
    assert (order(found) == np.arange(n)).all()  # best first


@pytest.mark.parametrize("kind", TYPES)
def test_every_backend_gives_the_same_bits(kind: str) -> None:
    matrix, scales = stored(unit(300, 100), kind)
    query = unit(1, 100, seed=1)[0]
    answers = [_engine.nearest(matrix, query, 300, scales, backend=backend) for backend in _engine.backends()]
    assert len({rows.tobytes() + found.tobytes() for rows, found in answers}) == 1


@pytest.mark.parametrize(("kind", "backend"), EVERY)
def test_a_rows_bits_depend_on_nothing_else(kind: str, backend: str) -> None:
    """Not on threads, k, the mask, the rows beside it, or where they lie; `cosines` gives them too."""
    n, dims = 3000, 200  # 2.4 MB of floats: more than one thread
    matrix, scales = stored(unit(n, dims), kind)
    query = unit(1, dims, seed=1)[0]
    rows, found = _engine.nearest(matrix, query, n, scales, backend=backend, threads=1)
    whole = np.empty(n, np.float32)
    whole[rows] = found
    for threads, k in [(2, n), (7, 10), (3, 1)]:
        some, values = _engine.nearest(matrix, query, k, scales, backend=backend, threads=threads)
        assert some.tobytes() == rows[:k].tobytes()
        assert values.tobytes() == found[:k].tobytes()
    allowed = np.random.default_rng(2).random(n) < 0.3
    some, values = _engine.nearest(matrix, query, n, scales, allowed, backend=backend)
    assert set(some) == set(np.flatnonzero(allowed))
    assert values.tobytes() == whole[some].tobytes()
    wanted = np.random.default_rng(3).integers(0, n, 50)
    assert _engine.cosines(matrix, wanted, query, scales, backend).tobytes() == whole[wanted].tobytes()
    moved = np.frombuffer(b"x" + matrix[wanted].tobytes(), matrix.dtype, offset=1).reshape(
        50, dims
    )  # at an odd address
    placed = _engine.cosines(moved, range(50), query, None if scales is None else scales[wanted], backend)
    assert placed.tobytes() == whole[wanted].tobytes()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_equal_cosines_stand_by_their_rows(threads: int) -> None:
    matrix = np.zeros((5000, 128), np.float32)
    matrix[:, 0] = np.arange(5000) % 3 * 0.25
    query = np.eye(128, dtype=np.float32)[0]
    rows, found = _engine.nearest(matrix, query, 2000, threads=threads)
    best, second = np.arange(2, 5000, 3), np.arange(1, 5000, 3)
    assert (rows == np.concatenate([best, second])[:2000]).all()
    assert (found == np.where(np.arange(2000) < len(best), 0.5, 0.25)).all()


@given(
    n=st.integers(0, 40),
    dims=st.integers(1, 40),
    k=st.integers(0, 50),
    kind=st.sampled_from(TYPES),
    levels=st.integers(1, 4),
    masked=st.one_of(st.none(), st.floats(0, 1)),
    seed=st.integers(0, 1000),
)
def test_any_small_matrix_as_numpy_sorts_it(
    n: int, dims: int, k: int, kind: str, levels: int, masked: float | None, seed: int
) -> None:
    """Whole numbers of few levels: products are exact, and there are ties."""
    random = np.random.default_rng(seed)
    whole = random.integers(-levels, levels + 1, (n, dims))
    query = random.integers(-levels, levels + 1, dims).astype(np.float32)
    scales = np.ones(n, np.float32) if kind == "int8" else None
    matrix = whole.astype({"f32": np.float32, "f16": np.float16, "int8": np.int8}[kind])
    allowed = None if masked is None else random.random(n) < masked
    rows, found = nearest(matrix, query, k, scales=scales, allowed=allowed)
    exact = whole @ query.astype(np.int64)
    wanted = [row for row in order(exact) if allowed is None or allowed[row]][:k]
    if kind != "int8":  # the query's integers are of one scale, which need not be a whole one
        assert rows.tolist() == wanted
        assert found.tolist() == exact[wanted].tolist()
    assert np.allclose(found, exact[rows], atol=1e-3 * dims)
    assert sorted(map(tuple, zip(-found, rows, strict=True))) == [
        (-value, row) for value, row in zip(found, rows, strict=True)
    ]
    assert (cosines(matrix, rows, query, scales=scales) == found).all()


def test_nothing_in_nothing_out() -> None:
    query = np.ones(4, np.float32)
    for matrix, k, allowed in [
        (np.zeros((0, 4), np.float32), 5, None),
        (unit(3, 4), 0, None),
        (unit(3, 4), 5, np.zeros(3, bool)),
        (np.zeros((0, 4), np.float16), 0, np.zeros(0, bool)),
    ]:
        rows, found = nearest(matrix, query, k, allowed=allowed)
        assert rows.dtype == np.int64
        assert found.dtype == np.float32
        assert rows.shape == found.shape == (0,)
    assert cosines(unit(3, 4), [], query).shape == (0,)


def test_more_than_there_are() -> None:
    assert sorted(nearest(unit(3, 4), unit(1, 4)[0], 10**30)[0]) == [0, 1, 2]
    assert len(nearest(unit(3, 4), unit(1, 4)[0], np.int64(2))[0]) == 2


MATRIX, QUERY = unit(6, 8), unit(1, 8)[0]
INTEGERS, SCALES = quantized(MATRIX)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"matrix": [[1.0]]}, "matrix is of type list; give a numpy array"),
        ({"matrix": None}, "matrix is of type NoneType"),
        ({"matrix": MATRIX.astype(np.float64)}, "matrix is float64; give float32, float16, or int8 and scales"),
        ({"matrix": MATRIX.astype(">f4")}, "matrix is >f4"),
        ({"matrix": MATRIX.astype(object)}, "matrix is object"),
        ({"matrix": MATRIX[0]}, r"matrix has the shape \(8,\); give \(n, dims\)"),
        ({"matrix": MATRIX[None]}, r"matrix has the shape \(1, 6, 8\)"),
        ({"matrix": np.zeros((3, 0), np.float32)}, r"matrix has the shape \(3, 0\)"),
        ({"matrix": np.zeros((0, 1_000_001), np.float32)}, "dims from 1 to 1000000"),
        ({"matrix": MATRIX[:, ::2]}, r"matrix is not C-contiguous; give np.ascontiguousarray\(matrix\)"),
        ({"matrix": np.asfortranarray(MATRIX)}, "matrix is not C-contiguous"),
        ({"matrix": np.broadcast_to(QUERY, (6, 8))}, "matrix is not C-contiguous"),
        ({"query": list(QUERY)}, "query is of type list"),
        ({"query": QUERY.astype(np.float64)}, "query is float64; give float32"),
        ({"query": QUERY[:7]}, r"query has the shape \(7,\); the matrix asks for \(8,\)"),
        ({"query": QUERY[None]}, r"query has the shape \(1, 8\)"),
        ({"query": np.repeat(QUERY, 2)[::2]}, "query is not C-contiguous"),
        ({"k": -1}, "k is -1; give a whole number, 0 or more"),
        ({"k": -(10**30)}, "k is -1000000000000000000000000000000; give"),
        ({"k": 2.5}, "k is of type float"),
        ({"k": None}, "k is of type NoneType"),
        ({"scales": SCALES}, "scales are given; only an int8 matrix has them"),
        ({"matrix": INTEGERS}, "matrix is int8 and has no scales"),
        ({"matrix": INTEGERS, "scales": SCALES[:5]}, r"scales has the shape \(5,\); the matrix asks for \(6,\)"),
        ({"matrix": INTEGERS, "scales": SCALES.astype(np.float64)}, "scales is float64; give float32"),
        ({"matrix": INTEGERS.view(np.uint8), "scales": SCALES}, "matrix is uint8"),
        ({"allowed": np.ones(5, bool)}, r"allowed has the shape \(5,\); the matrix asks for \(6,\)"),
        ({"allowed": np.ones(6, np.uint8)}, "allowed is uint8; give bool"),
        ({"allowed": [True] * 6}, "allowed is of type list"),
        ({"allowed": np.ones(12, bool)[::2]}, "allowed is not C-contiguous"),
    ],
)
def test_what_does_not_fit_is_told(changes: dict[str, Any], words: str) -> None:
    arguments = {"matrix": MATRIX, "query": QUERY, "k": 3, "scales": None, "allowed": None} | changes
    with pytest.raises(InputError, match=words):
        nearest(**arguments)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([6], "row 6 was asked for; the matrix has 6 rows, counted from 0"),
        ([0, -1], "row -1 was asked for"),
        (np.array([2**64 - 1], np.uint64), "row -1 was asked for"),
        ([0.5], "rows must be whole numbers"),
        ([[1]], "rows must be whole numbers in one dimension"),
        ("rows", "rows must be whole numbers"),
        ([[1], [2, 3]], "rows must be whole numbers"),
        (None, "rows must be whole numbers"),
    ],
)
def test_rows_that_are_none_are_told(rows: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        cosines(MATRIX, rows, QUERY)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_row_that_is_not_finite_is_named_and_can_be_left_out(kind: str, value: float) -> None:
    n, dims = 9000, 65
    matrix, scales = stored(unit(n, dims), kind)
    query = unit(1, dims, seed=1)[0]
    for row in (8000, 4321):
        if scales is None:
            matrix[row, dims - 1] = value
        else:
            scales[row] = value
    with pytest.raises(InputError, match="row 4321 of the matrix has no finite product with the query"):
        nearest(matrix, query, 3, scales=scales)
    with pytest.raises(InputError, match="row 4321 of"):
        cosines(matrix, [0, 8000, 4321], query, scales=scales)
    allowed = np.ones(n, bool)
    allowed[[8000, 4321]] = False
    assert np.isfinite(nearest(matrix, query, n, scales=scales, allowed=allowed)[1]).all()
    assert len(cosines(matrix, [0, 4322], query, scales=scales)) == 2


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_query_that_is_not_finite_is_told(value: float) -> None:
    query = QUERY.copy()
    query[5] = value
    for matrix, scales in ((MATRIX, None), (INTEGERS, SCALES)):
        with pytest.raises(InputError, match="value 5 of the query is"):
            nearest(matrix, query, 3, scales=scales)


def test_products_that_overflow_are_told() -> None:
    with pytest.raises(InputError, match="row 1 of the matrix has no finite product"):
        nearest(np.array([[1, 1], [3e38, 3e38]], np.float32), np.ones(2, np.float32), 1)


@pytest.mark.parametrize("dims", [384, 1024, 8192])
def test_integers_at_their_ends_do_not_overflow(dims: int) -> None:
    matrix = np.full((9, dims), -128, np.int8)
    matrix[1::2] = 127
    scales = np.full(9, 1 / 128, np.float32)
    for query in (np.ones(dims, np.float32), -np.ones(dims, np.float32), np.eye(dims, dtype=np.float32)[3]):
        rows, found = nearest(matrix, query, 9, scales=scales)
        assert np.allclose(found, truth(matrix, scales, query)[rows], rtol=1e-3)


def test_quantized_rows() -> None:
    rows = np.concatenate([unit(5000, 20), np.zeros((1, 20), np.float32)])
    integers, scales = quantized(rows)
    assert integers.dtype == np.int8
    assert scales.dtype == np.float32
    assert (np.abs(integers[:5000]).max(axis=1) == 127).all()
    assert scales[5000] == 0
    assert (np.abs(integers * scales[:, None] - rows) <= scales[:, None] * 0.5001).all()
    half = quantized(rows.astype(np.float16))
    assert np.allclose(half[1], scales, rtol=1e-3)
    rows[4500, 3] = np.nan
    with pytest.raises(InputError, match="row 4500 of the matrix is not finite"):
        quantized(rows)
    with pytest.raises(InputError, match=r"the matrix is int8 of shape \(5001, 20\); give floats"):
        quantized(integers)
    assert quantized(np.zeros((0, 3), np.float32))[0].shape == (0, 3)


@pytest.mark.parametrize("largest", [1e-45, 2.66e-43, 1e-38, 2**-126 * 126])
def test_rows_too_small_for_a_scale_are_zeros(largest: float) -> None:
    """A denormal scale has few digits: 2.66e-43 / 127 is rounded to half of it, and the integer wrapped."""
    rows = np.array([[largest, -largest, 0]], np.float32)
    assert [part.tolist() for part in quantized(rows)] == [[[0, 0, 0]], [0]]
    least = np.float32(2**-126 * 128)
    assert quantized(np.array([[least, -least, 0]], np.float32))[0].tolist() == [[127, -127, 0]]


def test_a_mapped_file(tmp_path: Path) -> None:
    matrix = unit(500, 48)
    (tmp_path / "rows").write_bytes(matrix.tobytes())
    mapped = np.memmap(tmp_path / "rows", np.float32, "r", shape=matrix.shape)
    for one, other in zip(nearest(mapped, matrix[7], 5), nearest(matrix, matrix[7], 5), strict=True):
        assert one.tobytes() == other.tobytes()


TRUNCATED = """
import os, sys
import numpy as np
from bankml import StoreError
from bankml.nearest import cosines, nearest
path = sys.argv[1]
mapped = np.memmap(path, np.float32, "r", shape=(4000, 256))
query = np.eye(256, dtype=np.float32)[0]
os.truncate(path, 1_000_000)
for search in (lambda: nearest(mapped, query, 3), lambda: cosines(mapped, [3999], query)):
    try:
        print(search())
    except StoreError as error:
        print(error)
"""


def test_a_mapped_file_that_is_truncated_is_an_error(tmp_path: Path) -> None:
    """Not a SIGBUS. The part that is gone reads as zeros from then on."""
    path = tmp_path / "rows"
    path.write_bytes(bytes(4000 * 256 * 4))
    done = subprocess.run([sys.executable, "-c", TRUNCATED, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "the file of the matrix was truncated while it was searched; write it anew"


def test_many_at_once() -> None:
    matrix = unit(3000, 256)
    queries = unit(8, 256, seed=1)
    expected = [nearest(matrix, query, 10)[0].tolist() for query in queries]
    wrong: list[int] = []

    def search(index: int) -> None:
        for _ in range(20):
            if nearest(matrix, queries[index], 10)[0].tolist() != expected[index]:
                wrong.append(index)

    threads = [threading.Thread(target=search, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
