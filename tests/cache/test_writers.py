"""Several processes at once, processes that are killed, disks that are full: no line that was written is lost."""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from bankml.cache import Cache, key
from bankml.errors import StoreError
from tests.cache import original
from tests.cache.writers import DIGEST, DIMS, append, vector

ROOT = Path(__file__).parents[2]


@pytest.fixture
def cache(tmp_path):
    """In memory where there is such a disk: hundreds of lines, each of which is waited for."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as folder:
        yield Cache(Path(folder) / "x.emb")


def started(*arguments, **more):
    return subprocess.Popen([sys.executable, "-m", "tests.cache.writers", *map(str, arguments)], cwd=ROOT, **more)


def assert_there(cache, names):
    vectors, theirs = cache.vectors(DIGEST, DIMS), original.read(cache.path, DIGEST, DIMS)
    assert (vectors.rows(map(key, names)) >= 0).all()
    for name in names[:50]:
        assert np.array_equal(vectors.matrix[vectors.row(key(name))], vector(name))
    assert set(theirs) == set(vectors) >= set(map(key, names))
    return vectors


def test_four_processes_at_once(cache):
    writers = [started("append", cache.path, name, 200) for name in "abcd"]
    vectors = cache.vectors(DIGEST, DIMS)
    while any(writer.poll() is None for writer in writers):
        vectors.follow()
        time.sleep(0.02)
    assert not any(writer.returncode for writer in writers)
    names = [f"{name} {number}" for name in "abcd" for number in range(200)]
    assert assert_there(cache, names).skipped == 0
    vectors.follow()
    assert len(vectors) == len(cache.path.read_bytes().splitlines()) == 800
    assert (vectors.rows(map(key, names)) >= 0).all()


def test_compacting_while_others_append(cache):
    append(cache, *map(str, range(50)))
    writers = [started("append", cache.path, name, 60) for name in "ab"]
    times = 0
    while any(writer.poll() is None for writer in writers):
        assert cache.compact(DIGEST, DIMS).bad == 0
        times += 1
        time.sleep(0.03)
    assert times > 5
    assert assert_there(cache, [f"{name} {number}" for name in "ab" for number in range(60)]).skipped == 0


def test_processes_that_are_killed(cache):
    writer = started("killed", cache.path, 25, stdout=subprocess.PIPE, text=True)
    names = writer.communicate()[0].split()
    assert writer.returncode == 0
    assert len(names) > 25
    append(cache, "afterwards")
    vectors = assert_there(cache, [*names, "afterwards"])
    assert vectors.skipped <= 25


def limited(cache, room, *names):
    """What happens where files may be no longer than now and `room` bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (cache.path.stat().st_size + room, before[1]))
    try:
        append(cache, *names)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("room", [0, 1, 1000, 2500])
def test_no_more_room(cache, room):
    append(cache, "a", "b")
    with pytest.raises(StoreError, match="has reached the largest size"):
        limited(cache, room, "c", "d", "e")
    whole = room // (cache.path.read_bytes().index(b"\n") + 1)
    assert len(assert_there(cache, ["a", "b"])) == 2 + whole
    append(cache, "c", "d", "e")
    assert assert_there(cache, list("abcde")).skipped == (room > 0)


def fill(cache, names):
    for number in range(100):
        append(cache, str(number))
        names.append(str(number))


@pytest.mark.skipif(os.geteuid() != 0, reason="a small disk is mounted as root only")
def test_a_full_disk(tmp_path):
    (tmp_path / "disk").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", tmp_path / "disk"], check=True)
    try:
        cache, names = Cache(tmp_path / "disk" / "x.emb"), []
        with pytest.raises(StoreError, match="no more room on its disk"):
            fill(cache, names)
        assert len(names) > 20
        vectors = assert_there(cache, names)
        assert not vectors.mapped
        with pytest.raises(StoreError, match=r"cannot be replaced \(No space left on device\) and is as it was"):
            cache.compact(DIGEST, DIMS)
        assert_there(cache, names)
        assert [path.name for path in cache.path.parent.iterdir()] == ["x.emb"]
    finally:
        subprocess.run(["umount", tmp_path / "disk"], check=True)
