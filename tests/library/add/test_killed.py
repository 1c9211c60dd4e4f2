"""`bankml add`, killed at random moments: the store is whole each time, and the next run completes it."""

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from bankml.store import Store
from oracle import seeded
from tests.library.whole import count, faults, texts

FILES, PARTS = 20, 6
KILLS = 12
SEED = int(os.environ.get("KILLS_SEED", "1"))

# Forks a process for each line that it reads: what is imported is imported once. No engine runs before the fork.
PROGRAM = """
import os, sys
from pathlib import Path
from bankml import models
from bankml.embedders import NativeEmbedder
from bankml.library.model.configuration import Configuration
from bankml.library.add.ingest import Ingest
from bankml.library.add.selection import Selection
from bankml.store import Store

def add():
    with Store.create(Path(sys.argv[1])) as store:
        embedder = NativeEmbedder(models.choose(sys.argv[3]), threads=1)
        sources = list(Selection([sys.argv[2]], store.path).sources())
        Ingest(store, embedder, Configuration.read(store.path)).run(sources)

for line in sys.stdin:
    child = os.fork()
    if child == 0:
        add()
        os._exit(0)
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""


class Runs:
    """Runs of `bankml add` that can be killed."""

    def __init__(self, *arguments: Path) -> None:
        command = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)

    def run(self, seconds: float | None = None) -> float | None:
        """How long it took; None where it was killed after so many seconds."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(b"add\n")
        child, begun = int(self._process.stdout.readline()), time.monotonic()
        if seconds is not None:
            time.sleep(seconds)
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        status = int(self._process.stdout.readline())
        assert status in (0, signal.SIGKILL)
        return time.monotonic() - begun if status == 0 else None

    def close(self) -> None:
        self._process.communicate(timeout=60)


def write(folder: Path, version: int) -> None:
    """Every file anew; each part of it says which version it is of, and some parts stay as they were."""
    for number in range(FILES):
        parts = [f"Part {part} of file {number}, version {version if part % 2 else 0}. " * 10 for part in range(PARTS)]
        (folder / f"{number}.txt").write_text("\n\n".join(parts))


def versions(chunks: list[str]) -> set[str]:
    """Of the parts that change."""
    return set(re.findall(r"Part [135] of file \d+, version (\d+)", " ".join(chunks)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "documents").mkdir()
    return tmp_path / "documents"


@pytest.fixture
def runs(tmp_path: Path, folder: Path) -> Iterator[Runs]:
    """Of the folder, into kb.db."""
    runs = Runs(tmp_path / "kb.db", folder, seeded.tiny(tmp_path / "tiny.gguf", hidden=64))
    yield runs
    runs.close()


def test_a_killed_run_leaves_whole_documents_and_the_next_completes_them(
    tmp_path: Path, folder: Path, runs: Runs
) -> None:
    lasts = None
    for version in (0, 1):  # the first finds nothing in the caches of this machine
        write(folder, version)
        lasts = runs.run()
    assert lasts
    moments, cut = random.Random(SEED), 0
    for version in range(2, KILLS + 2):
        write(folder, version)
        cut += runs.run(moments.uniform(0, lasts)) is None
        with Store.open(tmp_path / "kb.db") as store:
            assert faults(store) == []
            found = texts(store)
            assert len(found) == FILES
            assert all(len(versions(chunks)) == 1 for chunks in found.values())
            assert count(store, "chunks") == count(store, "chunks_vec")
    assert cut > KILLS // 2
    assert runs.run()
    with Store.open(tmp_path / "kb.db") as store:
        assert faults(store) == []
        assert {frozenset(versions(chunks)) for chunks in texts(store).values()} == {frozenset({str(KILLS + 1)})}
        assert count(store, "chunks") == count(store, "chunks_vec")
