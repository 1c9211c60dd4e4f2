import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from bankml._engine import GGUF, Engine
from bankml.errors import ModelError
from bankml.models.xlm_roberta import read_unigram
from oracle import folders, seeded, vocabularies

VOCABULARY = [["<s>", 0.0], ["<pad>", 0.0], ["</s>", 0.0], ["<unk>", 0.0], ["▁a", -3.5], ["b", -4.25], ["<mask>", 0.0]]
CHARSMAP = b"\x04\x00\x00\x00abcdz\x00"


METASPACE = {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True}


def content(**values: Any) -> dict[str, Any]:
    return {**folders.unigram_json(VOCABULARY, CHARSMAP), **values}


def with_steps(*steps: dict[str, Any]) -> dict[str, Any]:
    """The normalizer with these steps after its character map."""
    whole = content()
    return content(normalizer={**whole["normalizer"], "normalizers": [*whole["normalizer"]["normalizers"], *steps]})


def written(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


def test_the_vocabulary_is_padded_to_the_rows(tmp_path: Path) -> None:
    unigram = read_unigram(written(tmp_path / "tokenizer.json", content()), rows=9)
    assert unigram.pieces == [piece for piece, _ in VOCABULARY] + ["[PAD7]", "[PAD8]"]
    assert unigram.scores == [0, 0, 0, 0, -3.5, -4.25, 0, -10_000, -10_000]
    assert unigram.types == [3, 3, 3, 2, 1, 1, 3, 5, 5]
    assert unigram.charsmap == CHARSMAP


def test_the_real_file_has_the_keys_of_bge_m3(e5: Path) -> None:
    metadata = GGUF(e5).metadata
    ids = {"bos": 0, "eos": 2, "unknown": 3, "seperator": 2, "padding": 1, "cls": 0, "mask": 250_001}
    assert {role: metadata[f"tokenizer.ggml.{role}_token_id"] for role in ids} == ids
    assert metadata["tokenizer.ggml.model"] == "t5"
    for flag in ("add_space_prefix", "remove_extra_whitespaces", "add_bos_token", "add_eos_token"):
        assert metadata[f"tokenizer.ggml.{flag}"] is True
    assert {"tokens", "scores", "token_type", "precompiled_charsmap"} <= {key.split(".")[-1] for key in metadata}


@pytest.mark.parametrize(
    ("value", "rows", "words"),
    [
        (content(model={"vocab": VOCABULARY[1:]}, added_tokens=[]), 9, r"lacks \['<s>'\]"),
        (content(model={"vocab": [*VOCABULARY, ["b", 0.0]]}), 9, "7 different pieces of 8"),
        (content(), 6, "the weights 6 rows"),
        (content(model={"vocab": [["a"]]}), 9, "not a Unigram vocabulary"),
        (content(model={"type": "Unigram", "vocab": None}), 9, "not a Unigram vocabulary"),
        (content(model=[]), 9, "not a Unigram vocabulary"),
        (content(normalizer=None), 9, "not a Unigram vocabulary .*no precompiled charsmap"),
        (content(normalizer={"normalizers": []}), 9, "no precompiled charsmap"),
        (content(normalizer={"type": "Precompiled", "precompiled_charsmap": "a"}), 9, "not a Unigram vocabulary"),
        (content(normalizer={"type": "Precompiled", "precompiled_charsmap": 1}), 9, "not a Unigram vocabulary"),
        (content(normalizer=[1]), 9, "normalizer is not a step"),
        ([], 9, "not a JSON object"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, value: Any, rows: int, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        read_unigram(written(tmp_path / "tokenizer.json", value), rows)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (content(model={"type": "BPE", "vocab": {}, "merges": []}), "model 'BPE'"),
        (content(model={"vocab": {}, "merges": []}), "model 'BPE'"),
        (content(model={"type": "Unigram", "vocab": VOCABULARY, "byte_fallback": True}), "byte_fallback True"),
        (content(model={"type": "Unigram", "vocab": VOCABULARY, "unk_id": 0}), "unk_id 0"),
        (with_steps({"type": "Lowercase"}), "normalizer {'type': 'Lowercase'}"),
        (with_steps({"type": "Replace", "pattern": {"String": "a"}, "content": "b"}), "normalizer .*'content': 'b'"),
        (content(pre_tokenizer=None), "pre_tokenizer None"),
        (content(pre_tokenizer={"type": "ByteLevel"}), "pre_tokenizer .*ByteLevel"),
        (content(pre_tokenizer={**METASPACE, "add_prefix_space": False}), "'add_prefix_space': False"),
        (content(pre_tokenizer={"type": "Metaspace", "replacement": "_"}), "'replacement': '_'"),
        (content(pre_tokenizer={**METASPACE, "prepend_scheme": "never"}), "'prepend_scheme': 'never'"),
        (content(post_processor=None), "post_processor None"),
        (content(post_processor=folders.template("<s>", "<s>")), r"post_processor \['<s>', 'A', '<s>'\]"),
        (
            content(post_processor={"type": "RobertaProcessing", "cls": ["<s>", 0], "sep": ["x", 9]}),
            "RobertaProcessing",
        ),
        (content(added_tokens=[folders.added(5, "b", special=False)]), "added token that is not special 'b'"),
        (content(added_tokens=[folders.added(9, "<x>")]), "added token '<x>' has the id 9"),
        (content(added_tokens=[folders.added(5, "<x>")]), "added token '<x>' has the id 5"),
        (content(added_tokens=["<x>"]), "has no id and content"),
    ],
)
def test_what_the_engine_does_not_reproduce_is_named(tmp_path: Path, value: Any, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        read_unigram(written(tmp_path / "tokenizer.json", value), 9)


@pytest.mark.parametrize(
    "value",
    [
        with_steps({"type": "Strip", "strip_left": False, "strip_right": True}),
        content(pre_tokenizer={"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, METASPACE]}),
        content(pre_tokenizer={"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}),
        content(post_processor={"type": "RobertaProcessing", "cls": ["<s>", 0], "sep": ["</s>", 2]}),
    ],
)
def test_other_spellings_of_the_same_are_read(tmp_path: Path, value: Any) -> None:
    assert read_unigram(written(tmp_path / "tokenizer.json", value), 7).types == [3, 3, 3, 2, 1, 1, 3]


SPLIT = {"type": "WhitespaceSplit"}
MARKED = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
MARKED_FIRST = {**MARKED, "prepend_scheme": "first"}
PIECES = ["<s>", "<pad>", "</s>", "<unk>", "▁", "▁why", "▁sky", "sky", "why", "▁is", "s", "k", "y", "<mask>"]


@pytest.mark.parametrize(
    ("steps", "same"),
    [
        ([MARKED], True),
        ([MARKED_FIRST], True),
        ([SPLIT, MARKED], True),
        ([SPLIT, METASPACE], True),
        ([SPLIT, MARKED_FIRST], False),
        ([MARKED_FIRST, SPLIT], False),
    ],
)
def test_words_are_marked_as_tokenizers_marks_them(tmp_path: Path, steps: list[dict[str, Any]], same: bool) -> None:
    listed = [[piece, -float(at)] for at, piece in enumerate(PIECES)]
    steps_json = {"type": "Sequence", "pretokenizers": steps}
    value = folders.unigram_json(listed, CHARSMAP) | {"pre_tokenizer": steps_json}
    path = written(tmp_path / "tokenizer.json", value)
    if not same:
        with pytest.raises(ModelError, match=r"pre_tokenizer .*'prepend_scheme': 'first'"):
            read_unigram(path, len(PIECES))
        return
    theirs = Tokenizer.from_str(json.dumps(for_tokenizers(value)))
    words = vocabularies.unigram(replace(read_unigram(path, len(PIECES)), charsmap=b""))
    engine = Engine(seeded.tiny(tmp_path / "m.gguf", vocabulary=words))
    for text in ("why sky", "why", "sky  why is", "skysky why", ""):
        assert engine.tokenize(text)[0] == theirs.encode(text).ids, text


def for_tokenizers(value: dict[str, Any]) -> dict[str, Any]:
    """The same without the character map, with the ids and settings that `tokenizers` demands."""
    special = {name: {"id": name, "ids": [PIECES.index(name)], "tokens": [name]} for name in ("<s>", "</s>")}
    single = [
        {kind: {**part, "type_id": 0} for kind, part in step.items()} for step in value["post_processor"]["single"]
    ]
    post = {**value["post_processor"], "single": single, "pair": single, "special_tokens": special}
    tokens = [{"lstrip": False, "rstrip": False, **token} for token in value["added_tokens"]]
    spaces = value["normalizer"]["normalizers"][1]
    return {"version": "1.0", **value, "normalizer": spaces, "post_processor": post, "added_tokens": tokens}


def test_special_tokens_behind_the_vocabulary_are_added(tmp_path: Path) -> None:
    special = [*folders.unigram_json(VOCABULARY, CHARSMAP)["added_tokens"], folders.added(7, "<x>")]
    unigram = read_unigram(written(tmp_path / "tokenizer.json", content(added_tokens=special)), 9)
    assert (unigram.pieces[6:], unigram.types[6:], unigram.scores[6:]) == (
        ["<mask>", "<x>", "[PAD8]"],
        [3, 3, 5],
        [0.0, 0.0, -10_000.0],
    )


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="none"):
        read_unigram(tmp_path / "none", 9)
