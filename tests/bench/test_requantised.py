"""A file in Q8_0: the same model, to the rounding of 8 bits."""

from pathlib import Path

from bankml import Encoder
from bankml._engine import GGUF
from bench import requantised
from oracle import seeded


def test_the_file_is_the_same_model_in_q8_0(tmp_path: Path) -> None:
    source = seeded.tiny(tmp_path / "q4_0.gguf", dtype="Q4_0")
    made = requantised.write(source, tmp_path / "q8_0.gguf")
    types = {tensor["name"]: tensor["type"] for tensor in GGUF(made).tensors}
    before = {tensor["name"]: tensor["type"] for tensor in GGUF(source).tensors}
    assert {before[name]: kind for name, kind in types.items()} == {"Q4_0": "Q8_0", "F32": "F32"}
    texts = ["a text", "another one"]
    with Encoder(source) as first, Encoder(made) as same:
        assert [same.tokenize(text) for text in texts] == [first.tokenize(text) for text in texts]
        assert (first.encode(texts) * same.encode(texts)).sum(axis=1).min() > 0.999
        kept, changed = dict(first.metadata), dict(same.metadata)
        assert (kept.pop("general.file_type"), changed.pop("general.file_type")) == (2, 7)
        assert changed == kept
