"""What is gone leaves the store, and nothing else does."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bankml.library.add.ingest import Ingest
from bankml.library.add.prune import Pruned, prune
from bankml.library.add.selection import Selection
from bankml.library.model.configuration import Configuration
from bankml.store import Store
from tests.library.whole import faults, texts


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    (folder / "sub").mkdir(parents=True)
    for name in ("a.txt", "b.txt", "sub/c.txt", "sub/d.md"):
        (folder / name).write_text(f"The text of {name}.")
    return folder


@pytest.fixture
def run(store: Store, folder: Path) -> Callable[..., Pruned]:
    """Adds what is there and prunes."""

    def run(*paths: Path, **options: list[str]) -> Pruned:
        selection = Selection([str(path) for path in paths or (folder,)], store.path, **options)
        Ingest(store, None, Configuration.read(store.path)).run(selection.sources())
        return prune(store, selection.folders, selection.walk)

    return run


@pytest.fixture
def names(store: Store, folder: Path) -> Callable[[], set[str]]:
    """Of the documents in the store, below the folder."""
    return lambda: {os.path.relpath(os.fsdecode(path), folder) for path in texts(store)}


ALL = {"a.txt", "b.txt", "sub/c.txt", "sub/d.md"}


def test_what_is_gone_is_removed(run, names, folder, store):
    assert run() == Pruned()
    (folder / "a.txt").unlink()
    (folder / "sub" / "d.md").rename(folder / "d.md")
    assert run().removed == 2
    assert names() == {"b.txt", "sub/c.txt", "d.md"}
    assert faults(store) == []


def test_a_folder_that_became_a_file_held_nothing(run, names, folder):
    run()
    for path in (folder / "sub").iterdir():
        path.unlink()
    (folder / "sub").rmdir()
    (folder / "sub").write_text("A file.")
    (folder / "sub").rename(folder / "sub.txt")
    assert run().removed == 2
    assert names() == {"a.txt", "b.txt", "sub.txt"}


def test_what_lies_elsewhere_stays(run, names, folder, tmp_path):
    for name in ("documents2", "documents.old", "elsewhere"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.txt").write_text("Elsewhere.")
    run(*sorted(tmp_path.iterdir()))
    for name in ("documents2", "documents.old", "elsewhere"):
        (tmp_path / name / "x.txt").unlink()
    (folder / "a.txt").unlink()
    assert run(folder).removed == 1
    assert {name for name in names() if name.startswith("..")} == {
        "../documents2/x.txt",
        "../documents.old/x.txt",
        "../elsewhere/x.txt",
    }


def test_what_is_left_out_now_is_removed(run, names, folder):
    run()
    assert run(exclude=["*.md"]).removed == 1
    assert names() == ALL - {"sub/d.md"}
    (folder / ".ignore").write_text("b.txt\n")
    assert run().removed == 1
    assert names() == ALL - {"b.txt"}  # and d.md, which nothing leaves out any more, is there again


def test_what_is_not_asked_for_now_stays(run, names, folder):
    run()
    (folder / "a.txt").unlink()
    assert run(include=["*.md"]).removed == 1
    assert names() == ALL - {"a.txt"}


@pytest.mark.parametrize("how", ["missing", "empty", "a file"])
def test_an_unmounted_disk_empties_no_knowledge_base(run, names, folder, tmp_path, how):
    run()
    folder.rename(tmp_path / "away")
    if how == "empty":
        folder.mkdir()
    elif how == "a file":
        folder.write_text("no folder")
    pruned = run()
    assert pruned.removed == 0
    assert names() >= ALL
    if how != "a file":  # which names no folder to prune
        assert len(pruned.kept) == 1
        assert "4 documents stay" in pruned.kept[0]


def test_a_folder_that_cannot_be_listed_keeps_its_documents(run, names, folder):
    if os.geteuid() == 0:
        pytest.skip("root may list every folder")
    run()
    (folder / "sub").chmod(0)
    try:
        (folder / "a.txt").unlink()
        assert run().removed == 1
    finally:
        (folder / "sub").chmod(0o700)
    assert names() == ALL - {"a.txt"}


def test_what_could_not_be_read_keeps_its_document(store, run, names, folder):
    from bankml.library.add.prune import Walk

    run()
    walk = Walk({os.fsencode(folder / "a.txt")}, {os.fsencode(folder / "b.txt"), os.fsencode(folder / "sub")})
    assert prune(store, [folder], lambda: walk).removed == 0
    assert names() == ALL


def test_a_file_that_comes_while_others_are_removed_stays(store, run, names, folder):
    """It was not there when we looked, and another process adds it before we remove."""
    from bankml.library.add.prune import Walk

    run()
    (folder / "a.txt").unlink()

    def walk() -> Walk:
        return Walk({os.fsencode(folder / name) for name in ALL - {"a.txt"}})

    original = os.lstat
    calls = []

    def lstat(path, *rest):
        calls.append(path)
        if len(calls) == 2:  # inside the transaction
            (folder / "a.txt").write_text("Back.")
        return original(path, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bankml.library.add.prune.os.lstat", lstat)
        assert prune(store, [folder], walk).removed == 0
    assert names() == ALL


def test_names_of_any_bytes(run, store, folder):
    odd = os.fsencode(folder) + b"/\xff\n\x80.txt"
    with open(odd, "wb") as file:
        file.write(b"Odd.")
    run()
    assert texts(store)[odd] == ["Odd."]
    os.unlink(odd)
    assert run().removed == 1
    assert odd not in texts(store)
