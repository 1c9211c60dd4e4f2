"""Cited files: what is seen of them when a record is written, and when it is looked for."""

import os
import socket
from hashlib import sha256
from pathlib import Path

import pytest

from bankml.errors import InputError
from bankml.memory import cited as citing
from bankml.memory import freshness
from bankml.memory.cited import LARGEST, cited, relative, taken
from bankml.memory.freshness import Look, Sha256, seen
from bankml.memory.root import here, root
from bankml.store import Cited, Record

DAY = 86_400 * 10**9


@pytest.fixture
def record(repository):
    def of(*paths, freshness="current"):
        at = bytes(repository)
        return Record("rec_1", "t", "c", 0, 0, freshness=freshness, root=at, cited=cited(at, paths))

    return of


def touch(path: Path, nanoseconds: int) -> None:
    os.utime(path, ns=(nanoseconds, nanoseconds))


def test_a_root_is_the_repository_or_the_folder_itself(repository, tmp_path, monkeypatch):
    assert root(repository / "src") == bytes(repository)
    assert root(repository) == bytes(repository)
    assert root(tmp_path) == bytes(tmp_path)
    worktree = repository / "src" / "worktree"
    worktree.mkdir()
    (worktree / ".git").write_text("gitdir: elsewhere")
    assert root(worktree) == bytes(worktree)
    monkeypatch.chdir(repository / "src")
    assert here() == bytes(repository)


def test_a_working_folder_that_is_gone_has_no_root(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert here() == b""


def test_a_file_is_taken_with_its_sha256_its_size_and_its_time(repository):
    (found,) = cited(bytes(repository), ["src/auth.py", "./src/auth.py", str(repository / "src" / "auth.py")])
    content = (repository / "src" / "auth.py").read_bytes()
    state = (repository / "src" / "auth.py").stat()
    assert found == Cited(b"src/auth.py", sha256(content).hexdigest(), len(content), state.st_mtime_ns)


def test_paths_are_relative_to_the_root_and_never_leave_it(repository, tmp_path):
    at = bytes(repository)
    link = tmp_path / "link"
    link.symlink_to(repository)
    assert relative(at, str(link / "src" / "auth.py")) == b"src/auth.py"
    assert relative(at, "src/../README.md") == b"README.md"
    assert relative(at, "..a/b") == b"..a/b"
    assert relative(at, "src/") == b"src/"
    assert relative(b"/", "/etc/hosts") == b"etc/hosts"
    for outside in ("..", "../x", "src/../../x", "/etc/passwd", str(repository) + "x", str(repository / ".." / "x")):
        with pytest.raises(InputError, match=r"is outside of .*: a record cites files of its own repository"):
            relative(at, outside)
    with pytest.raises(InputError, match="outside of every folder"):
        relative(b"", "/etc/passwd")


@pytest.mark.parametrize("path", ["", " ", "a\0b", "x" * 5000, ".", "symbol://src/auth.py#ttl", "\ud800", 7])
def test_what_is_no_path_is_a_sentence(repository, path):
    with pytest.raises(InputError) as found:
        relative(bytes(repository), path)
    assert str(found.value).isprintable()


def test_a_record_needs_a_review_when_a_cited_file_has_changed(repository, record):
    made, path = record("README.md", "src/auth.py"), repository / "src" / "auth.py"
    assert seen(made) == "current"
    path.write_text("TTL = 7200\n")  # of the same size
    touch(path, 5 * DAY)
    assert seen(made) == "needs_review"
    path.write_text("TTL = 3600\n")
    touch(path, 6 * DAY)
    assert seen(made) == "current"  # checked out anew: another time, the same bytes
    path.write_text("TTL = 10\n")
    touch(path, made.cited[1].modified)
    assert seen(made) == "needs_review"
    path.unlink()
    assert seen(made) == "needs_review"


def test_what_was_said_stays_said(repository, record):
    (repository / "src" / "auth.py").write_text("changed")
    for said in ("stale", "needs_review"):
        assert seen(record("src/auth.py", freshness=said)) == said


def test_nothing_is_known_of_files_whose_root_is_not_here(repository, record, tmp_path):
    made = record("src/auth.py")
    repository.rename(tmp_path / "moved")
    assert seen(made) == "current"


def test_a_folder_is_there_or_not(repository, record):
    made = record("src")
    assert made.cited == (Cited(b"src/"),)
    (repository / "src" / "auth.py").unlink()
    assert seen(made) == "current"
    (repository / "src").rmdir()
    assert seen(made) == "needs_review"


def test_what_is_no_file_is_kept_by_its_name(repository, record):
    os.mkfifo(repository / "pipe")
    (repository / "loop").symlink_to("loop")
    (repository / "nowhere").symlink_to("gone")
    (repository / "null").symlink_to("/dev/null")
    name = os.fsdecode(b"caf\xe9.py")
    (repository / name).write_text("")
    at = os.open(repository, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as served:
        served.bind(f"/proc/self/fd/{at}/socket")
        made = record("pipe", "loop", "nowhere", "null", "socket", "gone.py", "x" * 300, name, "README.md/below")
    os.close(at)
    unread = [file.path for file in made.cited if citing.unread(file)]
    assert unread == [b"pipe", b"loop", b"nowhere", b"null", b"socket", b"gone.py", b"x" * 300, b"README.md/below"]
    assert made.cited[-2].path == b"caf\xe9.py"
    assert seen(made) == "current"
    (repository / name).unlink()
    os.mkfifo(repository / name)
    assert seen(made) == "needs_review"


def test_a_file_that_is_a_pipe_by_now_keeps_nobody_waiting(repository, record, monkeypatch):
    """Between the look and the opening, too."""
    made, path = record("src/auth.py"), repository / "src" / "auth.py"
    touch(path, DAY)
    stat, state = os.stat, os.stat(path)
    path.unlink()
    os.mkfifo(path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", lambda file: state if file == bytes(path) else stat(file))
        assert taken(bytes(repository), b"src/auth.py") == Cited(b"src/auth.py")
        assert seen(made) == "needs_review"


def test_a_huge_file_is_told_by_its_size_and_its_time(repository, record):
    path = repository / "huge.bin"
    with path.open("wb") as file:
        file.truncate(LARGEST + 1)
    touch(path, DAY)
    made = record("huge.bin")
    assert made.cited == (Cited(b"huge.bin", "", LARGEST + 1, DAY),)
    assert seen(made) == "current"
    touch(path, 2 * DAY)
    assert seen(made) == "needs_review"


def test_a_file_that_may_not_be_read(repository, record, monkeypatch):
    made, path = record("src/auth.py"), repository / "src" / "auth.py"
    monkeypatch.setattr("bankml.models.regular_file.opened", _refused)
    assert seen(made) == "current"  # its size and its time say so
    assert record("src/auth.py").cited == (Cited(b"src/auth.py"),)
    touch(path, DAY)
    assert seen(made) == "needs_review"


def _refused(path):
    raise PermissionError(13, "Permission denied")


def test_times_that_no_store_can_hold(repository, record):
    state = os.stat(repository / "README.md")

    class Far:
        st_mtime_ns = 2**70

    assert citing.modified(Far) == 2**63 - 1
    assert citing.modified(state) == state.st_mtime_ns


@pytest.fixture
def read(monkeypatch):
    """The files that are read from now on."""
    found, hashed = [], citing.hashed
    monkeypatch.setattr(freshness, "hashed", lambda full: found.append(os.path.basename(full)) or hashed(full))
    return found


def test_a_file_that_was_touched_is_read_once(repository, record, read):
    made, path = record("src/auth.py"), repository / "src" / "auth.py"
    remembered = Sha256()
    touch(path, 5 * DAY)
    for _ in range(3):
        assert Look(remembered=remembered).seen(made) == "current"
    assert read == [b"auth.py"]
    path.write_text("TTL = 7200\n")  # of the same size
    touch(path, 5 * DAY)  # and of the same time
    for _ in range(3):
        assert Look(remembered=remembered).seen(made) == "needs_review"
    assert read == [b"auth.py"] * 2


def test_a_file_that_was_changed_a_moment_ago_is_read_again(repository, record, read):
    """Within a tick of the clock it may change without another time."""
    made = record("src/auth.py")
    (repository / "src" / "auth.py").write_text("TTL = 7200\n")
    for _ in range(2):
        assert seen(made) == "needs_review"
    assert len(read) == 2


def test_an_answer_reads_no_more_than_it_may(repository, record, read):
    """Past that a changed time is a change."""
    for name in "abc":
        (repository / name).write_text("12345678")
    made = [record(name) for name in "abc"]
    for name in "abc":
        touch(repository / name, 5 * DAY)
    look = Look(20, Sha256())
    assert [look.seen(one) for one in made] == ["current", "current", "needs_review"]
    assert read == [b"a", b"b"]


def test_what_is_remembered_is_bounded(repository, record, read):
    made = [record(name) for name in ("README.md", "src/auth.py")]
    for name in ("README.md", "src/auth.py"):
        touch(repository / name, 5 * DAY)
    remembered = Sha256(1)
    for one in (*made, *reversed(made)):
        assert Look(remembered=remembered).seen(one) == "current"
    assert read == [b"README.md", b"auth.py", b"README.md"]
