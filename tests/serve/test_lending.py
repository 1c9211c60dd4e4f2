"""The server's encoders in the hands of threads: one of each model, of the right file, until the server ends."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from bankml import models
from bankml.available import Available
from bankml.embedders import NativeEmbedder
from bankml.errors import BusyError, UnavailableError
from bankml.room import Room
from bankml.serve.engines import Engines
from bankml.serve.lending import Lender
from oracle import seeded

SECOND = 10**9


@contextmanager
def lending(room: Room | None = None, keep_alive: int = 300 * SECOND) -> Iterator[tuple[Lender, Engines]]:
    """A lender whose engines belong to a loop in a thread of its own, as in a server."""
    lender, engines, opened, end = Lender(), Engines(keep_alive, 1, room=room), threading.Event(), None

    async def serve() -> None:
        nonlocal end
        end, loop = asyncio.Event(), asyncio.get_running_loop()
        lender.open(engines)
        stop.append(lambda: loop.call_soon_threadsafe(end.set))
        opened.set()
        await end.wait()
        engines.close()

    stop: list = []
    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    opened.wait(20)
    try:
        yield lender, engines
    finally:
        stop[0]()
        thread.join(20)


def test_one_encoder_serves_all_who_embed(tiny):
    choice = models.choose(str(tiny))
    with lending() as (lender, engines):
        first, second = (NativeEmbedder(choice).borrow(lender) for _ in range(2))
        assert not first.loaded
        ours = first.embed(["sky"], query=True)
        assert np.array_equal(second.embed(["sky"], query=True), ours)
        assert (first.loaded, second.loaded, len(engines.loaded())) == (True, True, 1)
    with NativeEmbedder(choice)._held(True) as own:
        assert np.array_equal(own.encode(["sky"]), ours)


def test_it_goes_when_nobody_used_it_for_a_while_and_comes_back(tiny):
    with lending(keep_alive=0) as (lender, engines):
        ours = NativeEmbedder(models.choose(str(tiny))).borrow(lender)
        for _ in range(2):
            assert ours.embed(["sky"]).shape == (1, 64)
            deadline = threading.Event()
            while engines.loaded() and not deadline.wait(0.01):
                pass
            assert not ours.loaded


def test_a_file_that_was_replaced_by_another_model_gives_no_vectors(tmp_path):
    path = seeded.tiny(tmp_path / "a.gguf")
    with lending() as (lender, _):
        ours = NativeEmbedder(models.choose(str(path))).borrow(lender)
        ours.embed(["sky"])
        other = seeded.tiny(tmp_path / "b.gguf", seed=2)
        other.replace(path)
        with pytest.raises(UnavailableError, match="sha256"):
            ours.embed(["sky"])


def test_what_the_engines_refuse_is_a_sentence(tiny, tmp_path):
    with lending(Room(measure=lambda: Available(1000, "a test"))) as (lender, _):
        ours = NativeEmbedder(models.choose(str(tiny))).borrow(lender)
        with pytest.raises(UnavailableError, match="requires more system memory"):
            ours.embed(["sky"])


def test_who_waits_for_a_server_gets_its_model_when_it_starts_and_an_error_when_it_ended(tiny):
    choice, found = models.choose(str(tiny)), []
    lender = Lender()
    thread = threading.Thread(target=lambda: found.append(NativeEmbedder(choice).borrow(lender).embed(["sky"])))
    thread.start()

    async def serve() -> None:
        engines = Engines(SECOND, 1)
        lender.open(engines)
        await asyncio.to_thread(thread.join, 20)
        engines.close()

    asyncio.run(serve())
    assert found[0].shape == (1, 64)
    with pytest.raises(BusyError, match="ending"):
        NativeEmbedder(choice).borrow(lender).embed(["sky"])
