"""Searches by another process, while a store is embedded anew: each answer is of one model, the one that it names."""

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from bankml import Encoder
from bankml.embedders import choose
from bankml.library.upkeep.reindex import reindex

ROOT = Path(__file__).parents[2]
QUERY = "How fast is the third of many short texts?"
TEXTS = [f"the {number}th of many short texts" for number in range(120)]
NAMES = {"all-MiniLM-L6-v2": ("", ""), "multilingual-e5-small": ("query: ", "passage: ")}


@pytest.fixture
def truth(minilm, e5):
    """By model and text, the cosine to the query."""
    found = {}
    for (name, (query, document)), path in zip(NAMES.items(), (minilm, e5), strict=True):
        with Encoder(path) as encoder:
            vectors = encoder.encode([document + text for text in TEXTS])
            found[name] = dict(zip(TEXTS, (vectors @ encoder.encode([query + QUERY])[0]).tolist(), strict=True))
    return found


class Searching:
    """Another process that searches."""

    def __init__(self, path):
        command = [sys.executable, "-m", "tests.library.searching", str(path), QUERY]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.answers = []
        self.first = threading.Event()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            self.answers.append(json.loads(line))
            self.first.set()

    def more(self, count):
        """Waits for so many more answers."""
        wanted = len(self.answers) + count
        while len(self.answers) < wanted and self._process.poll() is None:
            self._reader.join(0.01)

    def end(self):
        self._process.stdin.close()
        self._reader.join(60)
        assert self._process.wait(60) == 0


def test_each_answer_is_of_one_model(store, put, stocked_home, truth):
    put(store, "/a", TEXTS)
    reindex(store, choose(name="all-minilm-l6-v2"))
    searching = Searching(store.path)
    try:
        assert searching.first.wait(60)
        reindex(store, choose(name="multilingual-e5-small"), lambda _: searching.more(1))
        searching.more(3)
    finally:
        searching.end()
    names = []
    for status, results in searching.answers:
        (name,) = (name for name in NAMES if name in status)
        assert f"{name} (meaning, 120 of 120 embedded)" in status
        assert len(results) == 5
        for text, cosine in results:
            assert cosine == pytest.approx(truth[name][text], abs=1e-6)
        names.append(name)
    assert names == sorted(names)  # first the one, then the other
    assert names.count("all-MiniLM-L6-v2") >= 3
    assert names.count("multilingual-e5-small") >= 1
    assert min(abs(truth["all-MiniLM-L6-v2"][text] - truth["multilingual-e5-small"][text]) for text in TEXTS) > 1e-4
