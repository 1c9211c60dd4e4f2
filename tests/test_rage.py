"""A rage.py of the user's ranks instead of the built-in BM25."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from bankml.errors import InputError
from bankml.lexical import Index
from bankml.rage import MODULE, Rage, find, words

# Ranks chunks of five words by how many of the query's words they hold; imports its neighbour, as programs do.
RAGE = """
from dataclasses import dataclass
import neighbour_of_rage

@dataclass
class Doc:
    text: str
    source: str

class Index:
    def __init__(self):
        self.docs = []

    def add(self, text, source="?"):
        words = text.split()
        for start in range(0, len(words), 5):
            self.docs.append(Doc(" ".join(words[start : start + 5]), source))

    def search(self, query, k=5):
        hits = [(neighbour_of_rage.score(query, doc.text), doc) for doc in self.docs]
        return sorted(hits, key=lambda hit: -hit[0])[:k]
"""
NEIGHBOUR = "def score(query, text):\n    return float(sum(text.split().count(word) for word in query.split()))\n"
LONG = "fox " * 400  # 80 chunks


@pytest.fixture(autouse=True)
def unloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """No module of one test is found by another."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setitem(sys.modules, MODULE, sys)
    monkeypatch.delitem(sys.modules, MODULE)
    sys.modules.pop("neighbour_of_rage", None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rage.py").write_text(RAGE)
    (tmp_path / "neighbour_of_rage.py").write_text(NEIGHBOUR)
    return tmp_path


def broken(folder: Path, old: str, new: str) -> Rage:
    """With a line of rage.py changed."""
    assert old in RAGE
    (folder / "rage.py").write_text(RAGE.replace(old, new))
    return Rage(folder / "rage.py")


def ranked(index: Rage, query: str, k: int) -> list[tuple[int, float]]:
    numbers, scores = index.search(query, k)
    assert (numbers.dtype, scores.dtype) == (np.int64, np.float64)
    return list(zip(numbers.tolist(), scores.tolist(), strict=True))


def test_it_ranks_where_it_is_found(folder: Path) -> None:
    before = list(sys.path)
    index = words(f"{os.pathsep}{folder / 'none'}{os.pathsep}{folder}")
    assert sys.path == before
    index.extend(["a fox", "a dog", "fox fox and a dog"])
    assert (index.name, index.why, len(index)) == ("RAGE (rage.py, BM25)", "", 3)
    assert ranked(index, "fox", 8) == [(2, 2.0), (0, 1.0)]  # in its order, with its scores, zero scores dropped


def test_the_first_chunk_of_a_text_counts_and_others_are_asked_for(folder: Path) -> None:
    index = Rage(folder / "rage.py")
    index.extend([LONG, "a fox", "one fox more", "nothing"])
    assert ranked(index, "fox", 3) == [(0, 5.0), (1, 1.0), (2, 1.0)]
    assert ranked(index, "fox", 1) == [(0, 5.0)]
    assert ranked(index, "fox", 2**70) == [(0, 5.0), (1, 1.0), (2, 1.0)]
    assert ranked(index, "fox", 0) == []


def test_it_is_asked_however_many_are_wanted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bankml.rage.MOST", 3)
    index = Rage(folder / "rage.py")
    index.extend(["a fox"] * 5)
    for k in (2, 3, 4, 5, 2**70):
        assert [number for number, _ in ranked(index, "fox", k)] == list(range(min(k, 5)))
    index.extend([LONG])
    assert [number for number, _ in ranked(index, "fox", 6)] == [5]  # its 80 chunks are more than were asked for


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("class Index:", "raise RuntimeError('no disk')\nclass Index:", "RuntimeError: no disk"),
        ("class Index:", "import sys; sys.exit(3)\nclass Index:", "SystemExit: 3"),
        ("class Index:", "class Index(:", "SyntaxError"),
        ("class Index:", "class Other:", "AttributeError"),
        ("import neighbour_of_rage", "import a_module_of_no_name", "ModuleNotFoundError"),
        ("        self.docs = []", "        self.docs = 1 / 0", "ZeroDivisionError"),
        ("        words = text.split()", "        words = text.split()[99]", "IndexError"),
        ("        hits = [", "        raise KeyError('\\x1b[2J')\n        hits = [", "KeyError"),
        ("        return sorted", "        return None and sorted", "TypeError"),
        ("        return sorted", "        return [(1.0, Doc('', '99'))]\n        return sorted", "the source '99'"),
        ("        return sorted", "        return [(float('nan'), Doc('', '0'))]\n        return sorted", "score nan"),
        ("        return sorted", "        return [(1.0, 'fox')]\n        return sorted", "AttributeError"),
    ],
)
def test_what_fails_is_said_and_the_built_in_ranks(folder: Path, old: str, new: str, why: str) -> None:
    before, texts = list(sys.path), ["a dog", "a fox", "fox fox"]
    index = broken(folder, old, new)
    index.extend(texts)
    builtin = Index()
    builtin.extend(texts)
    numbers, scores = builtin.search("fox", 8)
    assert ranked(index, "fox", 8) == list(zip(numbers.tolist(), scores.tolist(), strict=True))
    assert index.name == "BM25 (built in)"
    assert why in index.why
    assert index.why.startswith(f"{folder / 'rage.py'} failed (")
    assert index.why.endswith("so the built-in BM25 ranks")
    assert index.why.isprintable()
    assert sys.path == before
    index.add("fox fox fox")
    assert len(index.search("fox", 8)[0]) == 3


def test_it_may_answer_without_end(folder: Path) -> None:
    index = broken(
        folder, "        return sorted", "        while True: yield 1.0, self.docs[0]\n        return sorted"
    )
    index.extend(["fox", "fox"])
    assert ranked(index, "fox", 2) == [(0, 1.0)]


def test_wrong_calls_are_the_callers(folder: Path) -> None:
    index = Rage(folder / "rage.py")
    for call in (lambda: index.search("a", -1), lambda: index.add(3), lambda: index.extend("ab")):
        with pytest.raises(InputError):
            call()
    with pytest.raises(InputError) as raised:
        index.extend(["a", 3])
    assert (raised.value.index, index.why, len(index)) == (1, "", 1)


def test_where_it_is_looked_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find(None) is None
    assert find("") is None
    assert find("~nobody-of-this-name/x") is None
    assert find(str(folder)) == folder / "rage.py"
    monkeypatch.setenv("HOME", str(folder))
    assert find(f"/nowhere{os.pathsep}~") == folder / "rage.py"
    monkeypatch.chdir(folder)
    assert find(os.pathsep) is None  # an empty name is no folder: whoever sets none runs nothing
    (folder / "rage.py").unlink()
    (folder / "rage.py").mkdir()
    assert find(str(folder)) is None
    assert words(str(folder)).name == "BM25 (built in)"
