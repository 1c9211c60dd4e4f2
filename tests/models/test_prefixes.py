"""The words that a family was trained to see before a text."""

import pytest

from bankml.models import prefixes
from bankml.models.prefixes import NONE

REPRESENT = "Represent this sentence for searching relevant passages: "
E5 = ("passage: ", "query: ")


@pytest.mark.parametrize(
    ("name", "document", "query"),
    [
        ("multilingual-e5-small", *E5),
        ("intfloat/multilingual-e5-large", *E5),
        ("e5-base-v2", *E5),
        ("Multilingual E5 Small", *E5),
        ("hf:someone/multilingual-e5-base-GGUF/multilingual-e5-base-q8_0.gguf", *E5),
        ("snowflake-arctic-embed2:568m", "", "query: "),
        ("snowflake-arctic-embed-l-v2.0", "", "query: "),
        ("snowflake-arctic-embed:335m", "", REPRESENT),
        ("nomic-embed-text:latest", "search_document: ", "search_query: "),
        ("nomic-embed-text-v2-moe", "search_document: ", "search_query: "),
        ("modernbert-embed-base", "search_document: ", "search_query: "),
        ("bge-small-en-v1.5", "", REPRESENT),
        ("bge-large:335m", "", REPRESENT),
        ("mxbai-embed-large", "", REPRESENT),
    ],
)
def test_families(name: str, document: str, query: str) -> None:
    found = prefixes.of(name)
    assert (found.document, found.query) == (document, query)


@pytest.mark.parametrize(
    "name",
    ["bge-m3", "bge-m3:567m", "all-minilm-l6-v2", "granite-embedding:278m", "paraphrase-multilingual", "e50", ""],
)
def test_the_others_want_none(name: str) -> None:
    assert prefixes.of(name) == NONE


def test_the_first_name_that_is_known_decides() -> None:
    assert prefixes.of("model", "multilingual-e5-small", "bge-large").query == "query: "


def test_instructions_come_with_the_query_alone() -> None:
    for name in ("multilingual-e5-large-instruct", "qwen3-embedding:0.6b"):
        found = prefixes.of(name)
        assert found.document == ""
        assert found.query.startswith("Instruct: ")
