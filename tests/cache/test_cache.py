"""Vectors that are appended are found again, by us and by a reader that does what the original does."""

import hashlib
import json
import os
import stat

import numpy as np
import pytest

from bankml.cache import Cache, compaction, key
from bankml.cache.line import LONGEST
from bankml.errors import InputError, StoreError
from tests.cache import original

OURS, OTHERS = "d" * 64, "e" * 64


def unit(n, dims=8, seed=0):
    vectors = np.random.default_rng(seed).standard_normal((n, dims)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def keys(n, begin=0):
    return [key(f"text {number}") for number in range(begin, begin + n)]


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "x.history.emb")


def test_a_key_is_the_sha256_of_the_text():
    assert key("xin chào") == hashlib.sha256("xin chào".encode()).hexdigest()
    assert key("a\ud800") == key("a\ufffd")


def test_what_is_appended_is_found(cache):
    cache.append("bge-m3", OURS, keys(5), unit(5))
    vectors = cache.vectors(OURS, 8)
    assert len(vectors) == 5
    assert np.array_equal(vectors.matrix[vectors.rows(keys(5))], unit(5))
    assert vectors.matrix.flags.c_contiguous
    assert vectors.matrix.dtype == np.float32


def test_keys_without_a_vector(cache):
    cache.append("bge-m3", OURS, keys(2), unit(2))
    vectors = cache.vectors(OURS, 8)
    assert vectors.rows([*keys(1), "nothing"]).tolist() == [0, -1]
    assert vectors.row(key("nothing")) is None
    assert keys(1)[0] in vectors
    assert "nothing" not in vectors


def test_no_file_is_no_vectors_until_there_is_one(cache):
    vectors = cache.vectors(OURS, 8)
    assert len(vectors) == 0
    assert vectors.matrix.shape == (0, 8)
    assert not vectors.follow()
    cache.append("bge-m3", OURS, keys(1), unit(1))
    assert vectors.follow()
    assert len(vectors) == 1


def test_the_line_is_the_originals(cache):
    cache.append("bge-m3", OURS, keys(1), unit(1))
    assert cache.path.read_text() == original.line(keys(1)[0], "bge-m3", OURS, unit(1)[0].tolist())


def test_the_engine_stands_last(cache):
    cache.append("m", OURS, keys(1), unit(1), "avx2 \u2028\x85")
    assert cache.path.read_text() == original.line(keys(1)[0], "m", OURS, unit(1)[0].tolist(), engine="avx2 \u2028\x85")


@pytest.mark.parametrize("model", ["bge-m3", 'a"b\\c', "mô hình", "a\u2028b\x85c\nd\x1e", "\U0001f9e0", "\ud800"])
def test_the_original_reads_ours_and_we_its(cache, model):
    cache.append(model, OURS, keys(3), unit(3), model)
    original.write(
        cache.path,
        *(original.line(k, model, OURS, v.tolist()) for k, v in zip(keys(3, 3), unit(3, seed=1), strict=True)),
    )
    cache.append(model, OTHERS, keys(1, 6), unit(1))
    both = dict(zip(keys(6), np.concatenate([unit(3), unit(3, seed=1)]).tolist(), strict=True))
    assert {k: list(v) for k, v in original.read(cache.path, OURS, 8).items()} == both
    vectors = cache.vectors(OURS, 8)
    assert {k: vectors.matrix[vectors.row(k)].tolist() for k in both} == both
    assert len(vectors) == 6
    assert vectors.skipped == 0


def test_the_file_is_private(cache):
    before = os.umask(0)
    try:
        cache.append("m", OURS, keys(1), unit(1))
        cache.vectors(OURS, 8)
        assert {stat.S_IMODE(path.stat().st_mode) for path in cache.path.parent.iterdir()} == {0o600}
        cache.path.chmod(0o644)
        cache.append("m", OURS, keys(1), unit(1))
        assert stat.S_IMODE(cache.path.stat().st_mode) == 0o600
    finally:
        os.umask(before)


def test_a_torn_line_is_lost_alone(cache):
    cache.append("m", OURS, keys(2), unit(2))
    os.truncate(cache.path, cache.path.stat().st_size - 20)
    vectors = cache.vectors(OURS, 8)
    assert (len(vectors), vectors.skipped) == (1, 1)
    cache.append("m", OURS, keys(1, 2), unit(1))
    assert vectors.follow()
    assert (len(vectors), vectors.skipped) == (2, 1)
    assert len(original.read(cache.path, OURS, 8)) == 2


@pytest.mark.parametrize(
    ("digest", "names", "vectors"),
    [
        ("sha256:" + OURS, keys(1), unit(1)),
        (OURS, ["short"], unit(1)),
        (OURS, keys(2), unit(1)),
        (OURS, keys(1), unit(1) * 2),
        (OURS, keys(1), unit(1) * np.float32("nan")),
        (OURS, keys(1), unit(1).astype(np.float64)),
        (OURS, keys(1), unit(1)[0]),
        (OURS, keys(1), np.zeros((1, 0), np.float32)),
    ],
)
def test_what_no_reader_would_take_is_not_written(cache, digest, names, vectors):
    with pytest.raises(InputError):
        cache.append("m", digest, names, vectors)
    assert not cache.path.exists()


def test_nothing_to_append_makes_no_file(cache):
    cache.append("m", OURS, [], unit(0))
    assert not cache.path.exists()


def test_verify_and_compact(cache):
    cache.append("m", OURS, keys(3), unit(3), "e")
    cache.append("m", OTHERS, keys(2), unit(2))
    original.write(cache.path, "{\n", "\n", json.dumps({"text_sha256": 1}) + "\n")
    cache.append("m", OURS, keys(1), unit(1, seed=7))
    found = cache.verify()
    assert found.good == {(OURS, 8): 4, (OTHERS, 8): 2}
    assert found.repeated == 1
    assert found.bad == {"no JSON": 1, "fields": 1}
    done = cache.compact(OURS, 8, keep=lambda: {*keys(2)})
    assert (done.kept, done.others, done.repeated, done.unwanted, done.bad) == (2, 2, 1, 1, 2)
    assert done.after == cache.path.stat().st_size < done.before
    assert stat.S_IMODE(cache.path.stat().st_mode) == 0o600
    read = original.read(cache.path, OURS, 8)
    assert {k: list(v) for k, v in read.items()} == dict(
        zip(keys(2)[::-1], [unit(2)[1].tolist(), unit(1, seed=7)[0].tolist()], strict=True)
    )


@pytest.mark.parametrize("before", [0, 30])
def test_compacting_while_one_writes_who_knows_of_no_lock(cache, monkeypatch, before):
    """Before the file has its name, and from the middle of a line on."""
    cache.append("m", OURS, keys(3), unit(3))
    late = original.line(keys(1, 3)[0], "m", OURS, unit(1)[0].tolist())
    original.write(cache.path, late[:before])
    copy = compaction._copy

    def copied(*arguments):
        done = copy(*arguments)
        original.write(cache.path, late[before:])
        return done

    monkeypatch.setattr(compaction, "_copy", copied)
    assert cache.compact(OURS, 8).kept == 3
    assert set(original.read(cache.path, OURS, 8)) == {*keys(4)}
    assert cache.verify().bad == {}


def test_a_line_that_is_too_long_to_be_held_is_bad(cache):
    cache.append("m", OURS, keys(1), unit(1))
    with cache.path.open("ab") as file:
        file.write(b" " * (LONGEST + 1) + b"\n")
    cache.append("m", OURS, keys(1, 1), unit(1))
    vectors = cache.vectors(OURS, 8)
    assert (len(vectors), vectors.skipped) == (2, 1)
    assert cache.verify().bad == {"too long": 1}
    assert cache.compact(OURS, 8).bad == 1


def test_a_vector_that_is_added_while_it_is_asked_what_to_keep_stays(cache):
    """By one who knows of no lock, and whose text was not there yet when the texts were read."""
    cache.append("m", OURS, keys(2), unit(2))

    def keep():
        original.write(cache.path, original.line(keys(1, 3)[0], "m", OURS, unit(1)[0].tolist()))
        return {keys(1)[0]}

    cache.compact(OURS, 8, keep)
    assert set(original.read(cache.path, OURS, 8)) == {keys(1)[0], keys(1, 3)[0]}


def test_a_last_line_without_its_newline_is_kept_with_one(cache):
    cache.append("m", OURS, keys(2), unit(2))
    os.truncate(cache.path, cache.path.stat().st_size - 1)
    assert len(cache.vectors(OURS, 8)) == 2
    before = cache.path.read_bytes()
    assert cache.compact(OURS, 8).kept == 2
    assert cache.path.read_bytes() == before + b"\n"


def test_compacting_nothing(cache):
    assert cache.compact(OURS, 8).kept == 0
    assert not cache.path.exists()


def test_what_is_no_file(cache):
    cache.path.mkdir()
    for act in (lambda: cache.append("m", OURS, keys(1), unit(1)), lambda: cache.vectors(OURS, 8), cache.verify):
        with pytest.raises(StoreError, match="is a folder"):
            act()
