"""The reference tokenizers for our two: Hugging Face's BERT, and SentencePiece with XLM-R's vocabulary."""

import base64
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import sentencepiece
import tokenizers
from tokenizers import models, normalizers, pre_tokenizers, processors

from oracle.model_proto import CONTROL, NORMAL, UNKNOWN, model_proto

UNKNOWN_PENALTY = 10.0
UNKNOWN_ID = 3
# SentencePiece's ids begin with unknown, bos, eos; XLM-R's with <s> <pad> </s> <unk>, and its pieces one later.
XLMR_SPECIAL = {0: UNKNOWN_ID, 1: 0, 2: 2}


def bert_tokenizer(
    vocabulary: list[str], lowercase: bool = True, strip_accents: bool | None = None
) -> tokenizers.Tokenizer:
    """Hugging Face's BERT tokenizer, without truncation and padding, for tokens as vocab.txt spells them.

    The text of a special token is plain text to it, as with `split_special_tokens`.
    """
    ids = {token: index for index, token in enumerate(vocabulary)}
    tokenizer = tokenizers.Tokenizer(models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=strip_accents, lowercase=lowercase
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ends = [("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    return tokenizer


@dataclass(frozen=True)
class XlmRoberta:
    """XLM-R's vocabulary as a tokenizer.json holds it; the first four pieces and the last are special."""

    pieces: list[str]
    scores: list[float]
    charsmap: bytes

    @classmethod
    def read(cls, path: Path) -> "XlmRoberta":
        """From a tokenizer.json."""
        content = json.loads(path.read_text(encoding="utf-8"))
        vocabulary, normalizer = content["model"]["vocab"], content["normalizer"]
        first = normalizer["normalizers"][0] if "normalizers" in normalizer else normalizer
        charsmap = base64.b64decode(first["precompiled_charsmap"])
        return cls([piece for piece, _ in vocabulary], [score for _, score in vocabulary], charsmap)

    def sentencepiece(self) -> sentencepiece.SentencePieceProcessor:
        """SentencePiece over the same pieces, scores and character map; see `ids`."""
        special = [("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL), ("</s>", 0.0, CONTROL)]
        normal = ((self.pieces[i], self.scores[i], NORMAL) for i in range(4, len(self.pieces) - 1))
        return sentencepiece.SentencePieceProcessor(model_proto=model_proto([*special, *normal], self.charsmap))

    def score(self, ids: Iterable[int]) -> float:
        """The exact score of a segmentation (f32 scores summed in double) in which unknown tokens are one character."""
        unknown = float(np.float32(min(self.scores)) - np.float32(UNKNOWN_PENALTY))
        return sum(unknown if i == UNKNOWN_ID else float(np.float32(self.scores[i])) for i in ids)


def xlmr_ids(processor: sentencepiece.SentencePieceProcessor, text: str) -> list[int]:
    """SentencePiece's ids of a text as XLM-R numbers them, with <s> and </s>."""
    return [0, *(XLMR_SPECIAL.get(i, i + 1) for i in processor.encode(text)), 2]
