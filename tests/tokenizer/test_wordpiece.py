"""WordPiece against Hugging Face's `tokenizers`, id for id."""

from itertools import product
from pathlib import Path

import pytest
from tokenizers import AddedToken, Tokenizer

from bankml._engine import Engine
from oracle import seeded, vocabularies
from oracle.token_references import bert_tokenizer


@pytest.fixture(scope="module")
def reference(bert_vocabulary: list[str]) -> Tokenizer:
    return bert_tokenizer(bert_vocabulary)


def different(engine: Engine, reference: Tokenizer, texts: list[str]) -> list[str]:
    return [text for text in texts if engine.tokenize(text)[0] != reference.encode(text).ids]


def test_random_texts_give_hugging_faces_ids(wordpiece: Engine, reference: Tokenizer, texts: list[str]) -> None:
    assert different(wordpiece, reference, texts) == []


def test_every_code_point_gives_hugging_faces_ids(wordpiece: Engine, reference: Tokenizer) -> None:
    points = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    texts = ["".join(f"a{chr(c)}b " for c in points[i : i + 64]) for i in range(0, len(points), 64)]
    assert different(wordpiece, reference, texts) == []


@pytest.mark.parametrize(("lowercase", "strip_accents"), list(product((True, False), repeat=2)))
def test_the_files_normalizer_keys_are_obeyed(
    lowercase: bool, strip_accents: bool, bert_vocabulary: list[str], texts: list[str], tmp_path: Path
) -> None:
    # Letters of every script as tokens, or with upper case kept almost every word would be [UNK] on both sides.
    letters = [chr(c) for c in range(0x41, 0x600) if chr(c).isalpha() or not chr(c).isprintable()]
    tokens = [*bert_vocabulary, *letters, *(f"##{c}" for c in letters), *(f"##{chr(c)}" for c in range(0x300, 0x370))]
    vocabulary = vocabularies.wordpiece(list(dict.fromkeys(tokens)))

    def add(writer):  # type: ignore[no-untyped-def]
        vocabulary.add(WithoutNormalizer(writer))  # type: ignore[arg-type]
        writer.add_bool("tokenizer.ggml.normalizer.lowercase", lowercase)
        writer.add_bool("tokenizer.ggml.normalizer.strip_accents", strip_accents)

    words = vocabularies.Vocabulary(
        "wordpiece", vocabulary.size, vocabulary.opening, vocabulary.closing, vocabulary.first_text, add
    )
    path = seeded.tiny(tmp_path / "m.gguf", vocabulary=words, layers=1, hidden=32, heads=1, ffn=32, positions=16)
    reference = bert_tokenizer(list(dict.fromkeys(tokens)), lowercase, strip_accents)
    assert different(Engine(path, threads=1), reference, texts[:1500]) == []


class WithoutNormalizer:
    """A GGUF writer to which the vocabulary's own normaliser keys do not pass."""

    def __init__(self, writer: object) -> None:
        self.writer = writer

    def __getattr__(self, name: str) -> object:
        return getattr(self.writer, name)

    def add_bool(self, key: str, value: bool) -> None:
        assert key == "tokenizer.ggml.normalizer.lowercase"


def test_special_text_is_a_token_only_when_asked(wordpiece: Engine, bert_vocabulary: list[str]) -> None:
    plain, parsing = bert_tokenizer(bert_vocabulary), bert_tokenizer(bert_vocabulary)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    parsing.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    for text in ("[SEP]", "a [MASK] b[SEP]c[CLS]", "[sep] [[UNK]] [SEP", "x[PAD][PAD]", "[MASK]é東[MASK]"):
        assert wordpiece.tokenize(text)[0] == plain.encode(text).ids
        assert wordpiece.tokenize(text, parse_special=True)[0] == parsing.encode(text).ids


def test_korean_keeps_its_vowels(wordpiece: Engine) -> None:
    """llama.cpp keeps only the first jamo of a syllable, so that these two are one text to it."""
    assert wordpiece.tokenize("한국")[0] != wordpiece.tokenize("호기")[0]
    assert wordpiece.tokenize("각") != wordpiece.tokenize("기")
