import re

import pytest

from bankml.gguf_numbers import POOLINGS
from bankml.models import presets


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("all-minilm", "all-minilm-l6-v2"),
        ("all-minilm:latest", "all-minilm-l6-v2"),
        ("all-MiniLM-L6-v2", "all-minilm-l6-v2"),
        ("ALL-MINILM-L6-V2", "all-minilm-l6-v2"),
        ("sentence-transformers/all-MiniLM-L6-v2", "all-minilm-l6-v2"),
        ("e5-small", "multilingual-e5-small"),
        ("intfloat/multilingual-e5-small", "multilingual-e5-small"),
        ("all-minilm:33m", None),
        ("bge-m3", None),
        ("", None),
    ],
)
def test_names_and_aliases(name: str, found: str | None) -> None:
    preset = presets.find(name)
    assert (preset and preset.name) == found


def test_every_fact_is_filled_in() -> None:
    for preset in presets.PRESETS:
        assert re.fullmatch("[0-9a-f]{64}", preset.gguf_sha256)
        assert preset.pooling in POOLINGS
        for wheel in preset.wheels:
            assert all(re.fullmatch("[0-9a-f]{64}", entry.sha256) for entry in (wheel, *wheel.members))
