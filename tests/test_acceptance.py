"""docs/acceptance.md names tests; each of them must exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "acceptance.md").read_text()


def test_every_named_python_test_exists() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(test_\w+))?`", TEXT)
    assert len(named) > 40
    missing = [f"{path}::{name}" for path, name in named if not _holds(ROOT / path, f"def {name}(" if name else "")]
    assert not missing


def test_every_named_cpp_test_exists() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "tests" / "cpp").glob("test_*.cpp"))
    named = [name for line in re.findall(r"C\+\+ ((?:`\w+`(?:, )?)+)", TEXT) for name in re.findall(r"`(\w+)`", line)]
    assert len(named) > 20
    assert not [name for name in named if f"TEST({name})" not in sources]


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
