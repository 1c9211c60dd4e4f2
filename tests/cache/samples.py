"""Vectors of five dimensions by the name of their text, in an .emb and in the matrix beside it."""

import os
from pathlib import Path

import numpy as np

from bankml.cache import key, sidecar
from bankml.cache.table import Weights
from tests.cache import original
from tests.cache.writers import DIGEST

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


def side(cache):
    return sidecar.place(cache.path, WEIGHTS)


def content(found):
    """key → vector, as the reader of the original tells it."""
    assert sorted(found.rows(found).tolist()) == list(range(len(found))) == list(range(len(found.matrix)))
    return {name: tuple(found.matrix[found.row(name)].tolist()) for name in found}


def assert_true(cache, found):
    assert content(found) == original.read(cache.path, DIGEST, DIMS)


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
