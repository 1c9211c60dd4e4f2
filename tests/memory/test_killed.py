"""Writers that are killed, and several at once: the store is whole, and each id that was said is there."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from bankml.library.upkeep.doctor.records import records as whole_records
from bankml.store import Store, assertions, records
from oracle import seeded
from tests.library.whole import count, faults

KILLS, EACH = 5, 8
STATEMENTS = 15  # at which a writer is killed
SEED = int(os.environ.get("KILLS_SEED", "1"))

# Forks a writer for each line that it reads: what is imported is imported once. No engine runs before the fork. A
# writer says an id when the call has returned.
PROGRAM = """
import os, signal, sys
from pathlib import Path
from bankml import models
from bankml.embedders import NativeEmbedder
from bankml.memory.draft import Draft
from bankml.memory.writing import feedback, remember, revise
from bankml.settings import Settings
from bankml.store import Store, store

def say(*words):
    os.write(1, (" ".join(words) + chr(10)).encode())

def trace(last):
    # kills this process at its statement of this number; 0: at none
    seen = 0
    def traced(statement):
        nonlocal seen
        seen += 1
        if seen == last:
            os.kill(os.getpid(), signal.SIGKILL)
    def connect(*arguments, **more):
        db = connected(*arguments, **more)
        db.set_trace_callback(traced)
        return db
    connected, store.connect = store.connect, connect
    return lambda: seen

def write(name, most):
    embedder = NativeEmbedder(models.choose(sys.argv[2]), threads=1)
    settings = Settings.read()
    with Store.create(Path(sys.argv[1])) as kb:
        last = None
        for number in range(most):
            long = "more of it. " * (number % 3 * 200)
            draft = Draft.of(f"{name} {number}", f"{number} {long}", supersedes=[last] if number % 4 == 1 else ())
            last = remember(kb, settings, draft, lambda: embedder).id
            say("wrote", last)
            revise(kb, settings, last, f"revised {number} {long}", choose=lambda: embedder)
            say("revised", last)
            feedback(kb, last, "wrong")
            say("judged", last)
            remember(kb, settings, Draft.of(f"common {number}", "the same"), lambda: embedder)

for line in sys.stdin:
    name, most, last = line.split()
    child = os.fork()
    if child == 0:
        try:
            seen = trace(int(last))
            write(name, int(most))
            say("statements", str(seen()))
            os._exit(0)
        finally:
            os._exit(1)
    say("child", str(child))
    say("ended", str(os.waitpid(child, 0)[1]))
"""


class Writers:
    """A warm process whose children write."""

    def __init__(self, *arguments):
        command = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)

    def begin(self, name, most, last=0):
        """`last`: the number of the statement of SQL that it does not live to see."""
        self._process.stdin.write(f"{name} {most} {last}\n".encode())

    def said(self):
        """What is said next: a word, and what it is about."""
        word, about = self._process.stdout.readline().decode().split()
        return word, about

    def until_ended(self):
        """All that is said until the writer has ended, and its status."""
        found = []
        while (said := self.said())[0] != "ended":
            found.append(said)
        return found, int(said[1])

    def close(self):
        self._process.communicate(timeout=60)


@pytest.fixture
def writers(tmp_path):
    """Makes them, of one store."""
    model = seeded.tiny(tmp_path / "tiny.gguf", hidden=64)
    made = []

    def make():
        made.append(Writers(tmp_path / "kb.db", model))
        return made[-1]

    yield make
    for each in made:
        each.close()


def check(path, said):
    """The store is whole, and what was said to be done is."""
    with Store.open(path) as store:
        assert faults(store) == []
        assert whole_records(store).ok
        with store.reading() as db:
            for word, record_id in said:
                assert records.find(db, record_id), (word, record_id)
                told = assertions.of(db, record_id)
                assert len(told) >= ["wrote", "revised", "judged"].index(word) + 1
                assert sum(each.valid_to is None for each in told) <= 1


def test_a_writer_that_is_killed_at_any_statement_leaves_a_whole_store(tmp_path, writers):
    writer, killed = writers(), 0
    for name in ("first", "second"):  # the first makes the store
        writer.begin(name, 2)
        (*_, (word, statements)), status = writer.until_ended()
        assert (word, status) == ("statements", 0)
    for last in random.Random(SEED).sample(range(1, int(statements)), STATEMENTS):
        writer.begin(f"killed{last}", 2, last)
        (_, *said), status = writer.until_ended()
        killed += status == signal.SIGKILL
        check(tmp_path / "kb.db", [each for each in said if each[0] != "statements"])
    assert killed > STATEMENTS * 2 // 3  # a busy machine embeds in more calls, or in fewer


def test_a_killed_writer_leaves_a_whole_store_with_all_that_it_said(tmp_path, writers):
    writer, moments, said, killed = writers(), random.Random(SEED), [], 0
    for number in range(KILLS):
        writer.begin(f"writer{number}", 1000)
        word, child = writer.said()
        assert word == "child"
        said.append(writer.said())  # it is at work
        time.sleep(moments.uniform(0, 0.2))
        os.kill(int(child), signal.SIGKILL)
        more, status = writer.until_ended()
        killed += status == signal.SIGKILL
        said += more
        check(tmp_path / "kb.db", said)
    assert killed == KILLS
    assert len(said) > 2 * KILLS


def test_several_writers_at_once_lose_nothing_and_write_the_same_once(tmp_path, writers):
    several = [writers() for _ in range(3)]
    for number, writer in enumerate(several):
        writer.begin(f"writer{number}", EACH)
    said = []
    for writer in several:
        found, status = writer.until_ended()
        assert status == 0
        said += found[1:-1]
    assert len(said) == 3 * EACH * 3
    check(tmp_path / "kb.db", said)
    with Store.open(tmp_path / "kb.db") as store:
        assert count(store, "records") == 3 * EACH + EACH
        assert count(store, "chunks") == count(store, "chunks_vec")
        with store.reading() as db:
            (most,) = db.execute("SELECT max(n) FROM (SELECT count(*) AS n FROM records GROUP BY title)").fetchone()
        assert most == 1
