"""How much of a history is embedded, and its cache tidied while others write."""

import json
import os

import pytest

from bankml import private_file
from bankml.cache import Cache
from bankml.errors import StoreError
from bankml.history.coverage import compact, coverage
from bankml.history.indexing import cache_path, index


def test_what_is_embedded_until_the_lock_is_held_stays(write, embedder, monkeypatch):
    """`compact` has read the history, another process adds to it and embeds that, `compact` gets the lock."""
    path = write(("one", "a"), ("gone", "b"), ("two", "c"))
    index(path, embedder)
    path.write_text("".join(path.read_text().splitlines(keepends=True)[::2]))
    held, adding = private_file._held, [True]

    def waits(*arguments):
        if adding and adding.pop():
            with path.open("a") as file:
                file.write(json.dumps({"user": "three", "assistant": "d"}) + "\n")
            index(path, embedder)
        return held(*arguments)

    monkeypatch.setattr(private_file, "_held", waits)
    done = compact(path, embedder)
    assert (done.kept, done.unwanted) == (3, 1)
    found = coverage(path, embedder)
    assert (found.embedded, found.cached, found.total) == (3, 3, 3)


def test_a_history_that_vanishes_costs_no_vector(write, embedder):
    path = write(("one", "a"))
    index(path, embedder)
    before = cache_path(path).read_bytes()
    os.unlink(path)
    with pytest.raises(StoreError, match="does not exist"):
        compact(path, embedder)
    assert cache_path(path).read_bytes() == before
    with pytest.raises(StoreError, match="does not exist"):
        Cache(cache_path(path)).compact(embedder.digest, embedder.dims, lambda: coverage(path, embedder) and ())
    assert cache_path(path).read_bytes() == before
