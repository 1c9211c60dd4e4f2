"""What changes on the disk is told, however editors write it."""

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Empty, SimpleQueue

import pytest

from bankml.library.add.watch import Changed, Watch, touched

SECONDS = 30  # of patience


class Seen:
    """What a Watch tells, taken in a thread."""

    def __init__(self, watch: Watch) -> None:
        self._queue: SimpleQueue[Changed] = SimpleQueue()
        threading.Thread(target=self._take, args=(watch,), daemon=True).start()

    def _take(self, watch: Watch) -> None:
        for changed in watch:
            self._queue.put(changed)

    def next(self) -> Changed:
        return self._queue.get(timeout=SECONDS)

    def until(self, path: Path) -> bool:
        """Whether the path is told in time."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            try:
                if touched(path, self._queue.get(timeout=end - time.monotonic())):
                    return True
            except Empty:
                break
        return False


@pytest.fixture
def seen() -> Iterator[Callable[..., Seen]]:
    """Watches these paths; its first word, that it has begun, is heard."""
    watches = []

    def watch(*paths: Path) -> Seen:
        watches.append(Watch(paths))
        watches[-1].__enter__()
        found = Seen(watches[-1])
        assert found.next() is None
        return found

    yield watch
    for one in watches:
        one.__exit__()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "documents" / "sub").mkdir(parents=True)
    (tmp_path / "documents" / "a.txt").write_text("One.")
    return tmp_path / "documents"


def test_every_way_to_change_a_file_is_told(seen, folder, tmp_path):
    told = seen(folder)
    (folder / "a.txt").write_text("Two.")
    assert told.until(folder / "a.txt")
    (folder / ".a.txt.tmp").write_text("Three.")
    os.replace(folder / ".a.txt.tmp", folder / "a.txt")  # as editors do
    assert told.until(folder / "a.txt")
    (folder / "sub" / "deep").mkdir()
    (folder / "sub" / "deep" / "b.txt").write_text("New.")
    assert told.until(folder / "sub" / "deep" / "b.txt")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "c.txt").write_text("Moved in.")
    (tmp_path / "outside").rename(folder / "inside")
    assert told.until(folder / "inside" / "c.txt")
    (folder / "inside").rename(folder / "renamed")
    assert told.until(folder / "renamed" / "c.txt")
    (folder / "renamed" / "c.txt").write_text("Changed after it was moved.")
    assert told.until(folder / "renamed" / "c.txt")
    shutil.rmtree(folder / "renamed")
    assert told.until(folder / "renamed")


def test_a_single_file_that_is_replaced_is_told_again_and_again(seen, folder):
    told = seen(folder / "a.txt")
    for version in range(3):
        (folder / "new").write_text(f"Version {version}.")
        os.replace(folder / "new", folder / "a.txt")
        assert told.until(folder / "a.txt")


def test_a_folder_that_is_made_anew_is_looked_through_anew(seen, folder, tmp_path):
    told = seen(folder)
    folder.rename(tmp_path / "away")
    folder.mkdir()
    while told.next() is not None:
        pass
    (folder / "x.txt").write_text("In the new one.")
    assert told.until(folder / "x.txt")


def test_a_name_that_is_no_text_makes_it_look_at_everything(seen, folder):
    told = seen(folder)
    for number in range(2):
        with open(os.fsencode(folder) + b"/\xff.txt", "w") as file:
            file.write(f"Odd {number}.")
        while told.next() is not None:
            pass
    (folder / "later.txt").write_text("Later.")
    assert told.until(folder / "later.txt")


def test_touched_is_the_file_or_a_folder_above():
    path = Path("/a/b/c.txt")
    assert touched(path, None)
    assert touched(path, frozenset({"/a/b/c.txt"}))
    assert touched(path, frozenset({"/a"}))
    assert not touched(path, frozenset({"/a/b/c", "/a/b/c.txt.tmp", "/x"}))
    assert not touched(path, frozenset())
