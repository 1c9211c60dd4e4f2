"""A store of Ollama's with two models, and an Ollama that answers as it is told."""

from collections.abc import Iterator
from pathlib import Path

import gguf
import numpy as np
import pytest

from oracle import seeded
from tests.embedders.scripted import Scripted, scripted
from tests.ollama_store import Store

MIT = (
    "Permission is hereby granted, free of charge, to deal in the Software without restriction: this notice shall be "
    "included in all copies."
)


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`sky`, which the engine runs, and `cloud` and `bge-m3`, of an architecture that it does not."""
    root = tmp_path_factory.mktemp("embedders")
    store = Store(root / "store")
    store.add("registry.ollama.ai/library/sky/latest", seeded.tiny(root / "sky.gguf"), (MIT,))
    for name, dims in (("cloud", 64), ("bge-m3", 1024), ("unsaid", 0)):
        store.add(
            f"registry.ollama.ai/library/{name}/latest", foreign(root / f"{name}.gguf", dims), (MIT,), None, "nomic"
        )
    return store.root


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch, store: Path) -> Iterator[Scripted]:
    monkeypatch.setenv("OLLAMA_MODELS", str(store))
    with scripted() as ollama:
        monkeypatch.setenv("BANKML_OLLAMA", ollama.url)
        yield ollama


def foreign(path: Path, dims: int) -> Path:
    writer = gguf.GGUFWriter(path, "nomic")
    writer.add_name(path.stem)
    if dims:
        writer.add_embedding_length(dims)
    writer.add_tensor("token_embd.weight", np.ones((4, 32), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
