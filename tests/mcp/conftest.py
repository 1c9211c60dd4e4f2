"""A store with documents, and clients of a server that lives through a file of tests."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mcp.agents import Agent, Wire, connected, environment, listening, over_stdio, wired

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def noted(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with both built-ins and a knowledge base of examples/notes by MiniLM."""
    made = tmp_path_factory.mktemp("noted")
    (made / "models").symlink_to(home / "models")
    command = [sys.executable, "-m", "bankml", "add", str(ROOT / "examples" / "notes")]
    subprocess.run(command, env=os.environ | environment(made), check=True, capture_output=True)
    return made


@pytest.fixture
def own(noted: Path, tmp_path: Path) -> Path:
    """The same for one test alone, which may change it."""
    made = tmp_path / "own"
    made.mkdir()
    (made / "models").mkdir()
    for model in (noted / "models").iterdir():
        (made / "models" / model.name).symlink_to(model.resolve())
    for file in noted.glob("kb.db*"):
        shutil.copy(file, made)
    return made


@pytest.fixture(scope="module")
def agent(noted: Path) -> Iterator[Agent]:
    """Of a server over stdin and stdout."""
    with connected(over_stdio(noted)) as found:
        yield found


@pytest.fixture(scope="module")
def wire(noted: Path) -> Iterator[Wire]:
    """Of another one, greeted."""
    with wired(noted) as found:
        found.greet()
        yield found


@pytest.fixture(scope="module")
def address(noted: Path) -> Iterator[str]:
    """Of a server over HTTP."""
    with listening(noted) as (address, _):
        yield address
