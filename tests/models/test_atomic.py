import threading
import time
from pathlib import Path

import pytest

from bankml.models import atomic


def test_a_file_appears_whole_and_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    with atomic.replacement(path) as temporary:
        temporary.write_bytes(b"whole")
        assert not path.exists()
    assert path.read_bytes() == b"whole"
    assert list(path.parent.iterdir()) == [path]


def test_an_error_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def interrupted() -> None:
        with atomic.replacement(path) as temporary:
            temporary.write_bytes(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_process_left_goes_and_what_a_live_one_holds_stays(tmp_path: Path) -> None:
    path, names = tmp_path / "[m].gguf", ("[m].gguf", "m.gguf", "[m].gguf.b")
    left = [tmp_path / f".{name}.{'0' * 16}.tmp" for name in names]
    for file in (*left, tmp_path / ".[m].gguf.mine.tmp"):
        file.touch()
    with atomic.replacement(path) as first, atomic.replacement(path) as second:
        assert first.exists()
        assert second.exists()
        assert [file.exists() for file in left] == [False, True, True]
    assert {file.name for file in tmp_path.iterdir()} == {path.name, ".[m].gguf.mine.tmp", *(f.name for f in left[1:])}


def test_a_lock_is_held_by_one(tmp_path: Path) -> None:
    inside, most = 0, 0

    def work() -> None:
        nonlocal inside, most
        with atomic.lock(tmp_path / "lock"):
            inside += 1
            most = max(most, inside)
            time.sleep(0.01)
            inside -= 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
