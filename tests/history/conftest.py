"""Histories with known content, and the real model that ranks them by meaning."""

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bankml import Encoder, models
from bankml.embedders import NativeEmbedder
from bankml.history.searcher import Searcher


class Gated(NativeEmbedder):
    """The real embedder, which can be held up."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.gate = threading.Event()
        self.gate.set()
        self.asked: list[list[str]] = []

    def embed(self, texts, **options):
        self.asked.append(list(texts))
        assert self.gate.wait(60)
        return super().embed(texts, **options)


@pytest.fixture
def embedder(encoder: Encoder, minilm: Path) -> Gated:
    """all-MiniLM-L6-v2."""
    return Gated(models.choose(str(minilm)), encoder=encoder)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """A history of these (user, assistant) pairs."""

    def written(*pairs: tuple[str, str], name: str = "a.history") -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps({"user": user, "assistant": said}) + "\n" for user, said in pairs))
        return path

    return written


@pytest.fixture
def searcher(embedder: Gated) -> Iterator[Callable[..., Searcher]]:
    """Makes a Searcher of the real model; closed at the end."""
    made = []

    def make(path: Path, **options: Any) -> Searcher:
        made.append(Searcher(path, lambda: embedder, **options))
        return made[-1]

    yield make
    embedder.gate.set()
    for one in made:
        one.close()
