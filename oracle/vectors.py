"""Vectors of the engine against float64, llama.cpp, PyTorch and published ones; and faults that must be caught."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from bankml._engine import Engine
from bankml.models import list_models
from bankml.models.verify import published_for
from oracle import report, seeded, texts, vocabularies
from oracle.reference import FAULTS, Fault, Reference
from oracle.report import Row

Vectors = list[NDArray[np.float64]]
Ids = list[list[int]]

# llama.cpp rounds activations to F16, to BF16 (8 bits of mantissa) where weights are, to 8 bits for blocks.
LLAMA, LLAMA_BF16, LLAMA_QUANTISED = 0.9999, 0.999, 0.99
PUBLISHED = 0.999_99
DIFFERENT = 0.5  # seeded models: no two texts may look alike
LLAMA_NAME = "llama.cpp, gelu tanh"
LLAMA_SCORES, LLAMA_REST = 3, 2_000_000_000  # copies of the n² scores that it keeps; weights, and what else there is
LENGTHS = (2, 15, 64, 65, 512)
FULL_LENGTHS = (2, 15, 64, 65, 512, 513, 2_049, 8_192)
TINY_HIDDEN, TINY_FFN = 256, 512


@dataclass(frozen=True)
class Distance:
    """The worst of many vectors: smallest cosine, largest difference of a component."""

    cosine: float
    delta: float

    def __str__(self) -> str:
        return f"1 - cosine {max(0.0, 1 - self.cosine):.1e}, max |Δ| {self.delta:.1e}"


@dataclass(frozen=True)
class Tolerance:
    """The least cosine and the largest difference of a component, to float64 on the same weights."""

    cosine: float
    delta: float

    def __str__(self) -> str:
        return f"cosine ≥ {self.cosine}, max |Δ| ≤ {self.delta:.0e}"

    def allows(self, found: Distance) -> bool:
        """Whether both hold; what is not a number is not allowed."""
        return found.cosine >= self.cosine and found.delta <= self.delta


FLOATS = Tolerance(0.999_999, 1e-5)  # f32 rounding in another order
INTEGERS = Tolerance(0.999_999, 1e-4)  # rows rounded to 16 bits, where weights are stored in blocks


def in_blocks(path: Path) -> bool:
    """Whether any weight of a file is of a quantised type."""
    return any(tensor["type"] not in ("F32", "F16", "BF16") for tensor in Engine(path, threads=1).tensors)


def llama_limit(path: Path) -> float:
    """The least cosine to llama.cpp on the same file."""
    if in_blocks(path):
        return LLAMA_QUANTISED
    types = {tensor["type"] for tensor in Engine(str(path), threads=1).tensors}
    return LLAMA_BF16 if "BF16" in types else LLAMA


def tolerance(path: Path) -> Tolerance:
    """What a model's vectors may differ by."""
    return INTEGERS if in_blocks(path) else FLOATS


def distance(ours: Vectors, theirs: Vectors) -> Distance:
    """Over all vectors; rows that one side lacks do not count."""
    pairs = [
        pair
        for a, b in zip(ours, theirs, strict=True)
        for pair in zip(np.atleast_2d(a), np.atleast_2d(b), strict=False)
    ]
    cosines = [float(a @ b / np.linalg.norm(a) / np.linalg.norm(b)) for a, b in pairs]
    return Distance(min(cosines), max(float(np.abs(a - b).max()) for a, b in pairs))


def encode_ids(path: Path, ids: Ids, gelu: Literal["erf", "tanh"] = "erf") -> Vectors:
    """The engine's unit vectors, all texts in one call: (dims,) each, or (tokens, dims) without pooling."""
    engine = Engine(path, gelu=gelu)
    rows, tokens, _ = engine.encode_ids(ids)
    wide = rows.astype(np.float64)
    if engine.pooling != "none":
        return list(wide)
    return np.split(wide, np.cumsum(tokens)[:-1])


def real_ids(path: Path) -> Ids:
    """Texts of every language, random and hard ones, cut to the model's length; one fills it."""
    engine = Engine(path, threads=1)
    chosen = [text for listed in texts.every().values() for text in listed[7::211][:3]]
    chosen += ["", "why is the sky blue?", " ".join(texts.sentences("ru")[:60])]
    return [engine.tokenize(text, limit=engine.context_length)[0] for text in chosen]


def builtin(name: str, path: Path) -> list[Row]:
    """A built-in model on real texts, against everything there is."""
    ids = real_ids(path)
    what = f"{name}, {len(ids)} texts of {min(map(len, ids))} to {max(map(len, ids))} tokens"
    ours = encode_ids(path, ids)
    return [
        _reference_row(what, ours, Reference(path).encode_ids(ids), tolerance(path)),
        llama_row(what, path, ids),
        _torch_row(what, path, ours, ids),
    ]


def tiny() -> list[Row]:
    """Two-layer models of every type, pooling and vocabulary."""
    with TemporaryDirectory() as folder:
        return [row for dtype in get_args(seeded.DType) for row in _tiny(Path(folder), dtype)]


def _tiny(folder: Path, dtype: seeded.DType) -> list[Row]:
    ours, references, llamas, tanhs, alike = [], [], [], [], 0.0
    for pooling, kind in product(get_args(seeded.Pooling), ("wordpiece", "unigram")):
        path, ids = tiny_model(folder / f"{dtype}-{pooling}-{kind}.gguf", dtype, pooling, kind)
        found = encode_ids(path, ids)
        ours += found
        references += Reference(path).encode_ids(ids)
        tanhs += encode_ids(path, ids, "tanh")
        llamas += _llama(path, ids)
        alike = max(alike, largest_cosine(found))
    what = f"2 layers, {dtype}, 4 poolings, 2 vocabularies, {LENGTHS} tokens"
    limit = llama_limit(path)
    return [
        _reference_row(what, ours, references, tolerance(path)),
        _llama_figures(what, tanhs, llamas, limit),
        _alike_row(what, alike),
    ]


def tiny_model(path: Path, dtype: seeded.DType, pooling: seeded.Pooling, kind: str) -> tuple[Path, Ids]:
    """A two-layer model that is wide enough for different texts to differ, and texts for it."""
    vocabulary = vocabularies.named(kind)
    seeded.tiny(path, dtype=dtype, pooling=pooling, vocabulary=vocabulary, hidden=TINY_HIDDEN, ffn=TINY_FFN)
    return path, seeded.token_ids(vocabulary, LENGTHS)


def full() -> list[Row]:
    """bge-m3's shape at every length where a path of the engine changes."""
    path = seeded.bge_m3_shape()
    ids = seeded.token_ids(vocabularies.xlmr(), FULL_LENGTHS)
    ours, references = encode_ids(path, ids), Reference(path).encode_ids(ids)
    rows = []
    for at, length in enumerate(FULL_LENGTHS):
        what, one = f"bge-m3's shape, F16, {length:,} tokens", slice(at, at + 1)
        rows += [_reference_row(what, ours[one], references[one], FLOATS), _full_llama_row(what, path, ids[one])]
    return [*rows, _alike_row("bge-m3's shape, F16, all lengths", largest_cosine(ours))]


def _full_llama_row(what: str, path: Path, ids: Ids) -> Row:
    need = LLAMA_SCORES * seeded.BGE_M3.heads * len(ids[0]) ** 2 * 4
    if (free := report.available_memory()) < need + LLAMA_REST:
        found = f"skipped: needs {(need + LLAMA_REST) / 1e9:.0f} GB of memory, {free / 1e9:.0f} are available"
        return Row(what, LLAMA_NAME, found, f"cosine ≥ {LLAMA}", True)
    return _llama_figures(what, encode_ids(path, ids, "tanh"), _llama(path, ids), LLAMA)


def published() -> list[Row]:
    """The vectors that others published, of every model on this machine that has one."""
    rows = []
    for choice in (entry.choice for entry in list_models() if entry.present):
        if stated := published_for(choice):
            engine = Engine(choice.path)
            ours = engine.encode([stated.text])[0][0].astype(np.float64)
            cosine = float(ours @ stated.vector / np.linalg.norm(ours) / np.linalg.norm(stated.vector))
            what = f"{choice.name}, {stated.text!r}"
            rows.append(
                Row(what, "published", f"1 - cosine {1 - cosine:.1e}", f"cosine ≥ {PUBLISHED}", cosine >= PUBLISHED)
            )
    return rows


def faults(minilm: Path, e5: Path) -> list[Row]:
    """Every fault, planted in the reference: the comparison must fail, in both built-ins and in two-layer models."""
    with TemporaryDirectory() as folder:
        subjects = [(path, real_ids(path)[::5]) for path in (minilm, e5)]
        for pooling in get_args(seeded.Pooling):
            subjects.append(tiny_model(Path(folder) / f"{pooling}.gguf", "F16", pooling, "wordpiece"))
        return [_fault_row(fault, subjects) for fault in FAULTS]


def _fault_row(fault: Fault, subjects: Sequence[tuple[Path, Ids]]) -> Row:
    found = [fault_distance(path, ids, fault) for path, ids in subjects]
    weakest = min(found, key=lambda one: one.delta)
    caught = sum(not tolerance(path).allows(one) for (path, _), one in zip(subjects, found, strict=True))
    what = f"planted in the reference: {fault}"
    return Row(
        what, f"{len(found)} models", f"caught in {caught}; weakest: {weakest}", "caught in all", caught == len(found)
    )


def fault_distance(path: Path, ids: Ids, fault: Fault) -> Distance:
    """Of the engine to a reference with the fault; texts leave room for a position more."""
    wrong = Reference(path, fault=fault)
    ids = [text[: wrong.positions - 1] for text in ids if len(text) > 1]
    return distance(encode_ids(path, ids), wrong.encode_ids(ids))


def largest_cosine(vectors: Vectors) -> float:
    """Between different texts; a text without pooling counts as the mean of its rows."""
    pooled = np.stack([np.atleast_2d(vector).mean(axis=0) for vector in vectors])
    pooled /= np.linalg.norm(pooled, axis=1, keepdims=True)
    return float((pooled @ pooled.T)[~np.eye(len(pooled), dtype=bool)].max())


def _reference_row(what: str, ours: Vectors, reference: Vectors, allowed: Tolerance) -> Row:
    found = distance(ours, reference)
    return Row(what, "numpy float64", str(found), str(allowed), allowed.allows(found))


def llama_row(what: str, path: Path, ids: Ids) -> Row:
    """The engine with tanh GELU, against llama.cpp on the same file and ids."""
    limit = llama_limit(path)
    return _llama_figures(what, encode_ids(path, ids, "tanh"), _llama(path, ids), limit)


def _llama_figures(what: str, ours: Vectors, theirs: Vectors, limit: float) -> Row:
    found = distance(ours, theirs)
    return Row(what, LLAMA_NAME, str(found), f"cosine ≥ {limit}", found.cosine >= limit)


def _torch_row(what: str, path: Path, ours: Vectors, ids: Ids) -> Row:
    allowed = tolerance(path)
    try:
        from oracle import torch_graph
    except (ImportError, OSError):  # absent, or a build for a GPU whose libraries are not here
        return Row(what, "PyTorch f32", "skipped: PyTorch is not installed", str(allowed), True)

    found = distance(ours, torch_graph.encode_ids(path, ids))
    return Row(what, "PyTorch f32", str(found), str(allowed), allowed.allows(found))


def _alike_row(what: str, cosine: float) -> Row:
    return Row(
        what, "each other", f"largest cosine of different texts {cosine:.2f}", f"< {DIFFERENT}", cosine < DIFFERENT
    )


def _llama(path: Path, ids: Ids) -> Vectors:
    from oracle import llama

    return llama.encode_ids(path, ids)
