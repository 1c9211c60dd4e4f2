"""docs/presets.md: its commands run, and its tables say what the presets and the settings are."""

import re
import shlex
from pathlib import Path

import pytest

from bankml.cli.app import run
from bankml.library.model.configuration import CHECKS
from bankml.library.model.profiles import PROFILES
from bankml.sizes import human

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "presets.md").read_text()


def rows(start: str) -> list[list[str]]:
    """The cells of the table whose head begins so."""
    table = PAGE[PAGE.index(f"| {start} |") :].partition("\n\n")[0]
    return [[cell.strip(" ") for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_the_presets() -> None:
    said = [
        [
            f"`{profile.name}`",
            profile.model,
            str(profile.dims),
            profile.languages,
            human(profile.size),
            profile.pooling,
            f"`{profile.prefixes.query}`" if profile.prefixes.query else "",
            f"`{profile.prefixes.document}`" if profile.prefixes.document else "",
        ]
        for profile in PROFILES
        if not profile.graph
    ]
    assert rows("preset") == said
    assert all(f"`{profile.name}`" in PAGE for profile in PROFILES)


def test_the_settings() -> None:
    keys = [key for row in rows("key") for key in re.findall(r"`([a-z_.]+)`", row[0])]
    assert sorted(keys) == sorted(CHECKS)


def test_its_commands(stocked_home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    commands = re.findall(r"^\$ bankml (.*)\n((?:(?!\$ |```).+\n)*)", PAGE, re.MULTILINE)
    assert len(commands) == 5
    for command, shown in commands:
        capfd.readouterr()
        status = run(shlex.split(command))
        out, err = capfd.readouterr()
        assert status == 0, (command, err)
        assert not shown or out == shown
