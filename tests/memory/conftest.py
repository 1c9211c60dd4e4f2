"""Stores for records, and small models; a clock that a test moves."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bankml.embedders import Embedder, choose
from bankml.memory.draft import Draft
from bankml.settings import Settings
from bankml.store import Store
from oracle import seeded


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A new one, bound to no model."""
    with Store.create(tmp_path / "base" / "kb.db") as store:
        yield store


@pytest.fixture
def settings() -> Settings:
    return Settings.read()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A folder with .git and two files."""
    folder = tmp_path / "repository"
    (folder / "src").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / "src" / "auth.py").write_text("TTL = 3600\n")
    (folder / "README.md").write_text("# A project\n")
    return folder


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of 64 dimensions."""
    return seeded.tiny(tmp_path_factory.mktemp("small") / "small.gguf")


@pytest.fixture(scope="session")
def embedder(small: Path) -> Callable[[], Embedder]:
    """What chooses it."""
    found = choose(name=small)
    return lambda: found


@pytest.fixture
def draft() -> Callable[..., Draft]:
    """One with a title and a content, unless others are given."""
    return lambda **given: Draft.of(**{"title": "Sessions expire", "content": "A token lives for an hour.", **given})


class Clock:
    """Microseconds; each look is one later."""

    def __init__(self, now: int) -> None:
        self.now = now

    def __call__(self) -> int:
        self.now += 1
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock(1_700_000_000_000_000)
