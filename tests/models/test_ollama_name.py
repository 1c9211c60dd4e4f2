import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankml.errors import InputError
from bankml.models.ollama_name import OllamaName


@pytest.mark.parametrize(
    ("text", "parts", "shown"),
    [
        ("bge-m3", ("registry.ollama.ai", "library", "bge-m3", "latest"), "bge-m3:latest"),
        ("bge-m3:567m", ("registry.ollama.ai", "library", "bge-m3", "567m"), "bge-m3:567m"),
        ("me/model", ("registry.ollama.ai", "me", "model", "latest"), "me/model:latest"),
        ("library/BGE-M3", ("registry.ollama.ai", "library", "BGE-M3", "latest"), "BGE-M3:latest"),
        (
            "hf.co/gpustack/bge-m3-GGUF:Q8_0",
            ("hf.co", "gpustack", "bge-m3-GGUF", "Q8_0"),
            "hf.co/gpustack/bge-m3-GGUF:Q8_0",
        ),
        ("localhost:5000/ns/m", ("localhost:5000", "ns", "m", "latest"), "localhost:5000/ns/m:latest"),
        ("localhost:5000/ns/m:t", ("localhost:5000", "ns", "m", "t"), "localhost:5000/ns/m:t"),
        ("qwen2.5", ("registry.ollama.ai", "library", "qwen2.5", "latest"), "qwen2.5:latest"),
    ],
)
def test_what_is_left_out_is_filled_in(text: str, parts: tuple[str, ...], shown: str) -> None:
    name = OllamaName.parse(text)
    assert name.parts == parts
    assert str(name) == shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "a b",
        "a:",
        ":a",
        "a/",
        "/a",
        "a//b",
        "a/b/c/d",
        "..",
        "../a",
        "a/../b",
        ".a",
        "-a",
        "a.b/c",
        "é",
        "a\0",
        "a\n",
        "a:b:c",
        "a" * 81,
        "n" * 81 + "/a",
        "a:" + "t" * 81,
        "h" * 351 + "/n/a",
        "a:../../x",
        "C:\\models",
    ],
)
def test_what_is_no_name_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not a model name"):
        OllamaName.parse(text)


def test_the_longest_parts_are_accepted() -> None:
    text = f"{'h' * 350}/{'n' * 80}/{'m' * 80}:{'t' * 80}"
    assert str(OllamaName.parse(text)) == text


def test_case_does_not_count() -> None:
    assert OllamaName.parse("BGE-m3:LATEST").matches(OllamaName.parse("bge-m3"))
    assert not OllamaName.parse("bge-m3:567m").matches(OllamaName.parse("bge-m3"))


word = st.text(string.ascii_letters + string.digits + "_-", min_size=1, max_size=20).filter(lambda text: text[0] != "-")


@given(st.tuples(word, word, word, word))
def test_a_shown_name_reads_as_itself(parts: tuple[str, str, str, str]) -> None:
    name = OllamaName(*parts)
    assert OllamaName.parse(str(name)).matches(name)


@given(st.text(max_size=30) | st.text("a./:-_", max_size=12))
def test_every_part_of_any_name_is_one_safe_folder(text: str) -> None:
    try:
        name = OllamaName.parse(text)
    except InputError:
        return
    for part in name.parts:
        assert part not in ("", ".", "..")
        assert not set(part) & set("/\\\0")
