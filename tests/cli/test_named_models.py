"""Models of a hub: `init --model`, `reindex --model`, and a graph that is not ours."""

import json
from pathlib import Path

import pytest

from bankml.store import Store, config

BGE, NOTICE = "bge-small-en-v1.5", "Optimising model {} for bankml's engine (one-time)…"


def recorded(path: Path) -> tuple[str | None, str | None]:
    with Store.open(path) as store, store.reading() as db:
        return config.get(db, "model_name"), config.get(db, "embedding_dim")


@pytest.fixture
def base(tmp_path: Path) -> tuple[str, str]:
    return "--db", str(tmp_path / "kb.db")


def test_init_with_a_model_of_a_hub(command, here, model_hub, base) -> None:
    first = command("init", "--model", BGE, "--json", *base)
    assert (first.out.lines[0]["model"], first.out.lines[0]["dims"]) == (BGE, 384)
    assert first.err.decode().count(NOTICE.format(BGE)) == 1
    assert recorded(Path(base[1])) == (BGE, "384")
    model_hub.requests.clear()
    for name in (f"BAAI/{BGE}", f"hf:BAAI/{BGE}", BGE.upper()):  # aliases are one model
        again = here("init", "--model", name, *base)
        assert (again.status, b"Optimising" in again.err) == (0, False)
    assert model_hub.requests == []


def test_init_with_a_model_of_another_graph_makes_nothing(command, model_hub, base) -> None:
    done = command("init", "--model", "nomic-embed-text", *base)
    assert (done.status, done.out, done.err.count(b"\n")) == (1, b"", 1)
    assert b"is of the architecture nomic_bert (NomicBertModel" in done.err
    assert b"such as all-minilm-l6-v2, bge-small-en-v1.5" in done.err
    assert not Path(base[1]).exists()


@pytest.mark.usefixtures("stocked_home")
def test_reindex_with_a_model_of_a_hub(command, here, model_hub, base) -> None:
    assert here("init", *base).status == 0
    refused = here("init", "--model", BGE, *base)
    assert refused.err.decode() == (
        f"bankml: Model mismatch: DB uses 'all-MiniLM-L6-v2' (384 dim) but --model specifies '{BGE}' (384 dim). "
        f"Run bankml reindex --model {BGE} to switch models.\n"
    )
    assert model_hub.requests == []
    done = command("reindex", "--model", BGE, "--json", *base)
    assert done.status == 0, done.err
    assert json.loads(done.out)["model"] == BGE
    assert NOTICE.format(BGE) in done.err.decode()
    assert recorded(Path(base[1])) == (BGE, "384")


def test_offline_init_records_the_name_and_the_pull_binds_it(here, model_hub, base, monkeypatch) -> None:
    monkeypatch.setenv("BANKML_SKIP_MODEL_DOWNLOAD", "1")
    done = here("init", "--model", f"BAAI/{BGE}", *base)
    assert (done.status, b"forbids its download" in done.err) == (0, True)
    assert recorded(Path(base[1])) == (BGE, None)
    monkeypatch.delenv("BANKML_SKIP_MODEL_DOWNLOAD")
    assert here("init", *base).status == 0
    assert recorded(Path(base[1])) == (BGE, "384")
