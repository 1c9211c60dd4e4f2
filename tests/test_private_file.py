"""A file that one appends to: its lock, its mode, and the sentence for what is no file."""

import errno
import fcntl
import os
import subprocess
import sys
import threading
import time

import pytest

from bankml import private_file as file
from bankml.errors import StoreError

HOLDS = """
import sys, time
from pathlib import Path
from bankml import private_file as file

with file.writing(Path(sys.argv[1])):
    print(flush=True)
    time.sleep(60)
"""


def test_one_at_a_time(tmp_path):
    inside = []

    def enter():
        for _ in range(50):
            with file.writing(tmp_path / "x"):
                inside.append(1)
                assert sum(inside) == 1
                inside.append(-1)

    threads = [threading.Thread(target=enter) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(inside) == 400


def test_who_waits_too_long_is_told(tmp_path):
    with (
        file.writing(tmp_path / "x"),
        pytest.raises(file.HeldError, match=r"x was held by another process for 0\.01 s"),
        file.writing(tmp_path / "x", patience=0.01),
    ):
        pass


def test_a_killed_process_holds_nothing(tmp_path):
    with subprocess.Popen([sys.executable, "-c", HOLDS, tmp_path / "x"], stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        with pytest.raises(file.HeldError), file.writing(tmp_path / "x", patience=0):
            pass
        child.kill()
        child.wait()
    with file.writing(tmp_path / "x", patience=0):
        pass


def test_a_file_that_was_replaced_while_one_waited(tmp_path, monkeypatch):
    path, waiting = tmp_path / "x", threading.Event()
    sleep = time.sleep
    monkeypatch.setattr(time, "sleep", lambda seconds: (waiting.set(), sleep(seconds)))

    def late():
        with file.writing(path) as descriptor:
            assert os.path.samestat(os.fstat(descriptor), path.stat())
            os.write(descriptor, b"late")

    with file.writing(path) as descriptor:
        thread = threading.Thread(target=late)
        thread.start()
        assert waiting.wait(10)
        (tmp_path / "new").write_bytes(b"new ")
        os.replace(tmp_path / "new", path)
        assert os.fstat(descriptor).st_size == 0
    thread.join()
    assert path.read_bytes() == b"new late"


def test_without_locks_nothing_is_written(tmp_path, monkeypatch):
    def no_locks(descriptor, how):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with pytest.raises(StoreError, match=r"cannot be locked \(No locks available\)"):
        file.append(tmp_path / "x", b"a\n")
    assert not (tmp_path / "x").read_bytes()


def make_link(path):
    path.symlink_to(path.parent / "elsewhere")


@pytest.mark.parametrize(
    ("make", "why"),
    [(os.mkdir, "a folder"), (os.mkfifo, "no regular file"), (make_link, "a symbolic link: give the path of the file")],
)
def test_what_is_no_file(tmp_path, make, why):
    make(path := tmp_path / "x")
    for opened in (file.reading(path), file.writing(path)):
        with pytest.raises(StoreError, match=f"x is {why}"), opened:
            pass
    assert not (tmp_path / "elsewhere").exists()


def test_no_folder(tmp_path):
    with pytest.raises(StoreError, match="its folder does not exist"):
        file.append(tmp_path / "none" / "x", b"a\n")
    with file.reading(tmp_path / "none" / "x") as source:
        assert source is None


@pytest.mark.parametrize("text", [b"", b"one\n", b"torn"])
def test_appending_begins_a_line(tmp_path, text):
    (path := tmp_path / "x").write_bytes(text)
    file.append(path, b"two\n")
    assert path.read_bytes() == text + b"\n" * (text == b"torn") + b"two\n"


def test_lines_are_one_write(tmp_path, monkeypatch):
    write, written = os.write, []
    monkeypatch.setattr(os, "write", lambda descriptor, text: written.append(bytes(text)) or write(descriptor, text))
    (tmp_path / "x").write_bytes(b"torn")
    file.append(tmp_path / "x", lines := b"a" * 5000 + b"\nb\n")
    assert written == [b"\n" + lines]
