"""Token ids of the engine against Hugging Face's tokenizers, SentencePiece and llama.cpp, text for text."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import tokenizers

from bankml._engine import Engine
from oracle import llama, texts, vocabularies
from oracle.differences import UNEXPLAINED, UNIGRAM_FAST, WORDPIECE_LLAMA, Class, classify
from oracle.report import Row
from oracle.token_references import XlmRoberta, bert_tokenizer, xlmr_ids

Ids = Callable[[str], list[int]]
TIE = "ties: two segmentations of exactly equal score; SentencePiece sums in f32"


def compare(minilm: Path, e5: Path) -> list[Row]:
    """Every comparison on every text."""
    every = [text for listed in texts.every().values() for text in listed]
    return [*wordpiece(minilm, every), *unigram(e5, every)]


def wordpiece(minilm: Path, every: Sequence[str]) -> list[Row]:
    """Equal to Hugging Face's on every text; llama.cpp's differences explained."""
    ours, theirs = _engine(minilm), llama.Tokenizer(minilm)
    hugging_face = bert_tokenizer(vocabularies.minilm_tokens())
    return [
        row("WordPiece", "Hugging Face", every, ours, lambda text: hugging_face.encode(text).ids, []),
        row("WordPiece", "llama.cpp", every, ours, theirs.ids, WORDPIECE_LLAMA),
    ]


def unigram(e5: Path, every: Sequence[str]) -> list[Row]:
    """Equal to SentencePiece's but for ties, and to llama.cpp's; Hugging Face's differences explained."""
    ours, theirs = _engine(e5), llama.Tokenizer(e5)
    reference = XlmRoberta.read(vocabularies.xlmr_file())
    processor = reference.sentencepiece()
    fast = _fast(vocabularies.xlmr_file())

    def tied(text: str) -> bool:
        return reference.score(ours(text)) == reference.score(xlmr_ids(processor, text))

    return [
        row("Unigram", "SentencePiece", every, ours, lambda text: xlmr_ids(processor, text), [], {TIE: tied}),
        row("Unigram", "llama.cpp", every, ours, theirs.ids, []),
        row("Unigram", "Hugging Face (fast)", every, ours, lambda text: fast.encode(text).ids, UNIGRAM_FAST),
    ]


def row(
    what: str,
    peer: str,
    every: Sequence[str],
    ours: Ids,
    theirs: Ids,
    classes: Sequence[Class],
    explained: dict[str, Callable[[str], bool]] | None = None,
) -> Row:
    """One comparison: passes when every difference has a class. `explained` tests a text without changing it."""
    different = [text for text in every if ours(text) != theirs(text)]
    counts: Counter[str] = Counter()
    for name, holds in (explained or {}).items():
        held = [text for text in different if holds(text)]
        counts[name] = len(held)
        different = [text for text in different if text not in set(held)]
    counts += classify(different, lambda text: ours(text) == theirs(text), classes)
    equal = len(every) - counts.total()
    found = "; ".join(f"{count} {name}" for name, count in counts.most_common() if count)
    return Row(
        f"{what} ids, {len(every):,} texts",
        peer,
        f"{equal:,} equal" + (f"; {found}" if found else ""),
        "every difference explained" if classes or explained else "all equal",
        not counts[UNEXPLAINED],
    )


def _engine(path: Path) -> Ids:
    engine = Engine(str(path), threads=1)
    return lambda text: engine.tokenize(text)[0]


def _fast(path: Path) -> tokenizers.Tokenizer:
    tokenizer = tokenizers.Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return tokenizer
