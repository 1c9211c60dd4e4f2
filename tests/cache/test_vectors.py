"""Vectors follow an .emb whatever happens to it and to the matrix beside it, mapped and in memory."""

import errno
import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankml.cache import Cache, key, sidecar, table, vectors
from bankml.errors import StoreError
from tests.cache import original
from tests.cache.samples import DIMS, OTHERS, QUICK, append, assert_true, content, damaged, line, replaced, side, vector
from tests.cache.writers import DIGEST

GOOD = st.builds(line, st.sampled_from("abcdef"), st.integers(0, 2)).map(lambda text: (0, text.encode()))
ALSO_GOOD = st.builds(line, st.sampled_from("ab"), digest=st.sampled_from([OTHERS, DIGEST]), dims=st.just(3))
BAD = st.sampled_from([b"x", b"{}", b"\x00", b"\xff\xfe", b'{"text_sha256": "', line("a").encode()[:-9], b"[" * 9999])
BAD |= st.binary(min_size=1, max_size=40).map(lambda raw: b"!" + raw.translate(None, b"\n\r\x0b\x0c\x1c\x1d\x1e\x85"))
LINES = GOOD | ALSO_GOOD.map(lambda text: (0, text.encode())) | BAD.map(lambda raw: (1, raw + b"\n"))
LINES |= st.sampled_from([(0, b"\n"), (0, b" \r\n")])


@pytest.mark.parametrize("small", [0, 1 << 30])
@given(st.lists(st.lists(LINES, max_size=8), max_size=5))
@settings(max_examples=60)
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
    lambda cache: cache.compact(DIGEST, DIMS, lambda: {key("a"), key("t")}),
    lambda cache: cache.vectors(OTHERS, DIMS),
    lambda cache: cache.vectors(DIGEST, 3),
]


@given(st.lists(st.tuples(st.sampled_from(HAPPENINGS), st.sampled_from(["follow", "open", "neither"])), max_size=15))
@settings(max_examples=100)
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


def test_nothing_new_costs_a_look_at_the_file(cache, monkeypatch):
    append(cache, "a")
    found = cache.vectors(DIGEST, DIMS)
    monkeypatch.setattr(sidecar, "load", None)
    monkeypatch.setattr(os, "pread", None)
    assert not found.follow()


def test_matrices_that_were_handed_out_stay(cache):
    for small in (0, 1 << 30):
        vectors.SMALL = small
        append(cache, "a", "b")
        found = cache.vectors(DIGEST, DIMS)
        taken = found.matrix
        append(cache, *map(str, range(200)))
        found.follow()
        cache.compact(DIGEST, DIMS, lambda: {key("7")})
        found.follow()
        assert np.array_equal(taken[found_row := 0], vector("a")), found_row
        assert len(found) == 1
        assert not taken.flags.writeable
        assert not found.matrix.flags.writeable
        cache.path.unlink()


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
