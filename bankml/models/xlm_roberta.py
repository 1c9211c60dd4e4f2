"""XLM-RoBERTa's vocabulary, from a Hugging Face tokenizer.json to the `tokenizer.ggml.*` keys of bge-m3's GGUF."""

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bankml.errors import ModelError
from bankml.gguf_numbers import CONTROL, NORMAL, UNKNOWN, UNUSED
from bankml.models import tokenizer_json
from bankml.models.tokenizer_json import TokenizerJson

if TYPE_CHECKING:
    from gguf import GGUFWriter

UNUSED_SCORE = -10_000.0  # what llama.cpp's converter gives entries that no text may reach
SCORE_MAX = 1e30  # log probabilities are stored as float32
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

    Raises ModelError when the file is not such a vocabulary, or the engine would make other tokens of a text.
    """
    return unigram(tokenizer_json.read(path), rows)


def unigram(file: TokenizerJson, rows: int) -> Unigram:
    """As `read_unigram`, of a file that was read."""
    if file.kind != "Unigram":
        raise file.unsupported("model", file.kind)
    _check_parts(file)
    try:
        listed = [(str(piece), _score(score)) for piece, score in file.option("vocab")]
        charsmap = _charsmap(file)
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise ModelError(f"{file.path} is not a Unigram vocabulary ({error!r}): pull the model again") from None
    pieces = file.with_added([piece for piece, _ in listed])
    _check(file, pieces, rows)
    controls = SPECIAL | {token.text: SPECIAL.get(token.text, CONTROL) for token in file.added}
    missing = range(len(pieces), rows)
    return Unigram(
        pieces=pieces + [f"[PAD{index}]" for index in missing],
        scores=[score for _, score in listed] + [0.0] * (len(pieces) - len(listed)) + [UNUSED_SCORE for _ in missing],
        types=[controls.get(piece, NORMAL) for piece in pieces] + [UNUSED for _ in missing],
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


def _check_parts(file: TokenizerJson) -> None:
    """The engine maps characters, merges spaces, and puts one mark before each word, as SentencePiece does."""
    if file.option("byte_fallback"):
        raise file.unsupported("byte_fallback", True)
    for step in file.steps("normalizer"):
        if not _spaces_only(step) and step.get("type") != "Precompiled":
            raise file.unsupported("normalizer", step)
    steps = file.steps("pre_tokenizer")
    marks = [step for step in steps if step.get("type") != "WhitespaceSplit"]
    if len(marks) != 1 or not _marks_words(marks[0], split=len(marks) < len(steps)):
        raise file.unsupported("pre_tokenizer", file.content.get("pre_tokenizer"))
    file.check_ends("<s>", "</s>")


def _spaces_only(step: dict[str, Any]) -> bool:
    """What merging spaces does anyway."""
    match step:
        case {"type": "Strip"} | {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " " | "▁"}:
            return True
    return False


def _marks_words(step: dict[str, Any], split: bool) -> bool:
    """Spaces become marks; once they are `split` away, only "always" puts one before a word that is not the first."""
    schemes = ("always",) if split else ("always", "first")
    marked = step.get("add_prefix_space", True) and step.get("prepend_scheme", "always") in schemes
    return step.get("type") == "Metaspace" and step.get("replacement") == "▁" and bool(marked)


def _score(value: Any) -> float:
    if not abs(score := float(value)) < SCORE_MAX:
        raise ValueError(f"the score {value!r}")
    return score


def _charsmap(file: TokenizerJson) -> bytes:
    for step in file.steps("normalizer"):
        if step["type"] == "Precompiled":
            return base64.b64decode(step["precompiled_charsmap"])
    raise ValueError("its normalizer has no precompiled charsmap")


def _check(file: TokenizerJson, listed: list[str], rows: int) -> None:
    pieces = set(listed)
    if not SPECIAL.keys() <= pieces:
        raise ModelError(f"{file.path} lacks {sorted(SPECIAL.keys() - pieces)}: it is not XLM-RoBERTa's vocabulary")
    if len(pieces) != len(listed) or len(pieces) > rows:
        raise ModelError(f"{file.path} has {len(pieces)} different pieces of {len(listed)}, the weights {rows} rows")
    file.check_pieces(listed)
    if (unknown := file.option("unk_id")) not in (None, listed.index("<unk>")):
        raise file.unsupported("unk_id", unknown)
