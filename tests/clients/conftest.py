"""Beside the shared server, one on Ollama's own store with a model that is called bge-m3."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bankml.encoder import Encoder
from bankml.errors import ModelWarning
from oracle import seeded
from tests.ollama_store import Store
from tests.serving import running


@dataclass(frozen=True)
class Stored:
    """A server, the store it reads (OLLAMA_MODELS), and the same model in this process."""

    url: str
    store: Path
    encoder: Encoder


@pytest.fixture(scope="session")
def bge_m3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stored]:
    """bge-m3 in all that a client sees (name, 1,024 dimensions, 8,192 positions, CLS), two seeded layers inside."""
    folder = tmp_path_factory.mktemp("ollama")
    sizes = {"hidden": 1024, "heads": 16, "ffn": 1024, "positions": 8192}
    file = seeded.tiny(folder / "bge-m3.gguf", vocabulary="unigram", pooling="cls", **sizes)
    store = Store(folder / "models")
    blob = store.add("registry.ollama.ai/library/bge-m3/latest", file, licences=("MIT License",))
    with (
        warnings.catch_warnings(action="ignore", category=ModelWarning),  # a small vocabulary leaves things unsaid
        running(folder / "home", "--model", "bge-m3", OLLAMA_MODELS=str(store.root)) as server,
        Encoder(blob) as encoder,
    ):
        yield Stored(server.url, store.root, encoder)
