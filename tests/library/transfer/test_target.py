"""An export costs nobody the file that is there."""

import os
import shutil
from pathlib import Path

import pytest

from bankml.errors import InputError
from bankml.library.transfer.exporting import Moved, export
from bankml.library.transfer.target import BESIDE, check
from bankml.store import Store


@pytest.fixture
def kb(tmp_path: Path) -> Path:
    path = tmp_path / "kb.db"
    Store.create(path).close()
    return path


@pytest.mark.parametrize("force", [False, True])
def test_the_store_and_what_belongs_to_it_are_never_written_over(kb: Path, force: bool, monkeypatch) -> None:
    monkeypatch.chdir(kb.parent)
    Path("link.db").symlink_to(kb)
    os.link(kb, "second name.db")
    Path("folder").symlink_to(".")
    for name in ("kb.db", "./kb.db", "link.db", "second name.db", "folder/kb.db", *(f"kb.db{end}" for end in BESIDE)):
        with pytest.raises(InputError, match="is the knowledge base itself"):
            check(Path(name), kb, force)
    with pytest.raises(InputError, match="is the knowledge base itself"):
        check(kb, Path("link.db"), force)


@pytest.mark.parametrize("force", [False, True])
def test_neither_is_another_database_a_folder_or_a_pipe(kb: Path, tmp_path: Path, force: bool) -> None:
    other, pipe = tmp_path / "other.db", tmp_path / "pipe"
    shutil.copy(kb, other)
    os.mkfifo(pipe)
    for path, said in ((other, "is a database"), (tmp_path, "is a folder"), (pipe, "is no regular file")):
        with pytest.raises(InputError, match=said):
            check(path, kb, force)


def test_another_file_is_when_that_is_meant(kb: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes.md"
    notes.write_text("# Mine\n")
    with pytest.raises(InputError, match="is there and no export: name another file, or give --force"):
        check(notes, kb)
    check(notes, kb, overwrite=True)


def test_an_earlier_export_an_empty_file_and_a_new_one_are_free(kb: Path, tmp_path: Path) -> None:
    file = tmp_path / "kb.jsonl"
    check(file, kb)
    file.touch()
    check(file, kb)
    with Store.open(kb) as store:
        file.write_bytes(b"".join(export(store, Moved())))
    check(file, kb)
    check(tmp_path / "no folder" / "kb.jsonl", kb)
