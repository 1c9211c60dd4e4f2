"""What is another recipe, and what is none."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from bankml._engine import NUMERICS
from bankml.embedders import choose
from bankml.library.model import fingerprint as recipe
from bankml.library.model.fingerprint import fingerprint
from bankml.models.prefixes import Override
from bankml.settings import Settings

PARTS = {
    "provider": "native",
    "digest": "a" * 64,
    "dtype": "F16",
    "pooling": "mean",
    "document_prefix": "passage: ",
    "query_prefix": "query: ",
}


def of(**parts: str) -> str:
    return fingerprint(SimpleNamespace(**{**PARTS, **parts}))


def test_sixteen_hex_digits_that_never_change() -> None:
    """Another value would leave out every vector that users have stored: then a part of it must have changed."""
    assert of() == "58b0ed0b52ed4d53"


@pytest.mark.parametrize("part", PARTS)
def test_every_part_counts(part: str) -> None:
    assert of(**{part: "b"}) != of()


def test_a_prefix_is_no_part_of_another() -> None:
    assert of(document_prefix="a", query_prefix="b") != of(document_prefix="b", query_prefix="a")
    assert of(document_prefix="ab", query_prefix="") != of(document_prefix="a", query_prefix="b")


def test_the_text_recipe_and_the_numerics_count(monkeypatch: pytest.MonkeyPatch) -> None:
    before, ollamas = of(), of(provider="ollama")
    monkeypatch.setattr(recipe, "TEXT_RECIPE", 2)
    assert of() != before
    assert of(provider="ollama") != ollamas
    monkeypatch.undo()
    monkeypatch.setattr(recipe, "NUMERICS", 2)
    assert of() != before
    assert of(provider="ollama") == ollamas  # whose engine is not ours


@pytest.mark.usefixtures("stocked_home")
def test_a_model_has_one_whatever_it_is_called_and_whoever_runs_how_fast(
    minilm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = fingerprint(choose(name="all-MiniLM-L6-v2"))
    assert fingerprint(choose(name="minilm")) == ours
    assert fingerprint(choose(name=minilm)) == ours
    monkeypatch.setenv("BANKML_BACKEND", "scalar")
    monkeypatch.setenv("BANKML_THREADS", "1")
    assert fingerprint(choose(Settings.read(), "minilm")) == ours
    assert fingerprint(choose(name="e5")) != ours
    assert fingerprint(choose(name="minilm", prefixes=Override(query="find: "))) != ours


def test_the_version_of_the_numerics_is_the_documented_one() -> None:
    page = (Path(__file__).parents[3] / "docs" / "numerics.md").read_text()
    table = page.partition("## The version of the numerics")[2].partition("\n## ")[0]
    assert [int(version) for version in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)] == [*range(1, NUMERICS + 1)]
