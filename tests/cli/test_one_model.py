"""One model for one store, over the real commands."""

import os
from pathlib import Path

import numpy as np
import pytest

from bankml import Encoder
from bankml.embedders import choose
from bankml.library.model.fingerprint import fingerprint
from bankml.store import Store

MINILM = "all-MiniLM-L6-v2"
TEXT = "The heater of the greenhouse runs at night."


@pytest.fixture
def document(tmp_path: Path) -> str:
    path = tmp_path / "texts" / "doc.txt"
    path.parent.mkdir()
    path.write_text(TEXT)
    return str(path)


@pytest.fixture
def base(here, tmp_path: Path, stocked_home: Path) -> Path:
    """A store that `bankml init` made."""
    path = tmp_path / "base" / "kb.db"
    assert here("init", "--db", str(path)).status == 0
    return path


def configure(base: Path, text: str) -> None:
    (base.parent / "config.yaml").write_text(text)


def whole(base: Path) -> list[str]:
    """All that the store holds."""
    with Store.open(base) as store, store.reading() as db:
        return list(db.iterdump())


def vectors(base: Path) -> list[tuple[str, bytes]]:
    with Store.open(base) as store, store.reading() as db:
        return list(db.execute("SELECT fingerprint, vector FROM chunks_vec"))


@pytest.mark.parametrize("command", ["add", "search"])
def test_model_mismatch_where_config_yaml_says_another(here, base: Path, document: str, command: str) -> None:
    assert here("add", "--db", str(base), document).status == 0
    configure(base, "model: nomic-embed-text\n")
    before = whole(base)
    Path(document).write_text("changed")
    sentence = (
        f"Model mismatch: DB uses '{MINILM}' (384 dim) but config specifies 'nomic-embed-text' (768 dim). "
        "Run bankml reindex --model nomic-embed-text to switch models."
    )
    done = here(command, "--db", str(base), document)
    assert (done.status, done.out, done.err.decode()) == (1, b"", f"bankml: {sentence}\n")
    done = here(command, "--db", str(base), "--json", document)
    assert (done.status, done.out.lines) == (1, [{"error": sentence}])
    assert whole(base) == before


@pytest.mark.parametrize("command", ["add", "search"])
def test_model_mismatch_where_the_environment_says_another(
    here, base: Path, document: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = whole(base)
    monkeypatch.setenv("BANKML_EMBED_MODEL", "e5-small")
    done = here(command, "--db", str(base), document)
    assert done.status == 1
    assert b"but BANKML_EMBED_MODEL specifies 'e5-small' (384 dim)" in done.err
    assert b"or unset BANKML_EMBED_MODEL" in done.err
    assert whole(base) == before


@pytest.mark.parametrize("name", [MINILM, "all-minilm", "sentence-transformers/all-MiniLM-L6-v2"])
def test_model_match_on_add(here, base: Path, document: str, name: str) -> None:
    configure(base, f"model: {name}\n")
    done = here("add", "--db", str(base), "--json", document)
    assert (done.status, done.out.lines[0]["added"]) == (0, 1)
    ours = choose(name="minilm")
    ((mark, vector),) = vectors(base)
    assert mark == fingerprint(ours)
    assert np.abs(np.frombuffer(vector, np.float32) - ours.embed([TEXT])[0]).max() < 1e-6
    ours.close()


def test_each_prefix_is_put_before_its_own_side_only(here, base: Path, document: str, encoder: Encoder) -> None:
    configure(base, "query_prefix: 'find this: '\ndocument_prefix: 'a text: '\n")
    assert here("add", "--db", str(base), document).status == 0
    query = "what warms the plants"
    done = here("search", "--db", str(base), "--json", "--mode", "meaning", query)
    (hit,) = done.out.lines[0]["results"]
    passage, asked, plain = encoder.encode([f"a text: {TEXT}", f"find this: {query}", query])
    assert abs(hit["cosine"] - float(passage @ asked)) < 1e-5
    assert abs(float(passage @ plain) - float(passage @ asked)) > 1e-3


def test_vectors_of_another_prefix_are_left_out_and_counted(here, base: Path, document: str) -> None:
    """A change of the recipe is no mismatch: words find what the meaning leaves out, until `reindex`."""
    here("add", "--db", str(base), document)
    configure(base, "query_prefix: 'find this: '\n")
    (facts,) = here("init", "--status", "--json", "--db", str(base)).out.lines
    assert (facts["embedded"], facts["foreign_vectors"], facts["model_error"]) == (0, 1, None)
    (hit,) = here("search", "--db", str(base), "--json", "greenhouse").out.lines[0]["results"]
    assert (hit["words_rank"], hit["meaning_rank"]) == (1, None)
    assert here("reindex", "--db", str(base)).status == 0
    (facts,) = here("init", "--status", "--json", "--db", str(base)).out.lines
    assert (facts["embedded"], facts["foreign_vectors"]) == (1, 0)


def test_words_work_without_the_model_and_add_binds_it_once_it_is_here(
    here, tmp_path: Path, document: str, minilm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = tmp_path / "kb.db"
    monkeypatch.setenv("BANKML_SKIP_MODEL_DOWNLOAD", "1")
    assert here("init", "--db", str(base)).status == 0
    assert here("add", "--db", str(base), document).status == 0
    (hit,) = here("search", "--db", str(base), "--json", "greenhouse").out.lines[0]["results"]
    assert (hit["words_rank"], hit["meaning_rank"]) == (1, None)
    assert vectors(base) == []
    models = Path(os.environ["BANKML_HOME"]) / "models"
    models.mkdir(parents=True, exist_ok=True)
    (models / minilm.name).symlink_to(minilm)
    assert here("add", "--db", str(base), document).status == 0
    assert len(vectors(base)) == 1
    (facts,) = here("init", "--status", "--json", "--db", str(base)).out.lines
    assert (facts["bound"], facts["model"], facts["coverage"]) == (True, MINILM, 1.0)
