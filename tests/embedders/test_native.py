"""The engine in this process as an embedder: loaded late, dropped early, one call at a time, never without memory."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from bankml import Encoder
from bankml.available import Available
from bankml.durations import FOREVER
from bankml.embedders import NativeEmbedder
from bankml.errors import BusyError, CancelledError, InputError, NotFiniteError, UnavailableError
from bankml.models import choose
from bankml.room import Room
from oracle import seeded

SECOND = 10**9
TEXTS = ["how fast is it", "", "the sky is blue " * 40]


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return seeded.tiny(tmp_path / "tiny.gguf")


def embedder(path: Path, keep_alive: int = FOREVER, **options: object) -> NativeEmbedder:
    return NativeEmbedder(choose(path), keep_alive, **options)


def until(condition, seconds: float = 20) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.005)
    return condition()


def test_vectors_are_the_encoders_at_unit_length(minilm: Path, encoder: Encoder) -> None:
    ours = embedder(minilm)
    found = ours.embed(TEXTS)
    assert found.dtype == np.float32
    assert found.flags.c_contiguous
    assert found.shape == (3, 384)
    assert np.abs(found - encoder.encode(TEXTS)).max() < 1e-6
    assert np.abs(np.linalg.norm(found.astype(np.float64), axis=1) - 1).max() < 1e-6
    assert ours.embed([]).shape == (0, 384)
    assert (ours.provider, ours.dims, ours.digest) == ("native", 384, encoder.digest)
    assert ours.engine.startswith("bankml ")
    ours.close()


def test_a_vector_is_the_same_whatever_is_embedded_with_it(tiny: Path) -> None:
    ours = embedder(tiny)
    assert np.array_equal(ours.embed(TEXTS), np.concatenate([ours.embed([text]) for text in TEXTS]))


def test_it_is_loaded_when_it_is_used_and_dropped_after(tiny: Path) -> None:
    ours = embedder(tiny, SECOND // 20)
    assert not ours.loaded
    assert ours.embed([]).shape == (0, 64)
    assert not ours.loaded
    first = ours.embed(["sky"])
    assert until(lambda: not ours.loaded)
    assert np.array_equal(ours.embed(["sky"]), first)
    assert until(lambda: not ours.loaded)


def test_it_stays_while_it_is_used(tiny: Path) -> None:
    ours = embedder(tiny, SECOND // 50)
    with ours._kept.held() as held:
        ours.embed(["a query"], query=True)
        time.sleep(0.1)
        assert ours.loaded
        held.encode(["still there"])
    assert until(lambda: not ours.loaded)


def test_another_call_is_refused_at_once_or_waits(tiny: Path) -> None:
    ours, started, go = embedder(tiny), threading.Event(), threading.Event()

    def hold() -> bool:
        started.set()
        go.wait(20)
        return False

    # `cancelled` is asked in the middle of the call, so the call stands still there
    thread = threading.Thread(target=lambda: ours.embed(["word " * 400] * 50, cancelled=hold))
    thread.start()
    assert started.wait(20)
    with pytest.raises(BusyError, match="busy"):
        ours.embed(["another"], block=False)
    with pytest.raises(CancelledError):
        ours.embed(["another"], cancelled=lambda: True)
    go.set()
    assert ours.embed(["another"]).shape == (1, 64)
    thread.join()


def test_a_query_is_not_behind_documents(tiny: Path) -> None:
    """It overtakes a call of documents that goes on for as long as the query has no answer."""
    ours, started, answered = embedder(tiny), threading.Event(), threading.Event()
    ours.embed(["loaded"])

    def documents() -> None:
        while not answered.is_set():
            started.set()
            ours.embed(["word " * 400] * 20)

    thread = threading.Thread(target=documents)
    thread.start()
    assert started.wait(20)
    try:
        for _ in range(20):
            assert ours.embed(["a query"], query=True, block=False).shape == (1, 64)
    finally:
        answered.set()
        thread.join()


def test_who_gives_up_is_let_go(tiny: Path) -> None:
    ours, end = embedder(tiny), time.monotonic() + 0.1
    with pytest.raises(CancelledError):
        ours.embed(["word " * 400] * 5000, cancelled=lambda: time.monotonic() > end)
    assert ours.embed(["next"]).shape == (1, 64)


def test_there_must_be_memory_unless_it_is_there_already(tiny: Path) -> None:
    left = Available(1 << 40, "a test")
    ours = embedder(tiny, room=Room(measure=lambda: left))
    ours.embed(["loaded"])
    left = Available(1000, "a test")
    assert ours.embed(["still"]).shape == (1, 64)
    assert ours.status()["ready"]
    ours.close()
    with pytest.raises(UnavailableError, match=r"requires more system memory .*by a test"):
        ours.embed(["again"])
    assert not ours.status()["ready"]
    assert "system memory" in ours.status()["why"]


@pytest.mark.parametrize(("stated", "ready"), [(0, True), (999, True), (1001, False)])
def test_what_it_needs_may_be_stated(tiny: Path, stated: int, ready: bool) -> None:
    room = Room(stated=stated, measure=lambda: Available(1000, "a test"))
    assert embedder(tiny, room=room).status()["ready"] is ready


def test_an_encoder_that_is_loaded_already_is_shared_and_never_dropped(tiny: Path) -> None:
    with Encoder(tiny) as theirs:
        ours = embedder(tiny, 0, room=Room(measure=lambda: Available(0, "a test")), encoder=theirs)
        assert ours.loaded
        assert ours.status()["ready"]
        assert np.abs(ours.embed(TEXTS) - theirs.encode(TEXTS)).max() < 1e-6
        ours.close()
        theirs.encode(["still open"])
    with pytest.raises(UnavailableError, match="closed"):
        ours.embed(TEXTS)


def test_another_file_in_its_place_is_not_loaded(tiny: Path) -> None:
    ours = embedder(tiny)
    digest = ours.digest
    ours.embed(["first"])
    ours.close()
    seeded.tiny(tiny, seed=1)
    with pytest.raises(UnavailableError, match=f"not {digest}"):
        ours.embed(["second"])


def test_what_is_no_text(tiny: Path) -> None:
    ours = embedder(tiny)
    with pytest.raises(InputError, match="pass a list"):
        ours.embed("one text")
    with pytest.raises(InputError, match="text 1") as error:
        ours.embed(["a", 5])
    assert error.value.index == 1
    assert ours.embed(["\ud800", "\0"]).shape == (2, 64)


def test_a_text_without_a_vector_is_named(tmp_path: Path, overflowing) -> None:
    ours = embedder(overflowing(tmp_path / "over.gguf", "word"))
    with pytest.raises(NotFiniteError) as error:
        ours.embed(["fine", "word"])
    assert error.value.index == 1
    assert ours.embed(["fine"]).shape == (1, 64)


def test_status_loads_nothing(tiny: Path) -> None:
    found = embedder(tiny).status()
    assert found["loaded"] is False
    assert found["ready"] is True
    assert found["why"] == ""
    assert (found["model"], found["dims"], found["provider"]) == ("tiny", 64, "native")
    assert found["bytes"] == tiny.stat().st_size
    assert found["digest"] is None  # not even the file was read
    assert (found["licence"], found["open"]) == ("unknown", False)
    assert "--allow-licence 'unknown'" in found["notes"][0]


def test_a_file_that_is_gone(tiny: Path) -> None:
    ours = embedder(tiny)
    tiny.unlink()
    found = ours.status()
    assert (found["ready"], found["digest"]) == (False, None)
    with pytest.raises(UnavailableError, match="is gone: pull tiny again"):
        ours.embed(["a"])


def test_a_file_that_is_written_to_while_it_is_used(tiny: Path) -> None:
    ours = embedder(tiny)
    ours.embed(["a"])
    with tiny.open("r+b") as file:
        file.truncate(tiny.stat().st_size // 2)
    with pytest.raises(UnavailableError):
        ours.embed(["b " * 300])
    assert not ours.loaded


MEMORY = """
import sys, time
from bench import resident
from bankml.embedders import choose
ours = choose(name=sys.argv[1])
def use():
    ours.embed(["word " * 400] * 2)
    ours.embed(["a query"], query=True)
    held = resident.now()
    while ours.loaded:
        time.sleep(0.02)
    return held
use()  # what Python and the engine keep for ever is there now
before = resident.now()
held = use()
after = resident.now()
print(held.anon - before.anon, held.file - before.file, after.anon - before.anon, after.file - before.file)
"""


def test_its_memory_comes_back(minilm: Path) -> None:
    """The layers' 21 MB and what a pass needs; seen from outside, as a person would."""
    env = os.environ | {"BANKML_EMBED_KEEP_ALIVE": "20ms"}
    done = subprocess.run([sys.executable, "-c", MEMORY, minilm], env=env, capture_output=True, text=True, check=True)
    held_anon, held_file, anon, file = map(int, done.stdout.split())
    assert held_anon + held_file > 20e6
    assert anon < 6e6
    assert file < 3e6
