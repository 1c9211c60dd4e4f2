"""`bankml init` and its `--status`: each scenario, and that every failure is one sentence."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bankml.store import Store, config

MINILM = "all-MiniLM-L6-v2"


def recorded(path: Path) -> tuple[str | None, str | None]:
    with Store.open(path) as store, store.reading() as db:
        return config.get(db, "model_name"), config.get(db, "embedding_dim")


def test_default_init(command, stocked_home: Path) -> None:
    """Makes kb.db with the schema, and records the model's name and its dims."""
    done = command("init")
    assert done.status == 0, done.err
    assert recorded(stocked_home / "kb.db") == (MINILM, "384")
    assert b"made" in done.out
    assert b"Apache-2.0" in done.out
    again = command("init")
    assert again.status == 0
    assert b"there already, left as it is" in again.out


@pytest.mark.usefixtures("stocked_home")
def test_init_in_a_folder_of_the_users_own(here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """~/.kb/kb.db where there is a ~/.kb and no BANKML_HOME."""
    models = os.environ["BANKML_HOME"]
    monkeypatch.delenv("BANKML_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "bankml").symlink_to(models)
    (tmp_path / ".kb").mkdir()
    assert here("init").status == 0
    assert recorded(tmp_path / ".kb" / "kb.db") == (MINILM, "384")


@pytest.mark.usefixtures("stocked_home")
def test_init_with_a_custom_model(here, tmp_path: Path) -> None:
    path = tmp_path / "my.db"
    (facts,) = here("init", "--model", "multilingual-e5-small", "--db", str(path), "--json").out.lines
    assert (facts["db"], facts["created"], facts["model"], facts["dims"]) == (
        str(path),
        True,
        "multilingual-e5-small",
        384,
    )
    assert (facts["licence"], facts["open"], facts["warning"], len(facts["fingerprint"])) == ("MIT", True, None, 16)
    assert recorded(path) == ("multilingual-e5-small", "384")


def test_init_status_check(here, stocked_home: Path) -> None:
    (before,) = here("init", "--status", "--json").out.lines
    assert {"home", "db", "model", "model_present", "converters", "embedded", "chunks"} <= before.keys()
    assert (before["home"], before["db"]) == (str(stocked_home), str(stocked_home / "kb.db"))
    assert (before["folder_exists"], before["database_initialised"]) == (True, False)
    assert (before["model"], before["model_present"]) == (MINILM, True)
    assert before["converters"].keys() == {"pypdf", "markitdown", "docling"}
    assert isinstance(before["converters"]["docling"]["models"], bool)
    here("init")
    (after,) = here("init", "--status", "--json").out.lines
    assert (after["database_initialised"], after["bound"], after["dims"]) == (True, True, 384)


@pytest.mark.usefixtures("stocked_home")
def test_status_for_people(here, tmp_path: Path) -> None:
    place = ("--db", str(tmp_path / "x" / "kb.db"))
    lines = here("init", "--status", *place).out.decode().splitlines()
    assert [line.split("  ")[0] for line in lines][:4] == ["folder", "knowledge base", "model", "vectors"]
    assert "(not there)" in lines[0]
    assert "run `bankml init`" in lines[1]
    assert f"{MINILM} (default), on this machine" in lines[2]
    here("init", *place)
    (tmp_path / "x" / "config.yaml").write_text("model: e5")
    done = here("init", "--status", *place)
    assert done.status == 0
    assert done.err.startswith(b"bankml: Model mismatch: DB uses")


def test_init_without_the_model_succeeds_with_a_warning(here, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BANKML_SKIP_MODEL_DOWNLOAD", "1")
    place = ("--db", str(tmp_path / "kb.db"))
    done = here("init", *place)
    assert done.status == 0
    assert b"BANKML_SKIP_MODEL_DOWNLOAD forbids" in done.err
    assert b"words" in done.err
    assert recorded(tmp_path / "kb.db") == (MINILM, None)
    done = here("init", "--json", *place)
    assert (done.status, done.out.lines[0]["dims"]) == (0, None)
    assert "forbids" in done.out.lines[0]["warning"]
    (facts,) = here("init", "--status", "--json", *place).out.lines
    assert (facts["database_initialised"], facts["bound"], facts["model_present"]) == (True, False, False)


@pytest.mark.usefixtures("stocked_home")
def test_another_model_is_an_error(here, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    place = ("--db", str(tmp_path / "kb.db"))
    here("init", *place)
    sentence = (
        f"Model mismatch: DB uses '{MINILM}' (384 dim) but --model specifies 'bge-m3' (1024 dim). "
        "Run bankml reindex --model bge-m3 to switch models."
    )
    done = here("init", "--model", "bge-m3", *place)
    assert (done.status, done.out, done.err.decode()) == (1, b"", f"bankml: {sentence}\n")
    done = here("init", "--model", "bge-m3", "--json", *place)
    assert (done.status, done.out.lines) == (1, [{"error": sentence}])


@pytest.mark.usefixtures("stocked_home")
def test_failures_are_one_sentence(here, tmp_path: Path) -> None:
    (tmp_path / "theirs.db").write_bytes(b"no database " * 100)
    place = tmp_path / "new" / "kb.db"
    for arguments in (
        ("--model", "no such thing", "--db", str(place)),
        ("--model", " ", "--db", str(place)),
        ("--db", str(tmp_path / "theirs.db")),
        ("--db", str(tmp_path)),
        ("--db", "/proc/none/kb.db"),
    ):
        done = here("init", *arguments)
        assert (done.status, done.out) == (1, b""), arguments
        assert done.err.count(b"\n") == 1
        assert b"Traceback" not in done.err
        done = here("init", "--json", *arguments)
        assert list(done.out.lines[0]) == ["error"]
    assert not place.parent.exists()
    (tmp_path / "config.yaml").write_text("model: [")
    done = here("init", "--db", str(tmp_path / "kb.db"))
    assert (done.status, done.err.count(b"\n")) == (1, 1)
    assert not (tmp_path / "kb.db").exists()


@pytest.mark.usefixtures("stocked_home")
def test_a_path_that_is_not_utf8(command, tmp_path: Path) -> None:
    place = os.fsencode(tmp_path) + b"/\xff\n/kb.db"
    assert command("init", "--db", place).status == 0
    done = command("init", "--status", "--json", "--db", place)
    assert json.loads(done.out)["database_initialised"]


@pytest.mark.usefixtures("stocked_home")
def test_status_imports_nothing_heavy() -> None:
    """A converter is looked for, not loaded."""

    code = (
        "import sys; from bankml.cli.app import run; run(['init', '--status', '--json']); "
        "print(*{'pypdf', 'markitdown', 'docling', 'torch', 'yaml', 'gguf'} & set(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.split() == []
