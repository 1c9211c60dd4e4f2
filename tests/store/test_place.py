"""Where the knowledge base lies."""

from pathlib import Path

import pytest

from bankml.settings import Settings
from bankml.store import place


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("BANKML_HOME", raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    return tmp_path


def test_what_is_named_is_taken(home):
    assert place(Path("~/other.db")) == home / "other.db"


def test_bankmls_home_comes_before_the_users(home, monkeypatch):
    (home / ".kb").mkdir()
    monkeypatch.setenv("BANKML_HOME", str(home / "own"))
    assert place() == home / "own" / "kb.db"


def test_a_folder_of_that_name_is_used(home):
    (home / ".kb").mkdir()
    assert place() == home / ".kb" / "kb.db"


def test_else_it_is_with_bankmls_data(home):
    assert place() == Settings.read().home / "kb.db" == home / ".local/share/bankml/kb.db"
