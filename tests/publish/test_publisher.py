"""Publishing into a real PostgreSQL: what is there afterwards, whatever the lines hold and whoever is killed."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from bankml import InputError, StoreError
from bankml.errors import LicenceError
from bankml.models.licence import UNKNOWN
from bankml.publish import publish, status
from tests.postgres import rows

THREE = [("why is the sky blue?", "Rayleigh."), ("and the sea?", "It mirrors."), ("und der Mond?", "Gar nicht. 🌕")]
LINES = "SELECT seq, line, line_sha256, rec FROM bankml_exchanges WHERE agent = %s ORDER BY seq"
HOSTILE = [
    "'; DROP TABLE bankml_agents; --",
    "quotes \" and ' and ` and $$",
    "\\. on its own",
    "\\N",
    "a\\tb\\nc\\\\ d",
    "a\tb\r\nc\x0b\x0c",
    "\x1b[2J\x1b]0;title\x07",
    "emoji 👩‍👩‍👧 and \u202e turned, \ufeff marked, \x7f deleted, \x80 too",
    "%s %(name)s {} {0} :name",
    "x" * 1_000_000,
    "",
]


def test_lines_are_the_files_to_the_byte(dsn, history, seeded):
    path = history(*THREE)
    result = publish(path, "ada", include_private=True, dsn=dsn, vectors=seeded())
    assert (result.exchanges, result.embedded, result.dims) == (3, 3, 8)
    assert result.embedding == "3 of 3 exchanges embedded with seeded-8 (abababab…)"
    found = rows(dsn, LINES, "ada")
    assert "\n".join(row[1] for row in found) + "\n" == path.read_text(encoding="utf-8")
    for seq, (got, text, digest, record) in enumerate(found):
        assert (got, record) == (seq, json.loads(text))
        assert digest == hashlib.sha256(text.encode()).hexdigest()


def test_a_carriage_return_and_a_byte_order_mark_belong_to_the_line_and_empty_lines_to_none(dsn, history, seeded):
    path = history(
        b'\xef\xbb\xbf{"user": "a", "assistant": "b"}\r', b"", b" \t\r", b'{"user": "c", "assistant": "d"}\r'
    )
    publish(path, "ada", include_private=True, dsn=dsn, vectors=seeded())
    found = rows(dsn, LINES, "ada")
    assert [row[0] for row in found] == [0, 1]
    assert [row[1] for row in found] == ['\ufeff{"user": "a", "assistant": "b"}\r', '{"user": "c", "assistant": "d"}\r']
    assert [row[3]["user"] for row in found] == ["a", "c"]
    assert all(row[2] == hashlib.sha256(row[1].encode()).hexdigest() for row in found)


def test_hostile_text_is_data(dsn, history, seeded):
    path = history(*((text, text[::-1]) for text in HOSTILE), b'{"user": "\\u0027\\ud83d\\ude00", "n": 1e400, "o": {}}')
    assert publish(path, "ada", include_private=True, dsn=dsn, vectors=seeded()).lines == len(HOSTILE) + 1
    found = rows(dsn, LINES, "ada")
    assert [row[3]["user"] for row in found[:-1]] == HOSTILE
    assert found[-1][3]["user"] == "'😀"
    assert "\n".join(row[1] for row in found).encode() + b"\n" == path.read_bytes()


def test_a_second_publishing_replaces_the_first(dsn, history, seeded):
    publish(history(*THREE), "ada", include_private=True, dsn=dsn, vectors=seeded(), name="Ada")
    publish(history(*THREE), "bob", include_private=True, dsn=dsn, vectors=seeded())
    publish(history(THREE[2]), "ada", include_private=True, dsn=dsn, vectors=seeded())
    assert rows(dsn, "SELECT agent, count(*) FROM bankml_exchanges GROUP BY 1 ORDER BY 1") == [("ada", 1), ("bob", 3)]
    assert rows(dsn, "SELECT slug, name FROM bankml_agents ORDER BY 1") == [("ada", "Ada"), ("bob", "bob")]


def test_without_private_lines_nothing_of_them_is_left(dsn, history, seeded):
    path = history(*THREE)
    publish(path, "ada", include_private=True, dsn=dsn, vectors=seeded())
    vectors = seeded()
    result = publish(path, "ada", dsn=dsn, vectors=vectors)
    assert (result.exchanges, result.embedded, result.private_included, vectors.asked) == (0, 0, False, 0)
    assert "private" in result.embedding
    assert rows(dsn, "SELECT count(*) FROM bankml_exchanges") == [(0,)]
    ((private, manifest),) = rows(dsn, "SELECT private_included, manifest FROM bankml_agents")
    assert (private, set(manifest)) == (False, {"bankml", "lines", "exchanges", "embedded"})
    dead = rows(dsn, "SELECT * FROM bankml_agents")[0]
    whole = path.read_bytes()
    assert not any(
        part in str(dead) for part in (*"Rayleigh sky mirrors Mond".split(), hashlib.sha256(whole).hexdigest())
    )


def test_an_agent_that_was_never_private_has_no_lines(dsn, history, seeded):
    assert publish(history(*THREE), "ada", dsn=dsn, vectors=seeded()).exchanges == 0
    assert rows(dsn, "SELECT slug, name, private_included FROM bankml_agents") == [("ada", "ada", False)]
    assert rows(dsn, "SELECT count(*) FROM bankml_exchanges") == [(0,)]


BAD = {
    "not JSON": (b"{'user': 1}", "is not JSON"),
    "torn": (b'{"user": "a", "assist', "is not JSON"),
    "an array": (b'["user"]', "is no JSON object"),
    "a string": (b'"user"', "is no JSON object"),
    "NUL": (b'{"user": "a\\u0000b"}', "holds the character NUL"),
    "a raw NUL": (b'{"user": "a\0b"}', "is not JSON"),
    "Latin-1": ('{"user": "é"}'.encode("latin-1"), "is not UTF-8 (its byte 11)"),
    "a lone surrogate": (b'{"user": "\\ud800"}', "holds half of a surrogate pair"),
    "nested": (b'{"user": ' + b"[" * 100_000, "is nested too deeply"),
    "a surrogate's bytes": (b'{"user": "\xed\xa0\x80"}', "is not UTF-8"),
    "NaN": (b'{"user": NaN}', "is not JSON"),
    "refused by jsonb alone": (b'{"n": 1e999999}', "is refused by PostgreSQL"),
}


@pytest.mark.parametrize(("bad", "why"), BAD.values(), ids=BAD)
def test_a_bad_line_is_named_and_all_is_as_before(dsn, history, seeded, bad, why):
    publish(history(*THREE), "ada", include_private=True, dsn=dsn, vectors=seeded(), name="Ada")
    before = state(dsn)
    path = history(b'{"new": 1}', b"", b'{"secret": "\\\\u0000"}', bad, b'{"new": 2}')
    with pytest.raises(InputError) as caught:
        publish(path, "ada", include_private=True, dsn=dsn, vectors=seeded(), name="New")
    assert str(caught.value).startswith(f"line 4 of {path} {why}")
    assert caught.value.index == 3
    assert not any(part in str(caught.value) for part in ("secret", "999999"))
    assert state(dsn) == before


def test_a_line_that_turns_bad_while_it_is_sent(dsn, history, seeded):
    publish(history(*THREE), "ada", include_private=True, dsn=dsn, vectors=seeded())
    before, path = state(dsn), history(*THREE * 100)

    class Meanwhile(seeded):
        def of(self, record):
            if self.asked == 300:  # all were checked
                path.write_bytes(path.read_bytes() + b"torn {")
            return super().of(record)

    with pytest.raises(InputError, match=r"line 301 of .* is not JSON"):
        publish(path, "ada", include_private=True, dsn=dsn, vectors=Meanwhile())
    assert state(dsn) == before


def test_a_publisher_that_is_killed_leaves_the_old_lines(dsn, history, seeded, tmp_path):
    publish(history(*THREE), "ada", include_private=True, dsn=dsn, vectors=seeded())
    before = state(dsn)
    path = history(*(THREE * 500), name="long.history")
    code = f"""
import time
from bankml.publish import publish
from tests.publish.conftest import Seeded
class Slow(Seeded):
    def of(self, record):
        if self.asked == {len(THREE) * 500 + 1000}:
            print("in the middle", flush=True)
            time.sleep(60)
        return super().of(record)
publish({str(path)!r}, "ada", include_private=True, dsn={dsn!r}, vectors=Slow(), name="New")
"""
    root = Path(__file__).parents[2]
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=root) as child:
        assert child.stdout.readline() == "in the middle\n"
        working = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'bankml' AND query LIKE 'COPY %%'"
        assert rows(dsn, working) == [(1,)]
        os.kill(child.pid, signal.SIGKILL)
    assert state(dsn) == before
    assert publish(path, "ada", include_private=True, dsn=dsn, vectors=seeded()).exchanges == 1500
    assert rows(dsn, working) == [(0,)]


@pytest.mark.parametrize("isolation", [None, "serializable"])
def test_two_publishers_at_once_come_one_after_the_other(dsn, history, seeded, isolation):
    """Whatever the server's or the role's default: a snapshot from before the lock would show what was there then."""
    if isolation:
        dsn = dsn.replace("options='", f"options='-cdefault_transaction_isolation={isolation} ")
    paths = [history(*(THREE * n), name=f"{n}.history") for n in (40, 50, 60, 70)]
    failures = []

    def work(path, slug):
        try:
            for _ in range(2):
                publish(path, slug, include_private=True, dsn=dsn, vectors=seeded())
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(path, slug)) for path in paths for slug in ("ada", path.stem)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    counts = dict(rows(dsn, "SELECT agent, count(*) FROM bankml_exchanges GROUP BY 1"))
    assert counts.pop("ada") in (120, 150, 180, 210)
    assert counts == {"40": 120, "50": 150, "60": 180, "70": 210}
    ((manifest, texts),) = rows(
        dsn,
        "SELECT manifest, (SELECT string_agg(line || E'\\n', '' ORDER BY seq) FROM bankml_exchanges WHERE agent = slug)"
        " FROM bankml_agents WHERE slug = 'ada'",
    )
    assert manifest["history_sha256"] == hashlib.sha256(texts.encode()).hexdigest()


def test_exchanges_without_a_vector_are_null(dsn, history, seeded):
    vectors = seeded(without=frozenset({THREE[1][0]}))
    result = publish(history(*THREE), "ada", include_private=True, dsn=dsn, vectors=vectors)
    assert (result.exchanges, result.embedded) == (3, 2)
    assert result.embedding == "2 of 3 exchanges embedded with seeded-8 (abababab…): 1 cannot be embedded"
    assert rows(dsn, "SELECT seq FROM bankml_exchanges WHERE embedding IS NULL") == [(1,)]


MIXED = (
    b'{"user": "a", "assistant": "b"}',
    b'{"note": "of another kind"}',
    b'{"user": null, "assistant": "alone"}',
    b'{"user": 5, "assistant": "no text"}',
    b'{"user": "a", "assistant": ["no text"]}',
    b'{"user": "", "assistant": ""}',
    b'{"user": "x", "user": null}',
)


def test_lines_that_are_no_exchanges_are_counted_apart_and_have_no_vector(dsn, history, seeded):
    path = history(*MIXED)

    class Complete(seeded):
        def complete(self, progress):
            raise AssertionError("nothing is missing")

    options = {"include_private": True, "dsn": dsn, "vectors": Complete()}
    for dry_run in (True, False, True):
        found = publish(path, "ada", dry_run=dry_run, **options)
        assert (found.lines, found.exchanges, found.embedded) == (7, 2, 2)
        assert found.embedding == "2 of 2 exchanges embedded with seeded-8 (abababab…)"
        assert "first" not in str(found.would)
    assert found.would == ["remove 7 lines of ada", "write 7 lines of ada"]
    assert rows(dsn, "SELECT seq FROM bankml_exchanges WHERE embedding IS NOT NULL ORDER BY seq") == [(0,), (2,)]
    assert rows(dsn, "SELECT manifest -> 'lines', manifest -> 'exchanges' FROM bankml_agents") == [(7, 2)]
    whole = status(dsn)
    for counted in (whole, *whole["agents"]):
        assert (counted["lines"], counted["exchanges"], counted["embedded"]) == (7, 2, 2)


def test_without_a_model_the_lines_alone(dsn, history):
    result = publish(history(*THREE), "ada", include_private=True, dsn=dsn, vectors="bge-m3 was not pulled")
    assert result.embedding == "0 of 3 exchanges embedded: bge-m3 was not pulled"
    assert rows(dsn, "SELECT count(*) FROM bankml_exchanges") == [(3,)]


def test_vectors_are_stored_to_the_bit(dsn, history, seeded):
    publish(history(*THREE), "ada", include_private=True, dsn=dsn, vectors=seeded())
    found = rows(dsn, "SELECT embedding::real[] FROM bankml_exchanges ORDER BY seq")
    wanted = [seeded().of({"user": user, "assistant": assistant}) for user, assistant in THREE]
    assert np.array([row[0] for row in found], np.float32).tobytes() == np.array(wanted).tobytes()


@pytest.mark.parametrize("slug", ["", "Ada", "a b", "a/b", "ada\n", "ä", "a" * 65, "'; DROP", "a_b"])
def test_what_is_no_slug(history, slug):
    with pytest.raises(InputError, match="is no slug"):
        publish(history(*THREE), slug, dsn="host=/nonesuch")


@pytest.mark.parametrize("name", ["a\0b", "a\udcffb"])
def test_what_is_no_name(history, name):
    with pytest.raises(InputError, match="not text that PostgreSQL can store"):
        publish(history(*THREE), "ada", name=name, dsn="host=/nonesuch")


@pytest.mark.parametrize("name", ["", " \t"])
def test_a_name_that_is_empty(history, name):
    with pytest.raises(InputError, match="is empty"):
        publish(history(*THREE), "ada", name=name, dsn="host=/nonesuch")


def test_a_licence_that_is_not_known_to_be_open(dsn, history, seeded):
    vectors, path = seeded(licence=UNKNOWN), history(*THREE)
    with pytest.raises(LicenceError, match="--allow-licence 'unknown'"):
        publish(path, "ada", include_private=True, dsn=dsn, vectors=vectors)
    with pytest.raises(LicenceError, match="--allow-licence 'unknown'"):
        publish(path, "ada", include_private=True, dsn=dsn, vectors=vectors, allow_licence=["MIT"])
    assert rows(dsn, "SELECT to_regclass('bankml_agents'), to_regclass('bankml_exchanges')") == [(None, None)]
    assert publish(path, "ada", dsn=dsn, vectors=vectors).exchanges == 0
    assert publish(path, "ada", include_private=True, dsn=dsn, vectors=vectors, allow_licence=["unknown"]).embedded == 3


def test_a_dry_run_tells_and_changes_nothing(dsn, history, seeded):
    path = history(*THREE)
    result = publish(path, "ada", include_private=True, dsn=dsn, vectors=seeded(), dry_run=True)
    assert (result.dry_run, result.exchanges, result.embedded) == (True, 3, 3)
    assert result.would == [
        "make the tables bankml_agents and bankml_exchanges",
        "add the column embedding vector(8)",
        "write 3 lines of ada",
    ]
    assert rows(dsn, "SELECT to_regclass('bankml_agents'), to_regclass('bankml_exchanges')") == [(None, None)]
    publish(path, "ada", include_private=True, dsn=dsn, vectors=seeded())
    before = state(dsn)
    result = publish(path, "ada", dsn=dsn, vectors=seeded(), dry_run=True)
    assert result.would == ["remove 3 lines of ada", "write no line"]
    assert state(dsn) == before
    with pytest.raises(InputError, match="line 1 of"):
        publish(history(b"["), "ada", include_private=True, dsn=dsn, dry_run=True)


@pytest.mark.parametrize("private", [True, False])
def test_a_history_that_is_not_there(tmp_path, private):
    for path, why in ((tmp_path / "none.history", "there is no such file"), (tmp_path, "not a regular file")):
        with pytest.raises(InputError, match=why):
            publish(path, "ada", include_private=private, dsn="host=/nonesuch")


def test_what_the_driver_is_missing_is_told(history, monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match=r"pip install 'psycopg"):
        publish(history(*THREE), "ada")


def state(dsn: str) -> list:
    """All that is in the tables, and the indexes on them."""
    return [
        rows(dsn, "SELECT * FROM bankml_agents ORDER BY 1"),
        rows(dsn, "SELECT * FROM bankml_exchanges ORDER BY 1, 2"),
        rows(dsn, "SELECT indexname FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1"),
    ]
