"""Filters let documents through by path, type, date and id."""

from datetime import datetime

import pytest

from bankml.errors import InputError
from bankml.library.search.filters import Filters
from bankml.store import Store
from tests.library.shelf import put


@pytest.fixture
def shelf(store: Store) -> Store:
    for day, (path, kind) in enumerate([("/n/a.md", "markdown"), (b"/n/caf\xe9.txt", "text"), ("/b/c.pdf", "pdf")], 1):
        put(store, path, ["one", "two"], type=kind, modified=int(datetime(2026, 1, day, 12).timestamp()))
    return store


CASES = (
    ({"path": "n"}, [1, 2, 3, 4]),
    ({"path": ["*.md", "*.pdf"]}, [1, 2, 5, 6]),
    ({"path": "/n/caf?.txt"}, [3, 4]),
    ({"type": "text"}, [3, 4]),
    ({"type": ("text", "pdf")}, [3, 4, 5, 6]),
    ({"after": "2026-01-02"}, [3, 4, 5, 6]),
    ({"before": "2026-01-02"}, [1, 2]),
    ({"after": "2026-01-02T12:00", "before": "2026-01-02T12:01"}, [3, 4]),
    ({"after": datetime(2026, 1, 3)}, [5, 6]),
    ({"document": 2}, [3, 4]),
    ({"document": 2, "type": "pdf"}, []),
    ({"path": "nowhere"}, []),
)


@pytest.mark.parametrize(("asked", "ids"), CASES)
def test_who_passes(shelf: Store, asked: dict, ids: list[int]) -> None:
    filters = Filters.of(**asked)
    assert filters
    with shelf.reading() as db:
        assert filters.allowed(db).tolist() == ids


def test_no_filter_is_false() -> None:
    assert not Filters.of()


@pytest.mark.parametrize("date", ["yesterday", "2026-13-01", ""])
def test_what_is_no_date(date: str) -> None:
    with pytest.raises(InputError, match="give a date such as"):
        Filters.of(after=date)


@pytest.mark.parametrize("document", [0, -1, 2**63, 10**20])
def test_what_no_document_has(document: int) -> None:
    with pytest.raises(InputError, match="give a document's id"):
        Filters.of(document=document)
