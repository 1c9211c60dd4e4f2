"""Whether a model knows the script of a query."""

import pytest

from bankml.memory.recall.script import latin, unread


@pytest.mark.parametrize(
    "text", ["", "42 ?!", "oven", "Öl größer", "\uff2f\uff56\uff45\uff4e", "où là 的", "ab 的中", "\0\x1b[2J"]
)
def test_latin(text: str) -> None:
    assert latin(text)
    assert unread(text, ["all-MiniLM-L6-v2"]) == ""


@pytest.mark.parametrize("text", ["สูตรลาซานญ่า", "печь", "かまど", "a 的中", "φούρνος", "לחם", "भट्ठी"])
def test_not_latin(text: str) -> None:
    assert not latin(text)
    for model in ("all-MiniLM-L6-v2", "all-minilm-l6-v2"):
        assert unread(text, ["bge-m3", model]).startswith(f"{model} knows English alone: `bankml config set ")
    assert unread(text, ["multilingual-e5-small", "of nobody"]) == ""
