"""XLM-RoBERTa's vocabulary, from a Hugging Face tokenizer.json to the `tokenizer.ggml.*` keys of bge-m3's GGUF."""

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bankml.errors import ModelError

if TYPE_CHECKING:
    from gguf import GGUFWriter

NORMAL, UNKNOWN, CONTROL, UNUSED = 1, 2, 3, 5
UNUSED_SCORE = -10_000.0  # what llama.cpp's converter gives entries that no text may reach
SPECIAL = {"<s>": CONTROL, "<pad>": CONTROL, "</s>": CONTROL, "<unk>": UNKNOWN, "<mask>": CONTROL}


@dataclass(frozen=True)
class Unigram:
    """Pieces with scores (log probabilities) and types, and SentencePiece's compiled normalisation."""

    pieces: list[str]
    scores: list[float]
    types: list[int]
    charsmap: bytes


def read_unigram(path: Path, rows: int) -> Unigram:
    """The vocabulary of `path`, filled up to `rows` entries: llama.cpp demands as many as the embedding has rows.

    Raises ModelError when the file is not such a vocabulary.
    """
    try:
        content = json.loads(path.read_bytes())
        vocabulary = [(str(piece), float(score)) for piece, score in content["model"]["vocab"]]
        charsmap = _charsmap(content["normalizer"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ModelError(f"{path} is not a Unigram vocabulary ({error!r}): pull the model again") from None
    _check(path, vocabulary, rows)
    missing = range(len(vocabulary), rows)
    return Unigram(
        pieces=[piece for piece, _ in vocabulary] + [f"[PAD{index}]" for index in missing],
        scores=[score for _, score in vocabulary] + [UNUSED_SCORE for _ in missing],
        types=[SPECIAL.get(piece, NORMAL) for piece, _ in vocabulary] + [UNUSED for _ in missing],
        charsmap=charsmap,
    )


def add_unigram(unigram: Unigram, writer: "GGUFWriter") -> None:
    """Writes the keys; ggml calls this kind of tokenizer t5."""
    writer.add_tokenizer_model("t5")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(unigram.pieces)
    writer.add_token_scores(unigram.scores)
    writer.add_token_types(unigram.types)
    writer.add_add_space_prefix(True)
    writer.add_remove_extra_whitespaces(True)
    writer.add_precompiled_charsmap(unigram.charsmap)
    index = unigram.pieces.index
    for role, piece in (
        ("bos", "<s>"),
        ("eos", "</s>"),
        ("unknown", "<unk>"),
        ("seperator", "</s>"),
        ("padding", "<pad>"),
    ):
        writer.add_uint32(f"tokenizer.ggml.{role}_token_id", index(piece))  # "seperator" is ggml's spelling
    writer.add_uint32("tokenizer.ggml.cls_token_id", index("<s>"))
    writer.add_uint32("tokenizer.ggml.mask_token_id", index("<mask>"))
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(True)


def _charsmap(normalizer: dict[str, Any]) -> bytes:
    steps = normalizer.get("normalizers", [normalizer])
    for step in steps:
        if step["type"] == "Precompiled":
            return base64.b64decode(step["precompiled_charsmap"])
    raise ValueError("its normalizer has no precompiled charsmap")


def _check(path: Path, vocabulary: list[tuple[str, float]], rows: int) -> None:
    pieces = {piece for piece, _ in vocabulary}
    if not SPECIAL.keys() <= pieces:
        raise ModelError(f"{path} lacks {sorted(SPECIAL.keys() - pieces)}: it is not XLM-RoBERTa's vocabulary")
    if len(pieces) != len(vocabulary) or len(pieces) > rows:
        raise ModelError(f"{path} has {len(pieces)} different pieces of {len(vocabulary)}, the weights {rows} rows")
