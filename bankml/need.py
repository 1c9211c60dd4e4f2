"""How much memory a model will take, told from its file before anything of it is loaded."""

from dataclasses import dataclass
from typing import Any

from bankml.models.header import Header

# Measured on MiniLM, multilingual-e5-small and bge-m3's shape; tests/test_need.py holds the sum to 20 % of the truth.
PIECE = 58  # bytes an entry of the vocabulary: trie, ids, scores, the pieces themselves
ENGINE = 3_000_000  # code that comes in with the first vector, stacks, what the allocator rounds up
PASS_TOKENS = 1024  # the engine's budget; a longer text is a pass of its own
ROW_BLOCK = 512  # rows whose queries, attention and FFN exist at once (csrc/encoder.cpp)
SCRATCH = 96 * 1024 * 4  # bytes a thread: its panels (csrc/linear.h)
FLOAT = 4


@dataclass(frozen=True)
class Need:
    """Bytes, by who holds them."""

    weights: int = 0  # the layers' matrices in the mapped file; the system may read them again
    tables: int = 0  # vocabulary, norms, biases
    workspace: int = 0  # the longest pass

    @property
    def total(self) -> int:
        """All that one user of the model makes resident."""
        return self.weights + self.tables + self.workspace


def need(header: Header, threads: int) -> Need:
    """What the encoder in this file takes with `threads` threads; fields that the file does not say count as 0."""
    layers = [tensor for tensor in header.tensors if tensor["name"].startswith("blk.")]
    matrices = [tensor for tensor in layers if _rows(tensor) > 1]
    vectors = [tensor for tensor in layers if _rows(tensor) == 1]
    entries = sum(_rows(tensor) for tensor in header.tensors if tensor["name"] == "token_embd.weight")
    copied = sum(tensor["shape"][0] for tensor in vectors) * FLOAT
    return Need(_bytes(matrices), entries * PIECE + copied, ENGINE + _workspace(header, threads))


def _workspace(header: Header, threads: int) -> int:
    """x, K and V of every token; queries, attention, FFN and packed rows of one block."""
    hidden, ffn = _number(header, "embedding_length"), _number(header, "feed_forward_length")
    tokens = max(PASS_TOKENS, _number(header, "context_length"))
    block = 2 * hidden + ffn + max(hidden, ffn)
    return FLOAT * (3 * tokens * hidden + ROW_BLOCK * block) + threads * SCRATCH


def _number(header: Header, key: str) -> int:
    value = header.metadata.get(f"{header.arch}.{key}", 0)
    return value if isinstance(value, int) else 0


def _rows(tensor: dict[str, Any]) -> int:
    _, *outer = tensor["shape"]
    rows = 1
    for extent in outer:
        rows *= extent
    return rows


def _bytes(tensors: list[dict[str, Any]]) -> int:
    return sum(tensor["bytes"] for tensor in tensors)
