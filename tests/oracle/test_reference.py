"""The float64 encoder itself: against arithmetic by hand, and against the same graph in loops over numbers."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from oracle import reference, seeded, vocabularies
from oracle.reference import FAULTS, Fault, Reference

IDS = [[2, 40, 41, 40, 77, 3], [2, 90, 3]]
Rows = list[list[float]]


def test_layer_norm_by_hand() -> None:
    x = np.array([[1.0, 3.0], [5.0, 5.0]])
    normed = reference.layer_norm(x, np.array([1.0, 2.0]), np.array([0.0, 10.0]), 0.0 + 1e-300)
    assert normed.tolist() == [[-1.0, 12.0], [0.0, 10.0]]
    assert reference.layer_norm(x[:1], np.ones(2), np.zeros(2), 3.0).tolist() == [[-0.5, 0.5]]


def test_attention_by_hand() -> None:
    k, v = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]), np.array([[3.0, 0.0], [6.0, 0.0], [0.0, 9.0]])
    assert reference.attention(np.ones((1, 2)), k, v).tolist() == [[3.0, 3.0]]  # equal keys: the mean
    q, k = np.array([[math.sqrt(2) * math.log(3), 0.0]]), np.array([[1.0, 0.0], [0.0, 0.0]])
    assert reference.attention(q, k, np.eye(2)) == pytest.approx(np.array([[0.75, 0.25]]))  # weights 3 to 1


def test_gelu_by_hand() -> None:
    x = np.array([0.0, 1.0, -1.0, 40.0])
    assert reference.gelu_erf(x) == pytest.approx([0.0, 0.8413447460685429, -0.15865525393145707, 40.0])
    assert reference.gelu_tanh(x) == pytest.approx([0.0, 0.8411919906082768, -0.15880800939172324, 40.0])


@pytest.mark.parametrize("pooling", ["mean", "cls", "last", "none"])
def test_the_whole_graph_equals_loops_over_numbers(tmp_path: Path, pooling: seeded.Pooling) -> None:
    path = small(tmp_path, pooling=pooling)
    for ids, vector in zip(IDS, Reference(path).encode_ids(IDS), strict=True):
        assert vector == pytest.approx(np.array(Loops(path).encode(ids, pooling)), abs=1e-12)


def test_blocks_of_rows_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Reference(small(tmp_path))
    whole = model.encode_ids(IDS)
    monkeypatch.setattr(reference, "ROWS", 2)
    assert all(a == pytest.approx(b, abs=1e-14) for a, b in zip(model.encode_ids(IDS), whole, strict=True))


def test_texts_do_not_see_each_other(tmp_path: Path) -> None:
    model = Reference(small(tmp_path))
    alone = [model.encode_ids([ids])[0] for ids in IDS]
    assert all(a == pytest.approx(b, abs=1e-14) for a, b in zip(model.encode_ids(IDS), alone, strict=True))


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_moves_every_vector(tmp_path: Path, fault: Fault) -> None:
    path = small(tmp_path)
    right, wrong = Reference(path).encode_ids(IDS), Reference(path, fault=fault).encode_ids(IDS)
    assert all(np.abs(a - b).max() > 1e-6 for a, b in zip(right, wrong, strict=True))


def small(folder: Path, pooling: seeded.Pooling = "mean") -> Path:
    return seeded.tiny(folder / "m.gguf", dtype="F32", pooling=pooling, hidden=8, heads=2, ffn=12, positions=16)


def test_seeded_ids_are_words(tmp_path: Path) -> None:
    """The ids above are entries of the vocabulary, and not its special tokens."""
    vocabulary = vocabularies.small_wordpiece()
    assert all(vocabulary.first_text <= i < vocabulary.size for ids in IDS for i in ids[1:-1])


class Loops:
    """The graph of a text, number by number, on an F32 file: slow, and nothing in it is shared with the reference."""

    def __init__(self, path: Path) -> None:
        from gguf import GGUFReader

        reader = GGUFReader(path)
        self.tensors = {tensor.name: tensor.data.astype(float).tolist() for tensor in reader.tensors}
        self.heads = 2
        self.epsilon = float(reader.fields["bert.attention.layer_norm_epsilon"].contents())

    def encode(self, ids: list[int], pooling: str) -> list[float] | Rows:
        word, place, kind = (self.tensors[f"{t}.weight"] for t in ("token_embd", "position_embd", "token_types"))
        kind_row = kind[0] if isinstance(kind[0], list) else kind
        x = [[w + p + t for w, p, t in zip(word[i], place[at], kind_row, strict=True)] for at, i in enumerate(ids)]
        x = self.norm(x, "token_embd_norm")
        for layer in range(2):
            x = self.layer(x, f"blk.{layer}")
        if pooling == "none":
            return [unit(row) for row in x]
        means = [sum(row[i] for row in x) / len(x) for i in range(len(x[0]))]
        return unit({"mean": means, "cls": x[0], "last": x[-1]}[pooling])

    def layer(self, x: Rows, name: str) -> Rows:
        q, k, v = (self.linear(x, f"{name}.{part}") for part in ("attn_q", "attn_k", "attn_v"))
        mixed = self.linear([self.attend(row, k, v) for row in q], f"{name}.attn_output")
        y = self.norm(plus(mixed, x), f"{name}.attn_output_norm")
        up = [[0.5 * z * (1 + math.erf(z / 2**0.5)) for z in row] for row in self.linear(y, f"{name}.ffn_up")]
        return self.norm(plus(self.linear(up, f"{name}.ffn_down"), y), f"{name}.layer_output_norm")

    def attend(self, q: list[float], k: Rows, v: Rows) -> list[float]:
        out: list[float] = []
        size = len(q) // self.heads
        for start in range(0, len(q), size):
            span = range(start, start + size)
            weights = [math.exp(sum(q[i] * key[i] for i in span) / size**0.5) for key in k]
            out += [sum(w * value[i] for w, value in zip(weights, v, strict=True)) / sum(weights) for i in span]
        return out

    def linear(self, x: Rows, name: str) -> Rows:
        weight, bias = self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"]
        product: Callable[[list[float], list[float]], float] = lambda a, b: sum(map(float.__mul__, a, b))  # noqa: E731
        return [[product(row, w) + b for w, b in zip(weight, bias, strict=True)] for row in x]

    def norm(self, x: Rows, name: str) -> Rows:
        weight, bias = self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"]
        out = []
        for row in x:
            mean = sum(row) / len(row)
            scale = (sum((z - mean) ** 2 for z in row) / len(row) + self.epsilon) ** 0.5
            out.append([(z - mean) / scale * w + b for z, w, b in zip(row, weight, bias, strict=True)])
        return out


def plus(a: Rows, b: Rows) -> Rows:
    return [[y + z for y, z in zip(*rows, strict=True)] for rows in zip(a, b, strict=True)]


def unit(row: list[float]) -> list[float]:
    norm = sum(z * z for z in row) ** 0.5
    return [z / norm for z in row]
