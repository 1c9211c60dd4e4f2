"""`bankml workspace` as people and scripts use it."""

import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from bankml.embedders import choose
from bankml.store import Store
from tests.memory.remembered import record, remember
from tests.store.schemas import FOLDER

TOKENS = record(1, "Sessions expire", "A token lives for an hour.", "src/token.py")
BREAD = record(2, "Bread", "Bread is baked from flour in an oven.")


@pytest.fixture
def own(tmp_path: Path, stocked_home: Path) -> str:
    """Beside it api/kb.db, which knows of tokens."""
    embedder = choose(name="all-MiniLM-L6-v2")
    for name, one in (("own", BREAD), ("api", TOKENS)):
        with Store.create(tmp_path / name / "kb.db") as store:
            remember(store, embedder, one)
    embedder.close()
    return str(tmp_path / "own" / "kb.db")


def test_add_list_query_remove(own: str, tmp_path: Path, here: Callable) -> None:
    api = str(tmp_path / "api")
    (added,) = here("workspace", "add", api, "--db", own, "--json").out.lines
    assert (added["name"], added["mutual"], added["state"], added["records"]) == ("api", True, "answers", 1)
    (listed,) = here("workspace", "list", "--db", own, "--json").out.lines
    assert [(one["name"], one["embedded"], one["chunks"]) for one in listed["peers"]] == [("api", 1, 1)]
    (found,) = here("query", "--db", own, "--json", "how long does a token last?").out.lines
    first = found["results"][0]
    assert (first["id"], first["repository"]) == (TOKENS.id, "api")
    assert (first["affectedPaths"], first["paths_withheld"]) == ([], True)
    assert first["score"] == "uncalibrated (layered namespaces)"
    (alone,) = here("query", "--db", own, "--json", "--no-peers", "how long does a token last?").out.lines
    assert [one["id"] for one in alone["results"]] == [BREAD.id]
    (then,) = here("query", "--db", own, "--json", "--as-of", "2030-01-01", "token").out.lines
    assert then["results"] == []
    assert here("workspace", "remove", "api", "--db", own).status == 0
    (found,) = here("query", "--db", own, "--json", "token").out.lines
    assert TOKENS.id not in [one["id"] for one in found["results"]]


def test_a_context_pack_takes_nothing_of_peers(own: str, tmp_path: Path, here: Callable) -> None:
    here("workspace", "add", str(tmp_path / "api"), "--db", own)
    (pack,) = here("context", "--db", own, "--json", "--query", "how long does a token last?").out.lines
    assert TOKENS.id not in json.dumps(pack)


def test_repin_is_told_and_a_peer_that_is_gone_is_a_failure(own: str, tmp_path: Path, here: Callable) -> None:
    here("workspace", "add", str(tmp_path / "api"), "--db", own)
    done = here("workspace", "repin-embedding", "--db", own, "--json")
    assert done.status == 0
    assert done.out.lines[0]["peers"][0]["reindex"] == ""
    (tmp_path / "api" / "kb.db").unlink()
    done = here("workspace", "repin-embedding", "--db", own)
    assert done.status == 3
    assert b"api: there is no knowledge base" in done.err


def test_what_cannot_be_linked_is_one_sentence(own: str, here: Callable) -> None:
    for arguments in (("add", own), ("add", "/nowhere/kb.db"), ("remove", "api")):
        done = here("workspace", *arguments, "--db", own)
        assert done.status == 1
        assert done.err.count(b"\n") == 1


def test_a_repin_moves_peers_to_the_stores_model_whatever_the_environment_names(
    own: str, tmp_path: Path, here: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = str(tmp_path / "api" / "kb.db")
    here("workspace", "add", api, "--db", own)
    assert here("reindex", "--model", "multilingual-e5-small", "--db", api).status == 0
    monkeypatch.setenv("BANKML_EMBED_MODEL", "multilingual-e5-small")
    (moved,) = here("workspace", "repin-embedding", "--db", own, "--json").out.lines[0]["peers"]
    assert moved["reindex"] == f"bankml reindex --model all-MiniLM-L6-v2 --db {api}"
    assert here("workspace", "repin-embedding", "--reindex", "--db", own).status == 0
    (peer,) = here("workspace", "list", "--db", own, "--json").out.lines[0]["peers"]
    assert (peer["state"], peer["model"], peer["embedded"]) == ("answers", "all-MiniLM-L6-v2", 1)


def test_a_linked_store_of_an_older_bankml_is_named_until_the_command_that_is_told_has_opened_it(
    own: str, tmp_path: Path, here: Callable
) -> None:
    api = tmp_path / "api" / "kb.db"
    api.write_bytes(lzma.decompress((FOLDER / "schema-1.db.xz").read_bytes()))
    here("workspace", "add", str(api), "--db", own)
    api.write_bytes(lzma.decompress((FOLDER / "schema-1.db.xz").read_bytes()))  # as after an upgrade of bankml
    said = f"bankml workspace list --db {api}"
    (found,) = here("query", "--db", own, "--json", "--mode", "words", "token").out.lines
    assert f"without api: {api} is of an older bankml (schema 1) and is opened read only here" in found["status"]
    assert said in found["status"]
    here(*said.split()[1:])
    (found,) = here("query", "--db", own, "--json", "--mode", "words", "token").out.lines
    assert "with api" in found["status"]
