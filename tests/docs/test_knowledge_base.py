"""docs/knowledge-base.md: its config.yaml is read, and its tables name what is printed."""

import re
from pathlib import Path

from bankml.library.model.configuration import CHECKS, Configuration
from bankml.library.model.inspection import inspect
from bankml.library.upkeep import doctor
from bankml.library.upkeep.reindexed import Reindexed
from bankml.library.upkeep.status import status
from bankml.models.prefixes import Prefixes, of
from bankml.settings import Settings
from bankml.store import Bound, Store

PAGE = (Path(__file__).parents[2] / "docs" / "knowledge-base.md").read_text()


def test_its_config(tmp_path: Path) -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "config.yaml").write_text(text)
    found = Configuration.read(tmp_path / "kb.db")
    assert found.model == "multilingual-e5-small"
    assert found.prefixes.over(Prefixes()) == of(found.model)
    assert (found.chunk_tokens, found.chunk_overlap) == (256, 32)
    assert all(f"\n{key}: " in text for key in CHECKS)


def fields(heading: str) -> set[str]:
    """What stands in the first column of the table below a heading."""
    table = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return {name for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}


def test_the_fields_of_the_status(tmp_path: Path) -> None:
    assert fields("`bankml init --status --json`") == inspect(tmp_path / "kb.db", Settings.read()).keys()


def test_the_fields_of_status_and_the_checks_of_doctor(tmp_path: Path) -> None:
    with Store.create(tmp_path / "kb.db") as store:
        assert fields("How it is: `bankml status`") == status(store, Settings.read()).object().keys()
    checks = {found.check for found in doctor.examine(tmp_path / "kb.db", Settings.read())}
    assert fields("What is wrong: `bankml doctor`") == checks


def test_the_fields_of_reindex() -> None:
    (named,) = re.findall(r"`--json` prints (`model`.*)", PAGE.partition("`bankml reindex`\n")[2])
    printed = Reindexed(Bound("", 1, "", ""), None).object()
    assert set(re.findall(r"`(\w+)`", named)) == printed.keys()
