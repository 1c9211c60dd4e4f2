"""Records that programs add to a history."""

import errno
import fcntl
import json
import os
from pathlib import Path

import pytest

from bankml import private_file
from bankml.errors import InputError, StoreError
from bankml.history.append import append
from bankml.history.exchange import Exchange
from bankml.history.file import History


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.history"


def seen(path: Path) -> tuple[list[str], int]:
    """What people said, and how many lines are none."""
    found: list[Exchange] = []
    history = History(path)
    history.follow(found.append, found.clear)
    return [exchange.user for exchange in found], history.skipped


def test_appended_records_are_read(path: Path) -> None:
    append(path, {"user": "one", "assistant": "\ud800", "ts": 1})
    assert path.stat().st_mode & 0o777 == 0o600
    with path.open("a") as file:
        file.write('{"user": "torn')
    append(path, {"user": "two"})
    assert seen(path) == (["one", "two"], 1)


def test_a_file_that_others_may_read_is_closed_to_them(path: Path) -> None:
    path.write_text('{"user": "one"}\n')
    path.chmod(0o644)
    append(path, {"user": "two"})
    assert path.stat().st_mode & 0o777 == 0o600
    assert seen(path) == (["one", "two"], 0)


def test_what_another_program_writes_while_the_disk_fails_stays(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append(path, {"user": "one"})

    def fails(descriptor: int) -> None:
        with path.open("a") as file:
            file.write('{"user": "of a program that knows of no lock"}\n')
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fails)
        with pytest.raises(StoreError, match=r"a\.history cannot be used: Input/output error"):
            append(path, {"user": "two"})
    append(path, {"user": "three"})
    assert seen(path) == (["one", "two", "of a program that knows of no lock", "three"], 0)


def test_names_are_forced_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = []
    fsync = os.fsync

    def told(descriptor: int) -> None:
        synced.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", told)
    path = tmp_path / "new" / "folder" / "a.history"
    append(path, {"user": "one"})
    assert synced == [tmp_path, tmp_path / "new", path, path.parent]
    append(path, {"user": "two"})
    assert synced[4:] == [path]


def test_a_lock_is_not_waited_for_without_end(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append(path, {"user": "one"})
    monkeypatch.setattr(private_file, "PATIENCE", 0.01)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(StoreError, match=r"was held by another process for 0\.01 s: try again later"):
            append(path, {"user": "two"})
    append(path, {"user": "three"})
    assert seen(path) == (["one", "three"], 0)


def test_a_link_leads_to_the_history(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.history"
    link.symlink_to(path)
    append(link, {"user": "one"})
    assert link.is_symlink()
    assert seen(path) == (["one"], 0)


def test_what_cannot_be_appended_to_is_said(tmp_path: Path, path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    path.write_text("a file")
    for place, why in [
        (tmp_path, "is a folder"),
        (tmp_path / "pipe", "is no regular file"),
        (path / "b.history", "cannot be used: "),
    ]:
        with pytest.raises(StoreError, match=why):
            append(place, {"user": "one"})
    for record in ({"user": object()}, {"user": b"bytes"}, {"user": 1 << 80}):
        with pytest.raises(InputError, match="cannot be written as JSON"):
            append(path, record)
    assert path.read_text() == "a file"


def test_lines_of_another_program_and_ours(path: Path) -> None:
    for number in range(3):
        append(path, {"user": f"ours {number}", "n": number})
        with path.open("a") as file:
            file.write(json.dumps({"user": f"theirs {number}"}) + "\n")
    assert seen(path) == ([f"{who} {number}" for number in range(3) for who in ("ours", "theirs")], 0)
