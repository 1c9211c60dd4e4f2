"""Vectors follow an .emb whatever happens to it and to the matrix beside it, mapped and in memory."""

import errno
import os
import resource
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankml.cache import Cache, key, sidecar, table, vectors
from bankml.cache.file import writing
from bankml.cache.table import Weights
from bankml.errors import StoreError
from tests.cache import original
from tests.cache.writers import DIGEST

ROOT = Path(__file__).parents[2]
DIMS = 5
QUICK = "/dev/shm" if Path("/dev/shm").is_dir() else None  # a thousand files that are forced to the disk
OTHERS = "e" * 64
WEIGHTS = Weights(DIGEST, DIMS)


def vector(name, seed=0, dims=DIMS):
    values = np.random.default_rng([int(key(name)[:8], 16), seed]).standard_normal(dims).astype(np.float32)
    return values / np.linalg.norm(values)


def line(name, seed=0, digest=DIGEST, dims=DIMS):
    return original.line(key(name), "m", digest, vector(name, seed, dims).tolist())


def append(cache, *names, seed=0):
    cache.append("m", DIGEST, [key(name) for name in names], np.stack([vector(name, seed) for name in names]))


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "x.emb")


def side(cache):
    return sidecar.place(cache.path, WEIGHTS)


def content(found):
    """key → vector, as the reader of the original tells it."""
    assert sorted(found.rows(found).tolist()) == list(range(len(found))) == list(range(len(found.matrix)))
    return {name: tuple(found.matrix[found.row(name)].tolist()) for name in found}


def assert_true(cache, found):
    assert content(found) == original.read(cache.path, DIGEST, DIMS)


GOOD = st.builds(line, st.sampled_from("abcdef"), st.integers(0, 2)).map(lambda text: (0, text.encode()))
ALSO_GOOD = st.builds(line, st.sampled_from("ab"), digest=st.sampled_from([OTHERS, DIGEST]), dims=st.just(3))
BAD = st.sampled_from([b"x", b"{}", b"\x00", b"\xff\xfe", b'{"text_sha256": "', line("a").encode()[:-9], b"[" * 9999])
BAD |= st.binary(min_size=1, max_size=40).map(lambda raw: b"!" + raw.translate(None, b"\n\r\x0b\x0c\x1c\x1d\x1e\x85"))
LINES = GOOD | ALSO_GOOD.map(lambda text: (0, text.encode())) | BAD.map(lambda raw: (1, raw + b"\n"))
LINES |= st.sampled_from([(0, b"\n"), (0, b" \r\n")])


@pytest.mark.parametrize("small", [0, 1 << 30])
@given(st.lists(st.lists(LINES, max_size=8), max_size=5))
@settings(max_examples=60, deadline=None)
def test_good_lines_are_found_and_bad_ones_counted(small, parts):
    vectors.SMALL = small
    with tempfile.TemporaryDirectory(dir=QUICK) as folder:
        cache = Cache(Path(folder) / "x.emb")
        followed, bad = cache.vectors(DIGEST, DIMS), 0
        for part in parts:
            with cache.path.open("ab") as file:
                file.write(b"".join(text for _, text in part))
            bad += sum(wrong for wrong, _ in part)
            fresh = cache.vectors(DIGEST, DIMS)
            followed.follow()
            for found in (fresh, followed):
                assert_true(cache, found)
                assert found.skipped == bad
            assert content(fresh) == content(followed)
            assert cache.verify().bad.total() == bad


def tear(cache):
    with cache.path.open("ab") as file:
        file.write(line("t").encode()[:-7])


def shorten(cache):
    if cache.path.exists():
        os.truncate(cache.path, cache.path.stat().st_size // 2)


def copied(cache):
    """The same bytes in a file of another number, and one more line."""
    if cache.path.exists():
        shutil.copy(cache.path, cache.path.with_suffix(".new"))
        os.replace(cache.path.with_suffix(".new"), cache.path)
        append(cache, "c")


def overwritten(cache):
    """Another content in the same file."""
    cache.path.write_text(line("n") * 20)


def deleted(cache):
    cache.path.unlink(missing_ok=True)


def damaged(at, letters):
    """Another process's or a disk's work on the sidecar, which no mapping may see: in a new file."""

    def damage(cache):
        if side(cache).exists():
            raw = bytearray(side(cache).read_bytes())
            raw[at : at + len(letters)] = letters
            replaced(cache, bytes(raw))

    return damage


def replaced(cache, raw):
    new = side(cache).with_suffix(".new")
    new.write_bytes(raw)
    new.chmod(0o600)
    os.replace(new, side(cache))


def cut(cache):
    if side(cache).exists():
        replaced(cache, side(cache).read_bytes()[:-1])


def foreign(cache):
    replaced(cache, b"hello")


def no_side(cache):
    side(cache).unlink(missing_ok=True)


def of_others(cache):
    cache.append("m", OTHERS, [key("a")], vector("a")[None])


HAPPENINGS = [
    *(lambda cache, name=name, seed=seed: append(cache, name, seed=seed) for name in "abcdefgh" for seed in (0, 1)),
    *(tear, shorten, copied, overwritten, deleted, cut, foreign, no_side, of_others),
    *(damaged(at, b"7") for at in (0, 30, 100, 120, 160, 200, 4095, 4096, 4096 + 64)),
    lambda cache: cache.compact(DIGEST, DIMS),
    lambda cache: cache.compact(DIGEST, DIMS, {key("a"), key("t")}),
    lambda cache: cache.vectors(OTHERS, DIMS),
    lambda cache: cache.vectors(DIGEST, 3),
]


@given(st.lists(st.tuples(st.sampled_from(HAPPENINGS), st.sampled_from(["follow", "open", "neither"])), max_size=15))
@settings(max_examples=100, deadline=None)
def test_whatever_happens(happenings):
    with tempfile.TemporaryDirectory(dir=QUICK) as folder:
        cache = Cache(Path(folder) / "x.emb")
        append(cache, "a", "b")
        followed = cache.vectors(DIGEST, DIMS)
        for happens, then in happenings:
            happens(cache)
            if then == "open":
                cache.vectors(DIGEST, DIMS)
            if then != "neither":
                followed.follow()
                assert cache.path.exists() or not len(followed)
                assert not cache.path.exists() or content(followed) == original.read(cache.path, DIGEST, DIMS)


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
    monkeypatch.setattr(table, "lines", lambda *where: read.append(where[1:]) or lines(*where))
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


def test_nothing_new_costs_a_look_at_the_file(cache, monkeypatch):
    append(cache, "a")
    found = cache.vectors(DIGEST, DIMS)
    monkeypatch.setattr(sidecar, "load", None)
    monkeypatch.setattr(os, "pread", None)
    assert not found.follow()


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


def test_matrices_that_were_handed_out_stay(cache):
    for small in (0, 1 << 30):
        vectors.SMALL = small
        append(cache, "a", "b")
        found = cache.vectors(DIGEST, DIMS)
        taken = found.matrix
        append(cache, *map(str, range(200)))
        found.follow()
        cache.compact(DIGEST, DIMS, {key("7")})
        found.follow()
        assert np.array_equal(taken[found_row := 0], vector("a")), found_row
        assert len(found) == 1
        assert not taken.flags.writeable
        assert not found.matrix.flags.writeable
        cache.path.unlink()


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
    cache.compact(DIGEST, DIMS, {key("a")})
    assert found.follow()
    assert not found.mapped
    assert_true(cache, found)


def test_a_matrix_goes_with_its_vectors(cache):
    append(cache, "a", "b")
    found = cache.vectors(DIGEST, DIMS)
    cache.compact(DIGEST, DIMS, {key("a")})
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


@pytest.mark.parametrize("small", [0, 1 << 30])
def test_a_disk_that_fails_in_the_middle(cache, monkeypatch, small):
    monkeypatch.setattr(vectors, "SMALL", small)
    monkeypatch.setattr(table, "BATCH", 2)
    append(cache, "a")
    found = cache.vectors(DIGEST, DIMS)
    append(cache, *"bcdefg")
    lines = table.lines

    def failing(*where):
        for number, each in enumerate(lines(*where)):
            if number == 5:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            yield each

    monkeypatch.setattr(table, "lines", failing)
    with pytest.raises(StoreError, match="cannot be used: Input/output error"):
        found.follow()
    assert content(found).keys() == {key("a")}
    monkeypatch.setattr(table, "lines", lines)
    assert found.follow()
    assert_true(cache, found)


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


def test_in_memory_rows_stay_as_room_is_made(cache, monkeypatch):
    monkeypatch.setattr(vectors, "SMALL", 1 << 30)
    append(cache, "a")
    found = cache.vectors(DIGEST, DIMS)
    for n in (50, 30, 100, 1500):
        append(cache, *(f"{n} {number}" for number in range(n)))
        found.follow()
        assert_true(cache, found)
    assert not found.mapped


def edited(path):
    """The same but for one vector in the middle."""
    text = path.read_bytes()
    return text.replace(line("30").encode(), line("30", 1).encode())


def another(path, state):
    """Another file that looks like it from outside."""
    path.with_suffix(".new").write_bytes(edited(path))
    os.utime(path.with_suffix(".new"), ns=(state.st_mtime_ns,) * 2)
    os.replace(path.with_suffix(".new"), path)


def in_place(path, state):
    """The same file, written to at another time."""
    path.write_bytes(edited(path))
    os.utime(path, ns=(state.st_mtime_ns + 1,) * 2)


def without_its_torn_end(path, state):
    """The same file, shorter."""
    path.write_bytes(edited(path)[:-1])


@pytest.mark.parametrize("change", [another, in_place, without_its_torn_end])
def test_an_edit_that_neither_end_shows(cache, change):
    append(cache, *map(str, range(60)))
    original.write(cache.path, "torn")
    found, before = cache.vectors(DIGEST, DIMS), cache.path.stat()
    change(cache.path, before)
    assert found.follow()
    assert np.array_equal(found.matrix[found.row(key("30"))], vector("30", 1))
    assert_true(cache, cache.vectors(DIGEST, DIMS))


@pytest.mark.parametrize("small", [0, 1 << 30])
def test_a_line_that_is_read_while_it_is_written(cache, monkeypatch, small):
    monkeypatch.setattr(vectors, "SMALL", small)
    append(cache, "a")
    found, text = cache.vectors(DIGEST, DIMS), line("b")
    original.write(cache.path, text[:50])
    assert found.follow()
    assert (len(found), found.skipped) == (1, 1)
    original.write(cache.path, text[50:-1])
    assert found.follow()
    assert (len(found), found.skipped) == (2, 0)
    original.write(cache.path, "\n" + line("c"))
    assert found.follow()
    assert (len(found), found.skipped) == (3, 0)
    assert_true(cache, found)
