import json
from pathlib import Path
from typing import Any

import pytest

from bankml.errors import ModelError
from bankml.models.wordpiece import WordPiece, read_wordpiece
from oracle import folders

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "hello", "##hello", "!"]


def content(**values: Any) -> dict[str, Any]:
    return {**folders.wordpiece_json(TOKENS), **values}


def model(**values: Any) -> dict[str, Any]:
    return content(model={**content()["model"], **values})


def normalizer(**values: Any) -> dict[str, Any]:
    return content(normalizer={**content()["normalizer"], **values})


def folder(path: Path, value: Any = None, settings: dict[str, Any] | None = None) -> Path:
    """With tokenizer.json, or with vocab.txt when `value` is None."""
    if value is None:
        (path / "vocab.txt").write_text("\n".join(TOKENS) + "\n")
    else:
        (path / "tokenizer.json").write_text(json.dumps(value))
    if settings is not None:
        (path / "tokenizer_config.json").write_text(json.dumps(settings))
    return path


@pytest.mark.parametrize("value", [None, content()])
def test_both_files_give_the_same(tmp_path: Path, value: Any) -> None:
    assert read_wordpiece(folder(tmp_path, value), 8) == WordPiece(TOKENS, [3] * 5 + [1] * 3, True, True)


def test_the_vocabulary_is_padded_to_the_rows(tmp_path: Path) -> None:
    read = read_wordpiece(folder(tmp_path), 10)
    assert (read.tokens[7:], read.types[7:]) == (["!", "[PAD8]", "[PAD9]"], [1, 5, 5])


def test_the_order_is_that_of_the_ids(tmp_path: Path) -> None:
    vocabulary = dict(reversed([(token, at) for at, token in enumerate(TOKENS)]))
    assert read_wordpiece(folder(tmp_path, model(vocab=vocabulary)), 8).tokens == TOKENS


@pytest.mark.parametrize(
    ("value", "settings", "lowercase", "strip_accents"),
    [
        (None, {"do_lower_case": False}, False, False),
        (None, {"do_lower_case": False, "strip_accents": True}, False, True),
        (None, {"strip_accents": False}, True, False),
        (normalizer(lowercase=False), {"do_lower_case": False}, False, False),
        (normalizer(strip_accents=False), {"do_lower_case": True, "strip_accents": None}, True, False),
        (normalizer(lowercase=False), {}, False, False),
    ],
)
def test_letters(tmp_path: Path, value: Any, settings: dict[str, Any], lowercase: bool, strip_accents: bool) -> None:
    read = read_wordpiece(folder(tmp_path, value, settings), 8)
    assert (read.lowercase, read.strip_accents) == (lowercase, strip_accents)


@pytest.mark.parametrize(
    ("value", "settings", "words"),
    [
        (model(type="BPE"), None, "model 'BPE'"),
        (model(unk_token="<unk>"), None, "unk_token '<unk>'"),
        (model(continuing_subword_prefix="@@"), None, "continuing_subword_prefix '@@'"),
        (model(max_input_chars_per_word=10), None, "max_input_chars_per_word 10"),
        (model(vocab={"a": 0, "b": 0}), None, "without a gap"),
        (model(vocab={"a": 1}), None, "without a gap"),
        (model(vocab={"a": "0"}), None, "without a gap"),
        (model(vocab=[]), None, "without a gap"),
        (normalizer(handle_chinese_chars=False), None, "normalizer .*'handle_chinese_chars': False"),
        (normalizer(clean_text=False), None, "normalizer .*'clean_text': False"),
        (content(normalizer={"type": "NFC"}), None, "normalizer .*NFC"),
        (content(normalizer=None), None, "normalizer None"),
        (content(pre_tokenizer={"type": "Whitespace"}), None, "pre_tokenizer .*Whitespace"),
        (content(post_processor=folders.template("[CLS]", "[CLS]")), None, "post_processor"),
        (content(added_tokens=[folders.added(8, "new", special=False)]), None, "not special 'new'"),
        (content(), {"do_lower_case": False}, "contradicts itself: lowercase"),
        (normalizer(strip_accents=True), {"strip_accents": False}, "contradicts itself: strip_accents"),
        (content(), {"tokenize_chinese_chars": False}, "tokenize_chinese_chars False"),
        (None, {"do_basic_tokenize": False}, "do_basic_tokenize False"),
        (None, {"never_split": ["a"]}, r"never_split \['a'\]"),
        (None, {"cls_token": {"content": "<s>"}}, "cls_token"),
        (None, {"tokenizer_class": "BertJapaneseTokenizer"}, "a vocabulary for 'BertJapaneseTokenizer'"),
    ],
)
def test_what_the_engine_does_not_reproduce_is_named(
    tmp_path: Path, value: Any, settings: dict[str, Any] | None, words: str
) -> None:
    with pytest.raises(ModelError, match=words):
        read_wordpiece(folder(tmp_path, value, settings), 9)


def test_tokens_that_ggml_would_spell_alike_are_refused(tmp_path: Path) -> None:
    tokens = [*TOKENS, "##▁hello"]
    with pytest.raises(ModelError, match="8 different tokens of 9"):
        read_wordpiece(folder(tmp_path, folders.wordpiece_json(tokens)), 9)


def test_no_vocabulary_is_said_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "sentencepiece.bpe.model").write_bytes(b"")
    with pytest.raises(ModelError, match=r"no tokenizer.json and no vocab.txt: .*save_pretrained"):
        read_wordpiece(tmp_path, 8)
