"""A store of the test's own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bankml.settings import Settings
from bankml.store import Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a knowledge base is to be made."""
    return tmp_path / "base" / "kb.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    """A new one, bound to no model."""
    with Store.create(path) as store:
        yield store


@pytest.fixture
def settings() -> Settings:
    return Settings.read()
