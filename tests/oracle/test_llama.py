"""llama.cpp as the oracle uses it, where llama-cpp-python is installed (`make oracle` installs it)."""

from pathlib import Path
from typing import get_args

import pytest

from bankml._engine import Engine
from oracle import seeded, vectors

llama = pytest.importorskip("oracle.llama")


@pytest.mark.parametrize("pooling", get_args(seeded.Pooling))
@pytest.mark.parametrize("kind", ["wordpiece", "unigram"])
def test_llama_cpp_loads_seeded_models_and_agrees(tmp_path: Path, pooling: seeded.Pooling, kind: str) -> None:
    path, ids = vectors.tiny_model(tmp_path / "m.gguf", "F16", pooling, kind)
    ours = vectors.encode_ids(path, ids[:4], "tanh")
    assert vectors.distance(ours, llama.encode_ids(path, ids[:4])).cosine >= vectors.LLAMA


@pytest.mark.parametrize("kind", ["wordpiece", "unigram"])
def test_llama_cpp_tokenizes_alike(tmp_path: Path, kind: str) -> None:
    path = seeded.tiny(tmp_path / "m.gguf", vocabulary=kind)
    theirs, engine = llama.Tokenizer(path), Engine(path)
    for text in ("why is the sky blue?", "", "a\0b", "</s> [SEP]", "langer Satz: текст"):
        assert theirs.ids(text) == engine.tokenize(text)[0]


def test_a_file_that_llama_cpp_refuses_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(RuntimeError, match="did not load"):
        llama.encode_ids(path, [[0, 2]])
