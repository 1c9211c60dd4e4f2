"""docs/acceptance.md and SECURITY.md name tests; each of them must exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ACCEPTANCE = ROOT / "docs" / "acceptance.md"
SECURITY = ROOT / "SECURITY.md"
TEXT = ACCEPTANCE.read_text()


def test_every_named_python_test_exists() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(test_\w+))?`", TEXT)
    assert len(named) > 40
    assert not _missing(ROOT, named)


def test_every_test_that_security_names_exists() -> None:
    """In tests/serve where no folder is named."""
    named = re.findall(r"`([\w/]+\.py)::(test_\w+)`", SECURITY.read_text())
    assert len(named) > 50
    assert not _missing(ROOT, [(path if "/" in path else f"tests/serve/{path}", name) for path, name in named])


@pytest.mark.parametrize("page", [ACCEPTANCE, SECURITY], ids=lambda page: page.name)
def test_every_row_stands_in_a_table(page: Path) -> None:
    """A blank line ends a table; rows behind it are shown as they are written."""
    tables = re.findall(r"(?:^\|.*\n)+", page.read_text(), re.MULTILINE)
    assert tables
    assert not [table for table in tables if not re.match(r"\|.*\n\|[-|]+\|\n", table)]


def test_every_named_cpp_test_exists() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "tests" / "cpp").glob("test_*.cpp"))
    named = [name for line in re.findall(r"C\+\+ ((?:`\w+`(?:, )?)+)", TEXT) for name in re.findall(r"`(\w+)`", line)]
    assert len(named) > 20
    assert not [name for name in named if f"TEST({name})" not in sources]


def _missing(folder: Path, named: list[tuple[str, str]]) -> list[str]:
    """Of files and the tests in them, those that are not there."""
    return [f"{path}::{name}" for path, name in named if not _holds(folder / path, f"def {name}(" if name else "")]


def _holds(path: Path, text: str) -> bool:
    return path.exists() and text in path.read_text()


def test_every_linked_page_exists() -> None:
    for page in [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *(ROOT / "docs").glob("*.md"),
        ROOT / "oracle" / "README.md",
    ]:
        links = [link for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()) if "://" not in link]
        assert not [link for link in links if not (page.parent / link).exists()], page
