"""The real vocabularies: in the engine, and in the packages that define what is right."""

from pathlib import Path

import pytest
import sentencepiece

from bankml._engine import Engine
from oracle import vocabularies
from oracle.random_texts import random_texts
from oracle.token_references import XlmRoberta

TEXTS, SEED = 5_000, 20260


@pytest.fixture(scope="session")
def texts() -> list[str]:
    return list(random_texts(TEXTS, SEED))


@pytest.fixture(scope="session")
def wordpiece(minilm: Path) -> Engine:
    """MiniLM's tokenizer in the engine."""
    return Engine(minilm, threads=1)


@pytest.fixture(scope="session")
def unigram(e5: Path) -> Engine:
    """XLM-R's tokenizer in the engine."""
    return Engine(e5, threads=1)


@pytest.fixture(scope="session")
def bert_vocabulary(wordpiece: Engine) -> list[str]:
    """MiniLM's tokens as vocab.txt spells them."""
    pieces = (wordpiece.piece(index).decode() for index in range(wordpiece.vocabulary_size))
    return [as_in_vocab_txt(piece) for piece in pieces]


def as_in_vocab_txt(piece: str) -> str:
    if piece.startswith("[") and piece.endswith("]"):
        return piece
    return piece[1:] if piece.startswith("\u2581") else f"##{piece}"


@pytest.fixture(scope="session")
def xlmr(models_home: Path) -> XlmRoberta:
    """XLM-R's vocabulary from the tokenizer.json, not from our conversion of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BANKML_HOME", str(models_home))
        return XlmRoberta.read(vocabularies.xlmr_file())


@pytest.fixture(scope="session")
def sentence_piece(xlmr: XlmRoberta) -> sentencepiece.SentencePieceProcessor:
    return xlmr.sentencepiece()
