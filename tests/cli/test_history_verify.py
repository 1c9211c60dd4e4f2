"""`bankml history verify`."""

import json

import numpy as np
import pytest

from bankml.cache import Cache, key

OURS, OTHERS = "d" * 64, "e" * 64


@pytest.fixture
def history(tmp_path):
    path = tmp_path / "a.history"
    path.write_text('{"user": "one"}\n')
    return path


@pytest.fixture
def cache(history):
    cache = Cache(history.with_name("a.history.emb"))
    cache.append("m", OURS, [key("one"), key("two"), key("one")], np.eye(3, 8, dtype=np.float32))
    cache.append("m", OTHERS, [key("one")], np.eye(1, 4, dtype=np.float32))
    return cache


GOOD = [{"digest": OURS, "dims": 8, "lines": 3}, {"digest": OTHERS, "dims": 4, "lines": 1}]


def test_every_line_is_counted(here, history, cache):
    done = here("history", "verify", str(history), "--json")
    size = cache.path.stat().st_size
    assert done.status == 0
    assert done.out.lines == [{"good": GOOD, "repeated": 1, "bad": {}, "size": size}]
    with cache.path.open("ab") as file:
        file.write(b'{\n[]\n{"text_sha256": "')
    done = here("history", "verify", str(history), "--json")
    assert done.status == 1
    assert done.out.lines == [
        {"good": GOOD, "repeated": 1, "bad": {"no JSON": 2, "fields": 1}, "size": cache.path.stat().st_size}
    ]


def test_for_people(here, history, cache):
    done = here("history", "verify", str(history))
    assert (done.status, done.out.decode().splitlines()) == (
        0,
        [
            f"file             {cache.path}, {cache.path.stat().st_size:,} bytes",
            "vectors          3 of 8 dimensions by dddddddddddd; 1 of 4 dimensions by eeeeeeeeeeee",
            "repeated         1, which a later line replaces",
            "bad lines        none",
        ],
    )
    with cache.path.open("ab") as file:
        file.write(b"\xff\n")
    done = here("history", "verify", str(history))
    assert (done.status, done.out.decode().splitlines()[3]) == (1, "bad lines        1 no JSON")


def test_nothing_embedded_yet_and_no_history(here, history, tmp_path):
    done = here("history", "verify", str(history), "--json")
    assert (done.status, done.out.lines) == (0, [{"good": [], "repeated": 0, "bad": {}, "size": 0}])
    done = here("history", "verify", str(tmp_path / "none.history"), "--json")
    assert done.status == 1
    assert "does not exist" in done.out.lines[0]["error"]


def test_what_is_no_file(here, history):
    history.with_name("a.history.emb").mkdir()
    done = here("history", "verify", str(history), "--json")
    assert done.status == 1
    assert "is a folder" in json.dumps(done.out.lines)
