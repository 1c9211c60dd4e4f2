"""Chunks stay where nothing that made them has changed."""

from pathlib import Path

import pytest

from bankml import models
from bankml.embedders import NativeEmbedder
from bankml.library.add.recipe import Recipe
from bankml.models.prefixes import Override
from oracle import seeded


@pytest.fixture
def embedder(tmp_path: Path) -> NativeEmbedder:
    return NativeEmbedder(models.choose(str(seeded.tiny(tmp_path / "tiny.gguf"))))


def test_another_size_model_or_prefix_is_another_recipe(embedder, tmp_path):
    recipe = Recipe.of(embedder, 256, 32)
    other = NativeEmbedder(models.choose(str(seeded.tiny(tmp_path / "other.gguf", seed=1))))
    prefixed = NativeEmbedder(embedder._choice, prefixes=Override(document="passage: "))
    assert recipe.serves(str(recipe))
    for changed in (
        Recipe.of(embedder, 128, 32),
        Recipe.of(embedder, 256, 16),
        Recipe.of(other, 256, 32),
        Recipe.of(prefixed, 256, 32),
    ):
        assert not recipe.serves(str(changed))
        assert not changed.serves(str(recipe))
    assert not recipe.serves("")


def test_an_estimate_gives_way_to_a_count_and_not_the_other_way(embedder):
    counted, estimated = Recipe.of(embedder, 256, 32), Recipe.of(None, 256, 32)
    assert estimated.serves(str(counted))
    assert not counted.serves(str(estimated))
    assert not Recipe.of(None, 128, 32).serves(str(counted))


def test_what_a_converter_made_stays_until_another_is_asked_for(embedder):
    plain, docling = Recipe.of(embedder, 256, 32), Recipe.of(embedder, 256, 32, "docling")
    assert plain.serves(str(docling))
    assert docling.serves(str(docling))
    assert not docling.serves(str(plain))
