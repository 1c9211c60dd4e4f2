"""Links are kept on both sides, and told where that cannot be."""

import lzma
import os
import subprocess
import sys
from pathlib import Path
from shutil import copy

import pytest

from bankml.errors import InputError, StoreError
from bankml.library.model.configuration import Configuration
from bankml.memory.workspace import links
from bankml.memory.workspace.repin import repin
from bankml.memory.workspace.states import states
from bankml.settings import Settings
from bankml.store import Bound, Store, peers, vectors
from tests.store.schemas import FOLDER


@pytest.fixture
def make(tmp_path: Path):
    stores = []

    def make(name: str, model: str = "all-MiniLM-L6-v2", fingerprint: str = "0" * 16) -> Store:
        store = Store.create(Path(os.fsdecode(os.fsencode(tmp_path / name))) / "kb.db")
        with store.writing() as db:
            Bound(model, 4, "ab" * 32, fingerprint).write(db)
            vectors.create(db, 4)
        stores.append(store)
        return store

    yield make
    for store in stores:
        store.close()


def names(store: Store) -> list[str]:
    with store.reading() as db:
        return [one.name for one in peers.listed(db)]


def test_both_sides_know_and_forget(make):
    own, other = make("own"), make("api")
    link = links.add(own, other.path.parent)
    assert (link.mutual, link.peer.name) == (True, "api")
    assert (names(own), names(other)) == (["api"], ["own"])
    links.add(own, other.path, "again")  # the same path: another name
    assert (names(own), names(other)) == (["again"], ["own"])
    assert links.remove(other, str(own.path)).mutual
    assert (names(own), names(other)) == ([], [])


def test_what_cannot_be_linked(make, tmp_path):
    own, other = make("own"), make("api")
    links.add(own, other.path)
    own.close()
    copied = copy(own.path, tmp_path / "copied.db")
    with Store.open(own.path) as own:
        for path, name, said in (
            (own.path, None, "this very"),
            (Path(copied), None, "is a copy"),
            (make("third").path, "api", "the name of another"),
            (other.path, "\x1b[31m", "can be seen"),
            (other.path, "x" * 101, "1 to 100"),
        ):
            with pytest.raises(InputError, match=said):
                links.add(own, path, name)
        with pytest.raises(StoreError, match="there is no knowledge base"):
            links.add(own, tmp_path / "nothing.db")
        with pytest.raises(InputError, match=r"no linked repository.*\(api\)"):
            links.remove(own, "web")
        assert names(own) == ["api"]


def test_names_of_folders_may_be_anything(make):
    own, other = make("own"), make("b\udcff\n\x1b[1m")
    link = links.add(own, other.path)
    assert link.peer.name == "b\ufffd\ufffd\ufffd[1m"
    assert states(own)[0].state == "answers"
    links.remove(own, link.peer.name)
    assert names(other) == []


def test_a_side_that_cannot_be_written_is_told(make, monkeypatch):
    own, other = make("own"), make("api")
    monkeypatch.setattr("bankml.store.store.writable", lambda path: path != other.path)
    link = links.add(own, other.path)
    assert not link.mutual
    assert "cannot be written" in link.why
    assert (names(own), names(other)) == (["api"], [])


def test_each_state_is_told_with_what_to_run(make, tmp_path):
    own, same, foreign, gone, strange, replaced = (
        make("own"), make("same"), make("foreign", "other", "1" * 16), make("gone"), make("strange"), make("replaced"),
    )  # fmt: skip
    for other in (same, foreign, gone, strange, replaced):
        links.add(own, other.path)
    for store in (gone, strange, replaced):
        store.close()
        store.path.unlink()
    strange.path.write_bytes(b"no database at all, but long enough to look like one" * 100)
    Store.create(replaced.path).close()
    found = {one.name: one for one in states(own)}
    assert {name: one.state for name, one in found.items()} == {
        "same": "answers",
        "foreign": "another profile",
        "gone": "missing",
        "strange": "cannot be read",
        "replaced": "another store",
    }
    assert f"bankml reindex --vectors --db {foreign.path}" in found["foreign"].why
    assert "workspace remove gone" in found["gone"].why


def test_repin_moves_all_and_lists_who_must_reindex(make):
    own, same, foreign, gone = make("own"), make("same"), make("foreign", "other", "1" * 16), make("gone")
    for other in (same, foreign, gone):
        links.add(own, other.path)
    foreign.path.with_name("config.yaml").write_text("# mine\nchunk_tokens: 128\nmodel: other\n")
    gone.close()
    gone.path.unlink()
    for _ in range(2):
        moved = {one.name: one for one in repin(own, Settings.read())}
        assert moved["same"].reindex == ""
        assert moved["foreign"].reindex == f"bankml reindex --vectors --db {foreign.path}"
        assert "there is no knowledge base" in moved["gone"].why
        text = foreign.path.with_name("config.yaml").read_text()
        assert text.startswith("# mine\nchunk_tokens: 128\nmodel: other\n")
        assert "preset: all-minilm-l6-v2" in text


def test_a_model_of_ones_own_is_moved_by_name(make, tmp_path):
    own, other = make("own", str(tmp_path / "a.gguf")), make("api", "other", "1" * 16)
    links.add(own, other.path)
    repin(own, Settings.read())
    text = other.path.with_name("config.yaml").read_text()
    assert "preset: custom" in text
    assert str(tmp_path / "a.gguf") in text


def test_two_processes_that_link_at_once_lose_no_link(make):
    own, *others = [make(f"r{number}") for number in range(9)]
    script = (
        "import sys; from pathlib import Path\n"
        "from bankml.memory.workspace import links; from bankml.store import Store\n"
        "with Store.open(Path(sys.argv[1])) as own:\n"
        "    for path in sys.argv[2:]: links.add(own, Path(path))\n"
    )
    halves = [others[:4], others[4:]]
    running = [
        subprocess.Popen([sys.executable, "-c", script, own.path, *(store.path for store in half)]) for half in halves
    ]
    assert [process.wait(120) for process in running] == [0, 0]
    assert names(own) == sorted(f"r{number}" for number in range(1, 9))
    assert all(names(store) == ["r0"] for store in others)


def test_a_repin_that_is_killed_is_finished_by_the_next(make, monkeypatch):
    own, *others = [make("own"), *(make(f"r{number}", "other", "1" * 16) for number in range(3))]
    for other in others:
        links.add(own, other.path)

    class Killed(BaseException):
        pass

    def kill(moved) -> None:
        if moved.name == "r1":
            raise Killed

    with pytest.raises(Killed):
        repin(own, Settings.read(), kill)
    assert [store.path.with_name("config.yaml").exists() for store in others] == [True, True, False]
    assert all(one.reindex for one in repin(own, Settings.read()))
    assert all("all-minilm-l6-v2" in store.path.with_name("config.yaml").read_text() for store in others)


def test_a_repin_follows_the_stores_own_model_whatever_the_environment_or_config_asks_for(make, monkeypatch):
    own, foreign = make("own"), make("api", "other", "1" * 16)
    links.add(own, foreign.path)
    monkeypatch.setenv("BANKML_EMBED_MODEL", "multilingual-e5-small")
    own.path.with_name("config.yaml").write_text("search:\n  vector:\n    preset: bge-m3\n")  # not reindexed yet
    (moved,) = repin(own, Settings.read())
    assert "preset: all-minilm-l6-v2" in foreign.path.with_name("config.yaml").read_text()
    assert moved.reindex == f"bankml reindex --model all-MiniLM-L6-v2 --db {foreign.path}"


def test_a_repin_carries_the_pooling_along_and_takes_a_stale_one_away(make, tmp_path):
    model = str(tmp_path / "a.gguf")
    own, other = make("own", model), make("api", "other", "1" * 16)
    links.add(own, other.path)
    theirs = other.path.with_name("config.yaml")
    own.path.with_name("config.yaml").write_text(
        f"search.vector.preset: custom\nsearch.vector.model: {model}\nsearch.vector.pooling: cls\n"
    )
    theirs.write_text("search.vector.preset: custom\nsearch.vector.model: b\nsearch.vector.pooling: last\n")
    repin(own, Settings.read())
    assert Configuration.read(other.path).pooling_of(model) == "cls"
    own.path.with_name("config.yaml").write_text(f"search.vector.preset: custom\nsearch.vector.model: {model}\n")
    repin(own, Settings.read())
    assert "pooling" not in theirs.read_text()
    assert Configuration.read(other.path).vector_model == model


def old(folder: Path) -> Path:
    """A store of the first schema that was released."""
    folder.mkdir()
    (folder / "kb.db").write_bytes(lzma.decompress((FOLDER / "schema-1.db.xz").read_bytes()))
    return folder / "kb.db"


def test_a_store_of_an_older_bankml_is_linked_and_brought_to_this_ones_tables(make, tmp_path):
    own, path = make("own"), old(tmp_path / "api")
    assert links.add(own, path).mutual
    with Store.open(path, read_only=True) as other:
        assert names(other) == ["own"]


def test_an_older_store_says_whether_it_may_be_written(make, tmp_path, monkeypatch):
    own, path = make("own"), old(tmp_path / "api")
    with pytest.raises(
        StoreError, match=r"opened read only here: open it once with `bankml workspace list --db .*/api/kb.db`"
    ):
        Store.open(path, read_only=True)
    monkeypatch.setattr("bankml.store.store.writable", lambda path: path == own.path)
    with pytest.raises(StoreError, match="cannot be written here: copy it"):
        links.add(own, path)


def test_a_linked_store_that_became_older_than_bankml_is_told_with_what_brings_it_along(make, tmp_path):
    """As after every release with another schema: nobody else's query writes to it."""
    own, other = make("own"), make("api")
    links.add(own, other.path)
    other.close()
    other.path.unlink()
    other.path.parent.rmdir()
    old(tmp_path / "api")
    (state,) = states(own)
    assert (state.state, f"bankml workspace list --db {other.path}" in state.why) == ("cannot be read", True)


def test_what_fails_in_a_way_nobody_thought_of_is_a_state_too(make, monkeypatch):
    own, other = make("own"), make("api")
    links.add(own, other.path)

    def broken(db) -> None:
        raise ValueError("no\nnumber")

    monkeypatch.setattr("bankml.memory.workspace.states.Counts.of", broken)
    (state,) = states(own)
    assert (state.state, state.why) == ("cannot be read", "it cannot be read (ValueError: no number)")
