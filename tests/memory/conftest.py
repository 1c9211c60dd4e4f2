"""A store of the test's own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bankml.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A new one, bound to no model."""
    with Store.create(tmp_path / "base" / "kb.db") as store:
        yield store
