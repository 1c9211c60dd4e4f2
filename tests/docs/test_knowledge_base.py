"""docs/knowledge-base.md: its config.yaml is read, and its tables name what is printed."""

import re
from pathlib import Path

from bankml.library.configuration import CHECKS, Configuration
from bankml.library.inspection import inspect
from bankml.models.prefixes import Prefixes, of
from bankml.settings import Settings

PAGE = (Path(__file__).parents[2] / "docs" / "knowledge-base.md").read_text()


def test_its_config(tmp_path: Path) -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "config.yaml").write_text(text)
    found = Configuration.read(tmp_path / "kb.db")
    assert found.model == "multilingual-e5-small"
    assert found.prefixes.over(Prefixes()) == of(found.model)
    assert (found.chunk_tokens, found.chunk_overlap) == (256, 32)
    assert all(f"\n{key}: " in text for key in CHECKS)


def test_the_fields_of_the_status(tmp_path: Path) -> None:
    table = PAGE.partition("## `bankml init --status --json`")[2]
    named = {name for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    assert named == inspect(tmp_path / "kb.db", Settings.read()).keys()
