"""Token ids of the engine against Hugging Face's tokenizers, SentencePiece and llama.cpp, text for text."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import tokenizers

from bankml._engine import Engine
from oracle import texts, vocabularies
from oracle.differences import UNEXPLAINED, UNIGRAM_FAST, WORDPIECE_LLAMA, Class, classify
from oracle.report import Row
from oracle.token_references import XlmRoberta, xlmr_ids

Ids = Callable[[str], list[int]]
ALL_EQUAL, EXPLAINED, ALL_BUT_TIES = "all equal", "every difference explained", "all equal but for ties"
TIE = "ties: two segmentations of exactly equal score; SentencePiece sums in f32"


def compare(minilm: Path, e5: Path) -> list[Row]:
    """Every comparison on every text."""
    every = [text for listed in texts.every().values() for text in listed]
    return [*wordpiece(minilm, every), *unigram(e5, every)]


def wordpiece(minilm: Path, every: Sequence[str]) -> list[Row]:
    """Equal to Hugging Face's on every text; llama.cpp's differences explained."""
    from oracle import llama

    ours, theirs = _engine(minilm), llama.Tokenizer(minilm)
    return [
        row("WordPiece", "Hugging Face", every, ours, hugging_face_ids(), ALL_EQUAL),
        row("WordPiece", "llama.cpp", every, ours, theirs.ids, EXPLAINED, WORDPIECE_LLAMA),
    ]


def unigram(e5: Path, every: Sequence[str]) -> list[Row]:
    """Equal to SentencePiece's but for ties, and to llama.cpp's; Hugging Face's differences explained."""
    from oracle import llama

    ours, theirs, right = _engine(e5), llama.Tokenizer(e5), sentencepiece_ids()
    score = XlmRoberta.read(vocabularies.xlmr_file()).score
    fast = _plain(vocabularies.xlmr_file())
    tied = {TIE: lambda text: score(ours(text)) == score(right(text))}
    return [
        row("Unigram", "SentencePiece", every, ours, right, ALL_BUT_TIES, explained=tied),
        row("Unigram", "llama.cpp", every, ours, theirs.ids, ALL_EQUAL),
        row("Unigram", "Hugging Face (fast)", every, ours, lambda text: fast.encode(text).ids, EXPLAINED, UNIGRAM_FAST),
    ]


def hugging_face_ids() -> Ids:
    """What WordPiece must give: all-MiniLM-L6-v2's own tokenizer.json."""
    tokenizer = _plain(vocabularies.minilm_file())
    return lambda text: list(tokenizer.encode(text).ids)


def sentencepiece_ids() -> Ids:
    """What Unigram must give: SentencePiece over XLM-R's pieces, scores and character map."""
    processor = XlmRoberta.read(vocabularies.xlmr_file()).sentencepiece()
    return lambda text: xlmr_ids(processor, text)


def row(
    what: str,
    peer: str,
    every: Sequence[str],
    ours: Ids,
    theirs: Ids,
    allowed: str,
    classes: Sequence[Class] = (),
    explained: Mapping[str, Callable[[str], bool]] = MappingProxyType({}),
) -> Row:
    """One comparison: passes when every difference has a class. `explained` tests a text without changing it."""
    different = [text for text in every if ours(text) != theirs(text)]
    counts: Counter[str] = Counter()
    for name, holds in explained.items():
        rest = [text for text in different if not holds(text)]
        counts[name] = len(different) - len(rest)
        different = rest
    counts += classify(different, lambda text: ours(text) == theirs(text), classes)
    found = [f"{len(every) - counts.total():,} equal", *(f"{n:,} {name}" for name, n in counts.most_common() if n)]
    return Row(f"{what} ids, {len(every):,} texts", peer, "; ".join(found), allowed, not counts[UNEXPLAINED])


def _engine(path: Path) -> Ids:
    engine = Engine(path, threads=1)
    return lambda text: engine.tokenize(text)[0]


def _plain(path: Path) -> tokenizers.Tokenizer:
    """A tokenizer.json as a user's text should meet it: not cut, not padded, the text of a special token is text."""
    tokenizer = tokenizers.Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return tokenizer
