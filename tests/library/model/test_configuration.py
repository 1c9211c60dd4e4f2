"""What config.yaml may say, and that whatever else it says ends in one sentence with the file, the key and a remedy."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bankml.errors import StoreError
from bankml.library.model.configuration import Configuration
from bankml.library.model.yaml_mapping import MAX_BYTES
from bankml.models.prefixes import Override

WHOLE = """\
# of one knowledge base
model: multilingual-e5-small
query_prefix: "find: "
document_prefix: ""
chunk_tokens: 128
chunk_overlap: 16
"""


def read(folder: Path, content: str | bytes | None = None) -> Configuration:
    if content is not None:
        (folder / "config.yaml").write_bytes(content if isinstance(content, bytes) else content.encode())
    return Configuration.read(folder / "kb.db")


def refused(folder: Path, content: str | bytes) -> str:
    with pytest.raises(StoreError) as caught:
        read(folder, content)
    sentence = str(caught.value)
    assert str(folder / "config.yaml") in sentence
    assert "\n" not in sentence
    assert len(sentence) < 400 + len(str(folder))
    return sentence


def test_a_whole_one(tmp_path: Path) -> None:
    found = read(tmp_path, WHOLE)
    assert (found.model, found.chunk_tokens, found.chunk_overlap) == ("multilingual-e5-small", 128, 16)
    assert found.prefixes == Override(document="", query="find: ")


@pytest.mark.parametrize("content", [None, "", "# nothing\n", "---\n", "model:\nchunk_tokens: ~\n", b"\xef\xbb\xbf"])
def test_what_is_not_said_is_as_it_is(tmp_path: Path, content: str | bytes | None) -> None:
    found = read(tmp_path, content)
    assert (found.model, found.prefixes, found.chunk_tokens, found.chunk_overlap) == (None, None, 256, 32)


@pytest.mark.parametrize(
    "content",
    [
        "search:\n  vector:\n    enabled: false\n    preset: BGE-M3\n    model: x\n    pooling: cls\n",
        "search: {vector: {enabled: no, preset: bge-m3, model: x, pooling: cls}}",
        "search.vector: {enabled: off}\nsearch.vector.preset: ' bge-m3 '\nsearch: {vector.model: x}\n"
        "search.vector.pooling: cls",
    ],
)
def test_keys_of_vectors_in_either_spelling(tmp_path: Path, content: str) -> None:
    found = read(tmp_path, content)
    assert (found.vector_enabled, found.preset, found.vector_model, found.pooling) == (False, "bge-m3", "x", "cls")
    assert found.profile is not None
    assert found.profile.model == "bge-m3"


@pytest.mark.parametrize("content", ["", "search:", "search: {vector: ~}", "search: {vector: {enabled: true}}"])
def test_vectors_are_searched_unless_it_is_said(tmp_path: Path, content: str) -> None:
    found = read(tmp_path, content)
    assert (found.vector_enabled, found.profile, found.vector_model) == (True, None, None)


def test_a_pooling_is_of_the_model_that_is_named_alone(tmp_path: Path) -> None:
    found = read(tmp_path, "search: {vector: {model: all-minilm, pooling: cls}}")
    assert [found.pooling_of(name) for name in ("all-MiniLM-L6-v2", "bge-m3")] == ["cls", None]
    assert read(tmp_path, "search: {vector: {pooling: cls}}").pooling_of("bge-m3") is None


def test_one_prefix_leaves_the_other_to_the_family(tmp_path: Path) -> None:
    assert read(tmp_path, 'query_prefix: "find: "').prefixes == Override(query="find: ")


def test_the_shortest_chunks_have_half_in_common_at_most(tmp_path: Path) -> None:
    assert read(tmp_path, "chunk_tokens: 64").chunk_overlap == 32
    assert "chunk_overlap is 33, more than half of chunk_tokens, 64: make it 32" in refused(
        tmp_path, "chunk_tokens: 64\nchunk_overlap: 33"
    )


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("modell: bge-m3", "'modell' is no setting .* chunk_tokens"),
        ("1: 2", "1 is no setting"),
        ("model: 12", "model is 12: make it a text"),
        ("model: [a, b]", r"model is \['a', 'b'\]: make it a text"),
        ("model: '  '", "model is '  ': make it a model's name"),
        ("model: 2024-01-01", "model is datetime"),
        ("query_prefix: true", "query_prefix is True: make it a text"),
        (f"query_prefix: {'x' * 1001}", "at most 1,000 characters"),
        (r'query_prefix: "\ud800"', "surrogate"),
        (r'model: "a\0b"', "NUL"),
        ("chunk_tokens: 63", "chunk_tokens is 63: make it a whole number from 64 to 8,192"),
        ("chunk_tokens: 8193", "whole number"),
        ("chunk_tokens: 256.0", "whole number"),
        ("chunk_tokens: yes", "chunk_tokens is True: make it a whole number"),
        ("chunk_tokens: 'many'", "whole number"),
        ("chunk_overlap: true", "chunk_overlap is True: make it a whole number"),
        ("chunk_overlap: -1", "chunk_overlap is -1: make it a whole number from 0"),
        (f"chunk_tokens: 0x{'f' * 7000}", r"chunk_tokens is 0xfff.*… *: make it|whole number"),
        (f"chunk_tokens: {'9' * 7000}", "no YAML that is read here"),
        ("search: true", "'search' is no setting"),
        ("search: {vectr: {enabled: true}}", "'search.vectr' is no setting .* search.vector.enabled"),
        ("search: {vector: {on: true}}", "'search.vector.True' is no setting"),
        ("search: {vector: {enabled: 1}}", "search.vector.enabled is 1: make it true or false"),
        ("search: {vector: {enabled: 'no'}}", "search.vector.enabled is 'no': make it true or false"),
        ("search: {vector: {preset: bge}}", "search.vector.preset is 'bge': make it all-minilm-l6-v2, .* or custom"),
        ("search: {vector: {preset: 3}}", "search.vector.preset is 3: make it"),
        ("search: {vector: {preset: granite-97m-multilingual}}", "needs support of the engine .* choose all-minilm"),
        ("search: {vector: {model: ''}}", "search.vector.model is '': make it a model's name"),
        ("search: {vector: {pooling: max}}", "search.vector.pooling is 'max': make it mean, cls or last"),
        ("search: {vector: {pooling: [mean]}}", "search.vector.pooling is .*: make it"),
        ("search: {vector: {preset: bge-m3}}\nsearch.vector.preset: custom", "search.vector.preset is said twice"),
        ("model: a\nmodel: b", "line 2, column 1: the key 'model' stands twice"),
        ("model: &a x\nquery_prefix: *a", "an alias"),
        ("x: &a {model: b}\n<<: *a", "an alias"),
        ("<<: {model: b}", "line 1, column 1: .*merge"),
        ("model: !!python/object/apply:os.system [echo]", "could not determine a constructor"),
        ("model: a\n---\nmodel: b", "no YAML that is read here"),
        ("- model", "holds no keys"),
        ("bge-m3", "holds no keys"),
        ("model: 'a", "line 1"),
        ("[[1]: 2]", "no YAML"),
        ("model: a\n\tquery_prefix: b", "line 2"),
        (b"model: \xff", "not UTF-8 at byte 7: save it as UTF-8"),
        ("model: a\n".encode("utf-16"), "not UTF-8 at byte 0"),
        ("model: a\0", "no YAML that is read here"),
        ("[" * MAX_BYTES, "nested too deeply"),
        ("{a: " * (MAX_BYTES // 4), "nested too deeply"),
        ("- " * (MAX_BYTES // 2), "nested too deeply"),
        ("#" * (MAX_BYTES + 1), "more than 8,192 bytes"),
        ("when: 2024-13-45", "no YAML that is read here .*month"),
    ],
)
def test_what_is_refused(tmp_path: Path, content: str | bytes, says: str) -> None:
    sentence = refused(tmp_path, content)
    assert re.search(says, sentence), sentence


def test_a_bomb(tmp_path: Path) -> None:
    """Nine lines that unfold to a billion."""
    lines = ["a: &a [lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    lines += [f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)]
    assert "an alias" in refused(tmp_path, "\n".join(lines))


def test_files_that_are_none(tmp_path: Path) -> None:
    place = tmp_path / "config.yaml"
    place.mkdir()
    with pytest.raises(StoreError, match=r"config\.yaml cannot be read .*make it a file"):
        read(tmp_path)
    place.rmdir()
    os.mkfifo(place)
    with pytest.raises(StoreError, match="not a regular file"):
        read(tmp_path)
    place.unlink()
    place.symlink_to("config.yaml")
    with pytest.raises(StoreError, match="cannot be read"):
        read(tmp_path)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60) | st.text("abmodel_:-[]{}&*!<>|'\"#%?,\n \t~0x", max_size=60).map(str.encode))
def test_any_bytes(tmp_path: Path, content: bytes) -> None:
    try:
        read(tmp_path, content)
    except StoreError:
        refused(tmp_path, content)
