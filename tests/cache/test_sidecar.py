"""The matrix beside an .emb: shared, followed, made anew when it cannot be believed, in memory where it cannot be."""

import os
import resource
import stat
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from bankml.cache import Cache, key, sidecar, table, vectors
from bankml.errors import StoreError
from bankml.nearest import nearest
from bankml.private_file import writing
from tests.cache.samples import DIMS, QUICK, append, assert_true, content, damaged, side, vector
from tests.cache.writers import DIGEST

ROOT = Path(__file__).parents[2]


def test_mapped_from_a_file_that_is_opened_again(cache):
    append(cache, "a", "b")
    first = cache.vectors(DIGEST, DIMS)
    made = side(cache).stat()
    second = cache.vectors(DIGEST, DIMS)
    assert first.mapped
    assert second.mapped
    assert (side(cache).stat().st_ino, side(cache).stat().st_mtime_ns) == (made.st_ino, made.st_mtime_ns)
    assert content(first) == content(second)


def test_what_was_appended_is_added_to_the_file_and_nothing_else_read(cache, monkeypatch):
    append(cache, *map(str, range(100)))
    found = cache.vectors(DIGEST, DIMS)
    made, read = side(cache).stat().st_ino, []
    lines = table.lines
    monkeypatch.setattr(table, "lines", lambda *where: read.append(where[2:]) or lines(*where))
    begin = cache.path.stat().st_size
    append(cache, "new", "5", seed=1)
    assert found.follow()
    assert read == [(begin, cache.path.stat().st_size)]
    assert len(found) == 101
    assert np.array_equal(found.matrix[found.row(key("5"))], vector("5", 1))
    assert len(cache.vectors(DIGEST, DIMS)) == 101
    assert read[1:] == [(cache.path.stat().st_size,) * 2]
    assert side(cache).stat().st_ino == made
    assert not found.follow()
    assert len(read) == 2


def test_others_see_what_one_has_added_and_replaced(cache):
    append(cache, "a", "b")
    one, other = cache.vectors(DIGEST, DIMS), cache.vectors(DIGEST, DIMS)
    append(cache, "a", "c", seed=1)
    one.follow()
    assert np.array_equal(other.matrix[other.row(key("a"))], vector("a", 1))  # the file is shared
    assert len(other) == len(other.matrix) == 2
    assert other.follow()
    assert content(one) == content(other)


def test_more_keys_than_there_is_room_for(cache):
    append(cache, "a")
    found = cache.vectors(DIGEST, DIMS)
    made, before = side(cache).stat().st_ino, found.matrix
    append(cache, *map(str, range(1500)))
    assert found.follow()
    assert found.mapped
    assert side(cache).stat().st_ino != made
    assert np.array_equal(before[0], vector("a"))
    assert_true(cache, found)


def test_a_small_file_needs_none(cache, monkeypatch):
    append(cache, "a")
    monkeypatch.setattr(vectors, "SMALL", cache.path.stat().st_size + 1)
    found = cache.vectors(DIGEST, DIMS)
    assert not found.mapped
    assert not side(cache).exists()
    append(cache, "b")
    assert found.follow()
    assert found.mapped
    assert_true(cache, found)
    cache.compact(DIGEST, DIMS, lambda: {key("a")})
    assert found.follow()
    assert not found.mapped
    assert_true(cache, found)


def test_a_matrix_goes_with_its_vectors(cache):
    append(cache, "a", "b")
    found = cache.vectors(DIGEST, DIMS)
    cache.compact(DIGEST, DIMS, lambda: {key("a")})
    assert not side(cache).exists()
    found.follow()
    cache.path.unlink()
    assert found.follow()
    assert len(found) == 0
    assert not side(cache).exists()


def test_one_that_others_could_write_is_made_anew(cache):
    append(cache, "a")
    cache.vectors(DIGEST, DIMS)
    side(cache).chmod(0o620)
    found = cache.vectors(DIGEST, DIMS)
    assert found.mapped
    assert stat.S_IMODE(side(cache).stat().st_mode) == 0o600


def emptied(path):
    os.truncate(path, 0)


def halved(path):
    """Keys and half of the rows are left."""
    os.truncate(path, 4096 + 64 * 4096 + 4 * DIMS * 1500)


def shortened(path):
    """By one row."""
    os.truncate(path, path.stat().st_size - 4 * DIMS)


@pytest.mark.parametrize("harm", [emptied, halved, shortened, Path.unlink])
def test_one_that_was_harmed_while_it_was_mapped_is_made_anew(cache, harm):
    """A truncated one gives a StoreError once; then the pages that are gone read as zeros."""
    names = list(map(str, range(3000)))
    append(cache, *names[:-1])
    found = cache.vectors(DIGEST, DIMS)
    append(cache, names[-1])
    found.follow()
    other = cache.vectors(DIGEST, DIMS)
    harm(side(cache))
    for _ in range(2):
        with suppress(StoreError):
            nearest(found.matrix, vector("2999"), 1)
    assert found.follow()
    assert found.mapped
    rows, cosines = nearest(found.matrix, vector("2999"), 1)
    assert rows.tolist() == [found.row(key("2999"))]
    assert cosines[0] > 0.99
    assert_true(cache, found)
    assert other.follow()
    assert_true(cache, other)
    assert not found.follow()
    append(cache, "new")
    assert found.follow()
    assert other.follow()
    assert not found.follow()
    assert not other.follow()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_root_works_for_the_one_whose_file_it_is(cache):
    append(cache, "a", "b")
    os.chown(cache.path, 65534, 65534)
    cache.vectors(DIGEST, DIMS)
    assert (side(cache).stat().st_uid, side(cache).stat().st_gid) == (65534, 65534)
    os.chown(side(cache), 65533, 0)
    cache.vectors(DIGEST, DIMS)
    assert side(cache).stat().st_uid == 65534
    cache.compact(DIGEST, DIMS)
    assert cache.path.stat().st_uid == 65534


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: path.symlink_to(path.parent / "y")])
def test_in_memory_where_the_file_cannot_be(cache, make):
    append(cache, "a")
    make(side(cache))
    found = cache.vectors(DIGEST, DIMS)
    assert not found.mapped
    append(cache, "b", "a", seed=1)
    assert found.follow()
    assert_true(cache, found)
    assert not (cache.path.parent / "y").exists()


def test_in_memory_where_there_is_no_room_for_it(cache):
    append(cache, *map(str, range(50)))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (cache.path.stat().st_size, before[1]))
    try:
        found = cache.vectors(DIGEST, DIMS)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not found.mapped
    assert_true(cache, found)
    assert list(cache.path.parent.iterdir()) == [cache.path]


def test_in_memory_when_it_can_no_longer_grow(cache):
    append(cache, "a")
    found = cache.vectors(DIGEST, DIMS)
    append(cache, *map(str, range(1, 50)))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (side(cache).stat().st_size + 100, before[1]))
    try:
        found.follow()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not found.mapped
    assert_true(cache, found)
    again = cache.vectors(DIGEST, DIMS)
    assert again.mapped
    assert_true(cache, again)


@pytest.mark.skipif(os.geteuid() != 0, reason="root mounts")
def test_a_read_only_disk_is_read(cache):
    disk = cache.path.parent / "disk"
    disk.mkdir()
    append(Cache(disk / "x.emb"), "a")
    subprocess.run(["mount", "--bind", "-o", "ro", disk, disk], check=True)
    try:
        fixed = Cache(disk / "x.emb")
        assert len(fixed.vectors(DIGEST, DIMS)) == 1
        assert not fixed.vectors(DIGEST, DIMS).mapped
        with pytest.raises(StoreError, match="is on a read-only file system"):
            append(fixed, "b")
        with pytest.raises(StoreError, match="is on a read-only file system"):
            fixed.compact(DIGEST, DIMS)
    finally:
        subprocess.run(["umount", disk], check=True)


def test_somebody_else_is_at_work_on_it(cache, monkeypatch):
    append(cache, "a")
    found = cache.vectors(DIGEST, DIMS)
    append(cache, "b")
    monkeypatch.setattr(sidecar, "HASTE", 0.01)
    monkeypatch.setattr(sidecar, "PATIENCE", 0.01)
    with writing(side(cache), flags=0):
        assert not found.follow()  # what there is can be searched
        assert len(found) == 1
        fresh = cache.vectors(DIGEST, DIMS)  # has nothing yet
        assert not fresh.mapped
        assert_true(cache, fresh)
    assert found.follow()
    assert found.mapped
    assert_true(cache, found)


def test_processes_that_are_killed_while_they_make_it(cache):
    append(cache, *map(str, range(3000)))
    subprocess.run([sys.executable, "-m", "tests.cache.writers", "opened", cache.path, "25"], cwd=ROOT, check=True)
    found = cache.vectors(DIGEST, DIMS)
    assert found.mapped
    assert_true(cache, found)
    assert sorted(cache.path.parent.iterdir()) == [cache.path, side(cache)]


NOBODY = """
import os, sys
from bankml import errors
from bankml.cache import Cache, vectors
import numpy as np

vectors.SMALL = 0
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
cache = Cache(sys.argv[1])
found = cache.vectors("d" * 64, 5)
print(len(found), found.mapped)
one = ["a" * 64], np.eye(1, 5, dtype=np.float32)
for act in (lambda: cache.append("m", "d" * 64, *one), lambda: cache.compact("d" * 64, 5)):
    try:
        act()
    except errors.StoreError as error:
        print(error)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_a_file_of_somebody_else_is_read():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        append(cache := Cache(Path(folder) / "x.emb"), "a", "b")
        cache.path.chmod(0o644)
        done = subprocess.run([sys.executable, "-c", NOBODY, cache.path], capture_output=True, text=True, check=True)
        refused = f"{cache.path} is not yours to open: change its owner or its mode"
        assert done.stdout.splitlines() == ["2 False", refused, refused]
        assert list(cache.path.parent.iterdir()) == [cache.path]


@pytest.mark.parametrize("letter", b"09")
def test_a_head_with_one_wrong_byte(letter):
    with tempfile.TemporaryDirectory(dir=QUICK) as folder:
        append(cache := Cache(Path(folder) / "x.emb"), *map(str, range(60)))
        found, made = cache.vectors(DIGEST, DIMS), side(cache).read_bytes()
        for at in range(200):
            damaged(at, bytes([letter]))(cache)
            assert_true(cache, found := cache.vectors(DIGEST, DIMS))
            assert found.mapped
        assert len(side(cache).read_bytes()) == len(made)


@pytest.mark.parametrize("at", [0, 63, 64, 64 * 59 + 63])
def test_keys_with_one_wrong_digit(cache, at):
    append(cache, *map(str, range(60)))
    cache.vectors(DIGEST, DIMS)
    before = side(cache).read_bytes()
    damaged(4096 + at, b"x")(cache)
    assert_true(cache, cache.vectors(DIGEST, DIMS))
    assert side(cache).read_bytes()[4096:] == before[4096:]


def test_weights_whose_digests_begin_alike(cache):
    alike = DIGEST[:16] + "e" * 48
    append(cache, "a")
    cache.append("m", alike, [key("a"), key("b")], np.stack([vector("a", 1), vector("b", 1)]))
    for _ in range(2):
        assert_true(cache, cache.vectors(DIGEST, DIMS))
        other = cache.vectors(alike, DIMS)
        assert np.array_equal(other.matrix[other.row(key("a"))], vector("a", 1))
        assert len(other) == 2
