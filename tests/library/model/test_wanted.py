"""Which model is asked for, and that whoever asks is named truly."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bankml.embedders import Embedder
from bankml.errors import InputError, MismatchError, StoreError
from bankml.library.model import binding, wanted
from bankml.library.model.wanted import Wanted, asked
from bankml.models import presets
from bankml.settings import Settings
from bankml.store import Store

PRESET = "search: {vector: {preset: multilingual-e5-small}}\n"
VECTOR_MODEL = "search: {vector: {model: bge-base-en-v1.5}}\n"
BOTH = "search: {vector: {preset: multilingual-e5-small, model: bge-base-en-v1.5}}\nmodel: gte-small\n"
CUSTOM = "search: {vector: {preset: custom, model: bge-base-en-v1.5}}\nmodel: gte-small\n"


@pytest.mark.parametrize(
    ("flag", "variable", "config", "recorded", "name", "by"),
    [
        ("gte-base", "bge-m3", BOTH, "old", "gte-base", "--model"),
        (None, "bge-m3", BOTH, "old", "bge-m3", "BANKML_EMBED_MODEL"),
        (None, None, BOTH, "old", "multilingual-e5-small", "search.vector.preset"),
        (None, None, PRESET, "old", "multilingual-e5-small", "search.vector.preset"),
        (None, None, CUSTOM, "old", "bge-base-en-v1.5", "search.vector.model"),
        (None, None, VECTOR_MODEL + "model: gte-small\n", "old", "bge-base-en-v1.5", "search.vector.model"),
        (None, None, "search: {vector: {preset: custom}}\nmodel: gte-small", "old", "gte-small", "config.yaml"),
        (None, None, "search: {vector: {preset: custom}}\n", "old", "old", "the knowledge base"),
        (None, None, "search: {vector: {enabled: false}}\n", None, "all-MiniLM-L6-v2", "default"),
        (None, None, "", "old", "old", "the knowledge base"),
        (None, None, "", None, "all-MiniLM-L6-v2", "default"),
    ],
)
def test_who_decides(
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    flag: str | None,
    variable: str | None,
    config: str,
    recorded: str | None,
    name: str,
    by: str,
) -> None:
    if variable:
        monkeypatch.setenv("BANKML_EMBED_MODEL", variable)
    path.parent.mkdir()
    (path.parent / "config.yaml").write_text(config)
    assert asked(path, Settings.read(), flag, recorded) == Wanted(name, by)


def test_another_default_changes_no_store(
    store: Store, settings: Settings, small: Path, embedder: Callable[[Path], Embedder], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an upgrade could do: a store without any preset keeps its model and its pooling."""
    with store.writing() as db:
        binding.check(db, embedder(small))
    recipe = binding.embedder(store, settings)
    monkeypatch.setattr(presets, "DEFAULT", presets.MULTILINGUAL_E5_SMALL)
    assert wanted.wanted(store, settings) == Wanted(str(small), "the knowledge base")
    now = binding.embedder(store, settings)
    assert (now.digest, now.pooling) == (recipe.digest, recipe.pooling) == (embedder(small).digest, "mean")
    (store.path.parent / "config.yaml").write_text(
        f"model: {small}\n"
    )  # a configuration from before there were presets
    assert wanted.wanted(store, settings) == Wanted(str(small), "config.yaml")
    assert asked(store.path.parent / "none" / "kb.db", settings).name == "multilingual-e5-small"


@pytest.mark.parametrize(
    ("config", "says"),
    [
        (PRESET, "but search.vector.preset specifies 'multilingual-e5-small' (384 dim)"),
        (VECTOR_MODEL, "but search.vector.model specifies 'bge-base-en-v1.5' (768 dim)"),
        ("model: bge-base-en-v1.5", "but config specifies 'bge-base-en-v1.5' (768 dim)"),
    ],
)
def test_a_mismatch_says_which_key_asks(
    store: Store, settings: Settings, small: Path, embedder: Callable[[Path], Embedder], config: str, says: str
) -> None:
    with store.writing() as db:
        binding.check(db, embedder(small))
    (store.path.parent / "config.yaml").write_text(config)
    with pytest.raises(MismatchError) as caught:
        binding.embedder(store, settings)
    assert says in str(caught.value)
    assert ("bankml config reset search.vector." in str(caught.value)) == ("search" in config)


def test_what_cannot_be_asked_for(path: Path, settings: Settings) -> None:
    with pytest.raises(InputError, match="--model is ' '"):
        asked(path, settings, " ")
    path.parent.mkdir()
    (path.parent / "config.yaml").write_text("search: {vector: {preset: granite-small-r2}}")
    with pytest.raises(StoreError, match="needs support of the engine"):
        asked(path, settings, "bge-m3")
