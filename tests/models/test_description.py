"""A model in Ollama's terms."""

import pytest

from bankml.models import choose
from bankml.models.description import describe, human_count


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (999, "999"),
        (1500, "1.50K"),
        (22_565_376, "22.57M"),
        (566_703_104, "566.70M"),
        (1_540_000_000, "1.5B"),
        (10**9, "1B"),
    ],
)
def test_counts(count, text):
    assert human_count(count) == text


def test_a_built_in(stocked_home):
    entry = describe(choose("e5-small"))
    assert (entry.name, entry.namespace) == ("multilingual-e5-small:latest", "library")
    assert entry.details["quantization_level"] == "Q4_0"
    assert entry.family == entry.details["family"] == "bert"
    assert (entry.dims, entry.context_length, entry.pooling) == (384, 512, "mean")
    assert "MIT" in entry.licence
    assert entry.parameters == ""


def test_a_file_that_changed_is_read_again(tmp_path, minilm, e5):
    path = tmp_path / "model.gguf"
    path.symlink_to(minilm)
    first = describe(choose(str(path)))
    path.unlink()
    path.symlink_to(e5)
    second = describe(choose(str(path)))
    assert first.details["quantization_level"] != second.details["quantization_level"]
