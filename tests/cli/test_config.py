"""`bankml config`: what is set, what counts, another model, and the vectors that are made anew for it."""

import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest

from bankml.embedders import choose
from bankml.library.model.fingerprint import fingerprint
from bankml.library.model.profiles import PROFILES
from bankml.settings import Settings
from bankml.store import Store
from oracle import seeded
from tests.cli.test_convert import own_terminal

PRESET, MODEL, ENABLED = "search.vector.preset", "search.vector.model", "search.vector.enabled"
REINDEX = "bankml reindex --vectors"


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "base" / "kb.db"


@pytest.fixture
def config(here, db: Path):
    """Runs `bankml config … --db`."""
    return lambda *arguments: here("config", *arguments, "--db", str(db))


@pytest.fixture
def model(tmp_path: Path) -> str:
    """A model of 64 dimensions, by its path."""
    return str(seeded.tiny(tmp_path / "one.gguf"))


@pytest.fixture
def other(tmp_path: Path) -> str:
    """One of 32, whose file says no pooling."""
    path = seeded.tiny(tmp_path / "two.gguf", hidden=32, seed=1)
    path.write_bytes(path.read_bytes().replace(b"bert.pooling_type", b"bert.pooling_typo"))
    return str(path)


@pytest.fixture
def filled(here, db: Path, model: str, tmp_path: Path) -> Path:
    """A knowledge base with a text, bound to `model`."""
    (tmp_path / "doc.txt").write_text("The heater of the greenhouse runs at night.")
    assert here("init", "--db", str(db), "--model", model).status == 0
    assert here("add", str(tmp_path / "doc.txt"), "--db", str(db)).status == 0
    return db


def vectors(db: Path) -> set[tuple[str, int]]:
    """Of each vector the recipe and the bytes."""
    with Store.open(db) as store, store.reading() as connection:
        return set(connection.execute("SELECT fingerprint, length(vector) FROM chunks_vec"))


def status_line(here, db: Path) -> tuple[int, str]:
    done = here("search", "greenhouse heater", "--db", str(db), "--json")
    answer = done.out.lines[0]
    return done.status, answer.get("error") or answer["status"]


def test_the_list_says_where_each_comes_from(here, config, db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [line.split(b"\t") for line in here("config", "--db", str(db)).out.splitlines()]
    assert {row[0].decode(): (row[1].decode(), row[2].decode()) for row in rows} == {
        "model": ("—", "default"),
        "query_prefix": ('""', "the model"),
        "document_prefix": ('""', "the model"),
        "chunk_tokens": ("256", "default"),
        "chunk_overlap": ("32", "default"),
        ENABLED: ("true", "default"),
        PRESET: ("all-minilm-l6-v2", "default"),
        MODEL: ("all-MiniLM-L6-v2", "default"),
        "search.vector.pooling": ("mean", "the model"),
    }
    assert config("set", PRESET, "multilingual-e5-small").status == 0
    assert config("set", "chunk_tokens", "128").status == 0
    found = here("config", "--db", str(db), "--json").out.lines[0]
    settings = found["settings"]
    assert found["config"] == str(db.parent / "config.yaml")
    assert {key: (one["value"], one["from"]) for key, one in settings.items() if one["from"] != "default"} == {
        "query_prefix": ("query: ", "the model"),
        "document_prefix": ("passage: ", "the model"),
        "chunk_tokens": (128, "config.yaml"),
        PRESET: ("multilingual-e5-small", "config.yaml"),
        MODEL: ("multilingual-e5-small", PRESET),
        "search.vector.pooling": ("mean", "the model"),
    }
    monkeypatch.setenv("BANKML_EMBED_MODEL", "bge-m3")
    assert config("get", MODEL).out == b"bge-m3\n"
    one = config("get", MODEL, "--json").out.lines[0]
    assert one == {"key": MODEL, "value": "bge-m3", "from": "BANKML_EMBED_MODEL", "saved": None}


def test_presets_for_programs(here, db: Path, stocked_home: Path) -> None:
    found = here("config", "--db", str(db), "--json").out.lines[0]["presets"]
    assert [one["name"] for one in found] == [profile.name for profile in PROFILES]
    assert {one["name"] for one in found if one["here"]} == {"all-minilm-l6-v2", "multilingual-e5-small"}
    assert {one["name"] for one in found if one["refusal"]} == {
        "granite-small-r2",
        "granite-97m-multilingual",
        "arctic-embed-m-v2",
    }


def test_get_set_and_reset(config, db: Path) -> None:
    file = db.parent / "config.yaml"
    file.parent.mkdir()
    file.write_text("# mine\nchunk_overlap: 8 # small\n")
    assert config("set", "query_prefix", "find: ").status == 0
    assert config("get", "query_prefix").out == b"find: \n"
    assert file.read_text() == '# mine\nchunk_overlap: 8 # small\nquery_prefix: "find: "\n'
    assert config("get", "model").out == b""
    done = config("reset", "chunk_overlap")
    assert (done.status, file.read_text()) == (0, '# mine\n# small\nquery_prefix: "find: "\n')
    assert b"chunk_overlap 8" in done.out
    done = config("reset")
    assert (done.status, file.read_text()) == (0, "# mine\n# small\n")
    assert b'query_prefix "find: "' in done.out


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (("set", "chunk_tokens", "63"), 1, b"chunk_tokens is 63: make it a whole number from 64"),
        (("set", "chunk_tokens", "many"), 1, b"chunk_tokens is 'many'"),
        (("set", ENABLED, "maybe"), 1, b"make it true or false"),
        (("set", PRESET, "nothing"), 1, b"make it all-minilm-l6-v2, multilingual-e5-small"),
        (("set", PRESET, "granite-97m-multilingual"), 1, b"needs support of the engine"),
        (("set", "search.vector", "x"), 1, b"'search.vector' is no setting of a knowledge base: give one of model"),
        (("get", "nothing"), 1, b"is no setting"),
        (("reset", "nothing"), 1, b"is no setting"),
        (("set-model", "granite-small-r2"), 1, b"needs support of the engine"),
        (("set-model", "no-such-model"), 1, b"no model 'no-such-model'"),
        (("set-model", "x", "--pooling", "max"), 2, b"max"),
        (("set", PRESET), 2, b"VALUE"),
    ],
)
def test_what_is_refused_changes_nothing(config, db: Path, arguments, status: int, says: bytes) -> None:
    done = config(*arguments)
    assert (done.status, done.out, done.err.count(b"\n")) == (status, b"", 1)
    assert says in done.err
    assert not (db.parent / "config.yaml").exists()


def test_a_model_under_a_named_preset_is_saved_and_said_to_have_no_effect(here, config, db: Path) -> None:
    config("set", PRESET, "multilingual-e5-small")
    done = config("set", MODEL, "gte-small")
    assert done.status == 0
    assert b"search.vector.model is saved and has no effect, for search.vector.preset decides" in done.err
    assert b"`bankml config set search.vector.preset custom`, or `bankml config set-model NAME`" in done.err
    assert b"multilingual-e5-small (search.vector.preset)" in done.out
    got = config("get", MODEL)
    assert got.out == b"multilingual-e5-small\n"
    assert b"search.vector.model is gte-small in config.yaml, without effect: search.vector.preset decides" in got.err
    assert b"saved without effect: gte-small" in here("config", "--db", str(db)).out
    told = config("set", PRESET, "custom", "--json").out.lines[0]
    assert (told["asked_for"], told["asked_by"], told["notes"]) == ("gte-small", MODEL, [])


def test_the_environment_and_own_prefixes_are_told(config, monkeypatch: pytest.MonkeyPatch) -> None:
    config("set", "query_prefix", "find: ")
    monkeypatch.setenv("BANKML_EMBED_MODEL", "bge-m3")
    notes = config("set", PRESET, "multilingual-e5-small", "--json").out.lines[0]["notes"]
    assert "BANKML_EMBED_MODEL decides (bge-m3): unset BANKML_EMBED_MODEL" in notes[0]
    assert "query_prefix of config.yaml stay" in notes[1]


def test_a_switch_offers_the_rebuild_and_nothing_is_mixed_meanwhile(here, config, filled, model, other) -> None:
    before = vectors(filled)
    done = config("set-model", other, "--pooling", "cls")
    assert done.status == 0
    assert f"run `{REINDEX} --db {filled}`".encode() in done.err
    assert b"the vectors are of " in done.err
    assert (filled.parent / "config.yaml").read_text() == (
        f'search:\n  vector:\n    preset: custom\n    model: "{other}"\n    pooling: cls\n'
    )
    status, sentence = status_line(here, filled)
    assert (status, vectors(filled)) == (1, before)
    assert f"Model mismatch: DB uses '{model}' (64 dim) but {MODEL} specifies '{other}' (32 dim)" in sentence
    assert here("search", "greenhouse", "--mode", "words", "--db", str(filled)).status == 0
    assert here("reindex", "--vectors", "--db", str(filled)).status == 0
    cls, mean = (fingerprint(choose(name=other, pooling=pooling)) for pooling in ("cls", "mean"))
    assert vectors(filled) == {(cls, 4 * 32)} != {(mean, 4 * 32)}
    status, sentence = status_line(here, filled)
    assert (status, "meaning, 1 of 1 embedded" in sentence) == (0, True)
    assert config("set", "search.vector.pooling", "mean", "--json").out.lines[0]["stale"] == (
        "1 vectors are of another recipe and are not searched any more"
    )
    assert "nothing is embedded yet" in status_line(here, filled)[1] or "another recipe" in status_line(here, filled)[1]


def test_a_rebuild_at_once(config, filled, other) -> None:
    done = config("set-model", other, "--pooling", "last", "--reindex", "--json")
    told, rebuilt = done.out.lines
    assert (done.status, told["pooling"], told["dims"], told["run"]) == (0, "last", 32, f"{REINDEX} --db {filled}")
    assert (rebuilt["chunks"], rebuilt["dims"], rebuilt["model"]) == (1, 32, other)
    again = config("set-model", other, "--pooling", "last", "--json").out.lines[0]
    assert (again["stale"], again["run"]) == (None, None)


def test_plain_reindex_stays_with_the_stores_own_model(here, config, filled, other) -> None:
    before = vectors(filled)
    config("set-model", other, "--pooling", "cls")
    done = here("reindex", "--db", str(filled))
    assert (done.status, vectors(filled)) == (0, before)
    assert MODEL.encode() in done.err


def test_nothing_is_switched_where_any_step_fails(config, filled, other, hub) -> None:
    config("set", "chunk_tokens", "99")
    before = (filled.parent / "config.yaml").read_text(), vectors(filled)
    hub.add("o/modern", {"config.json": b'{"model_type": "modernbert"}', "model.safetensors": b"x"})
    for arguments, says in (
        ((other,), b"give --pooling mean, cls or last"),
        (("o/modern",), b"of the architecture modernbert"),
        (("o/none",), b"no repository o/none"),
        ((other + "x.gguf",), b"there is no file"),
    ):
        done = config("set-model", *arguments, "--reindex")
        assert (done.status, done.err.count(b"\n"), says in done.err) == (1, 1, True), done.err
        assert ((filled.parent / "config.yaml").read_text(), vectors(filled)) == before


def test_words_alone_by_intention(here, config, filled, tmp_path: Path) -> None:
    assert b"words alone are searched" in config("set", ENABLED, "false").err
    before = vectors(filled)
    sentence = "search.vector.enabled is false in "
    status, line = status_line(here, filled)
    assert (status, f"BM25 (FTS5) alone: {sentence}" in line) == (0, True)
    (tmp_path / "more.txt").write_text("Frost comes in the morning.")
    done = here("add", str(tmp_path / "more.txt"), "--db", str(filled))
    assert (done.status, vectors(filled)) == (0, before)
    assert f"bankml: found by words alone: {sentence}".encode() in done.err
    done = here("search", "frost", "--mode", "meaning", "--db", str(filled))
    assert (done.status, sentence.encode() in done.err) == (1, True)
    found = here("status", "--db", str(filled), "--json")
    assert found.status == 0
    assert sentence in found.out.lines[0]["disabled"]
    assert sentence in found.out.lines[0]["next"]
    assert b"not searched by" in here("status", "--db", str(filled)).out
    config("set", ENABLED, "yes")
    assert "fused" in status_line(here, filled)[1]


def test_a_pooling_that_counts_for_nothing_is_told(config, model: str) -> None:
    key = "search.vector.pooling"
    config("set", MODEL, model)
    told = config("set", key, "last", "--json").out.lines[0]
    assert told["notes"] == [f"{key} is saved and has no effect: the pooling of the model that is asked for is mean"]


def test_init_takes_the_preset(here, config, db: Path, stocked_home: Path) -> None:
    config("set", PRESET, "multilingual-e5-small")
    assert here("init", "--db", str(db), "--json").out.lines[0]["model"] == "multilingual-e5-small"
    told = config("set", PRESET, "all-minilm-l6-v2", "--json").out.lines[0]
    assert "the vectors are of multilingual-e5-small, and all-MiniLM-L6-v2 is asked for now" in told["stale"]
    told = config("reset", PRESET, "--json").out.lines[0]
    assert (told["stale"], told["asked_for"], told["asked_by"]) == (None, "multilingual-e5-small", "the knowledge base")


def test_init_pulls_nothing_where_meaning_is_off(here, config, db: Path) -> None:
    config("set", ENABLED, "false")
    done = here("init", "--db", str(db))
    assert (done.status, b"search.vector.enabled is false" in done.err) == (0, True)
    assert not list(Settings.read().home.rglob("*.gguf"))


class Terminal:
    """`bankml config …` with a terminal of its own."""

    def __init__(self, *arguments: str) -> None:
        self.ours, theirs = pty.openpty()
        whole = [sys.executable, "-m", "bankml", "config", *arguments]
        environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
        self.process = subprocess.Popen(
            whole, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, preexec_fn=own_terminal,
            env=environment,
        )  # fmt: skip
        os.close(theirs)
        self.shown = ""

    def until(self, text: str, again: str = "") -> str:
        """What is shown until that; all if it never is. `again` is typed once more every two seconds."""
        start = len(self.shown)
        while text not in self.shown[start:]:
            while not select.select([self.ours], [], [], 2 if again else 60)[0]:
                assert again, f"{text!r} does not come: {self.shown}"
                self.say(again)
            try:
                got = os.read(self.ours, 4096)
            except OSError:
                got = b""
            if not got:
                break
            self.shown += got.decode(errors="replace")
        return self.shown[start:]

    def say(self, text: str) -> None:
        os.write(self.ours, text.encode())

    def end(self, again: str = "") -> int:
        self.until("\0 never", again)
        os.close(self.ours)
        return self.process.wait(60)


def test_the_picker(db: Path, stocked_home: Path) -> None:
    terminal = Terminal("--db", str(db))
    shown = terminal.until("as it is)")
    for profile in PROFILES:
        line = next(line for line in shown.splitlines() if f" {profile.name} " in line)
        assert f" {profile.dims} " in line
        assert profile.languages in line
        assert ("needs engine support" in line) == bool(profile.graph)
        assert ("not here" in line) == (profile.name in ("bge-small-en", "bge-m3", "arctic-embed-2-l"))
        assert ("here, asked for" in line) == (profile.name == "all-minilm-l6-v2")
    terminal.say("nothing\n")
    assert "there is no preset 'nothing'" in terminal.until("as it is)")
    terminal.say("arctic-embed-m-v2\n")
    assert "needs support of the engine" in terminal.until("as it is)")
    terminal.say("2\n")
    assert terminal.end() == 0
    assert "multilingual-e5-small (search.vector.preset)" in terminal.shown
    assert (db.parent / "config.yaml").read_text() == "search:\n  vector:\n    preset: multilingual-e5-small\n"


@pytest.mark.parametrize(("keys", "status"), [("\n", 0), ("\x03", 130)])
def test_a_picker_that_is_left(db: Path, keys: str, status: int) -> None:
    terminal = Terminal("--db", str(db))
    terminal.until("as it is)")
    terminal.say(keys)
    assert terminal.end(keys if keys == "\x03" else "") == status  # Python misses one that comes just before it reads
    assert not (db.parent / "config.yaml").exists()


def test_a_person_is_asked_for_the_pooling_and_for_the_rebuild(filled: Path, other: str) -> None:
    terminal = Terminal("set-model", other, "--db", str(filled))
    assert "does not say how token vectors become one" in terminal.until("pooling (mean, cls, last)")
    terminal.say("cls\n")
    terminal.until("make the vectors anew now")
    terminal.say("y\n")
    assert terminal.end() == 0
    assert "1 of 1 chunks embedded" in terminal.shown
    assert vectors(filled) == {(fingerprint(choose(name=other, pooling="cls")), 4 * 32)}


def test_a_rebuild_that_is_declined_is_told(filled: Path, other: str) -> None:
    before = vectors(filled)
    terminal = Terminal("set-model", other, "--pooling", "cls", "--db", str(filled))
    terminal.until("make the vectors anew now")
    terminal.say("n\n")
    assert terminal.end() == 0
    assert f"run `{REINDEX}" in terminal.shown
    assert vectors(filled) == before


def test_words_alone_by_intention_are_told_by_init(config, here, db: Path, stocked_home: Path) -> None:
    here("init", "--db", str(db))
    assert b"not searched" not in here("init", "--status", "--db", str(db)).out
    config("set", ENABLED, "false")
    assert b"not searched by (search.vector.enabled is false)" in here("init", "--status", "--db", str(db)).out
    assert here("init", "--status", "--db", str(db), "--json").out.lines[0]["vector_enabled"] is False
