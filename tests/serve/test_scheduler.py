"""Jobs of many callers in shared passes: the same bits, each its own errors, queries first, no work for nobody."""

import asyncio
import gc
import random
import threading
import weakref
from collections.abc import Awaitable, Callable
from contextlib import suppress

import numpy as np
import pytest

from bankml.encoder import Encoder
from bankml.errors import BusyError, Error, FileChangedError, NotFiniteError
from bankml.serve.job import Job
from bankml.serve.passes import Pass
from bankml.serve.scheduler import Scheduler
from oracle import seeded

WORDS = "why is the sky blue and what does it mean to see it".split()


@pytest.fixture(scope="module")
def small(tiny):
    with Encoder(tiny) as encoder:
        yield encoder


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    """A model whose documents take seconds: 24 layers of 40 ms for 1,000 tokens."""
    path = seeded.tiny(tmp_path_factory.mktemp("slow") / "slow.gguf", hidden=512, heads=8, ffn=2048, layers=24)
    with Encoder(path) as encoder:
        yield encoder


def scene(play: Callable[[Scheduler], Awaitable[None]]) -> None:
    async def on_a_loop() -> None:
        scheduler = Scheduler()
        try:
            await play(scheduler)
        finally:
            scheduler.close()

    asyncio.run(on_a_loop())


async def encoded(scheduler: Scheduler, encoder: Encoder, texts: list[str]) -> np.ndarray:
    return encoder.shortened(await scheduler.run(Job(encoder, encoder.tokens(texts))))


def test_many_at_once_have_the_bits_of_one_alone(small):
    chance = random.Random(5)
    requests = [
        [" ".join(chance.choices(WORDS, k=chance.randint(0, 80))) for _ in range(chance.randint(0, 9))]
        for _ in range(60)
    ]

    async def play(scheduler: Scheduler) -> None:
        found = await asyncio.gather(*(encoded(scheduler, small, texts) for texts in requests))
        for texts, vectors in zip(requests, found, strict=True):
            assert vectors.tobytes() == small.encode(texts).tobytes()

    scene(play)


def test_requests_share_passes(small, monkeypatch):
    passes = []
    whole = Encoder.encode_pass

    def counted(self, ids, starts, *more):
        passes.append(len(starts) - 1)
        return whole(self, ids, starts, *more)

    monkeypatch.setattr(Encoder, "encode_pass", counted)

    async def play(scheduler: Scheduler) -> None:
        await asyncio.gather(*(encoded(scheduler, small, ["why is the sky blue"]) for _ in range(200)))
        assert sum(passes) == 200
        assert len(passes) <= 20  # the first may have found one request alone; 512 tokens are 70 of them

    scene(play)


def test_a_text_without_a_vector_fails_its_own_request_alone(tmp_path, overflowing):
    path = overflowing(tmp_path / "overflow.gguf", "sky")

    async def play(scheduler: Scheduler) -> None:
        with Encoder(path) as encoder:
            requests = [["a"], ["a", "b", "sky"], ["b"], ["sky"], ["a", "b"]] * 10
            found = await asyncio.gather(
                *(encoded(scheduler, encoder, texts) for texts in requests), return_exceptions=True
            )
            for texts, result in zip(requests, found, strict=True):
                if "sky" in texts:
                    assert isinstance(result, NotFiniteError)
                    assert result.index == texts.index("sky")
                else:
                    assert np.array_equal(result, encoder.encode(texts))

    scene(play)


def test_a_fault_of_the_model_fails_all_and_the_next_is_right(tmp_path):
    path = seeded.tiny(tmp_path / "tiny.gguf")

    async def play(scheduler: Scheduler) -> None:
        with Encoder(path) as encoder:
            before = await encoded(scheduler, encoder, ["sky"])
            path.write_bytes(path.read_bytes())
            jobs = (encoded(scheduler, encoder, ["sky"]) for _ in range(5))
            found = await asyncio.gather(*jobs, return_exceptions=True)
            assert [type(error) for error in found] == [FileChangedError] * 5
        with Encoder(path) as encoder:
            assert np.array_equal(await encoded(scheduler, encoder, ["sky"]), before)

    scene(play)


def test_a_query_overtakes_documents(slow):
    documents = [" ".join(WORDS * 60)] * 2  # of 512 tokens each: one pass of a second

    async def play(scheduler: Scheduler) -> None:
        job = asyncio.create_task(encoded(scheduler, slow, documents))
        await asyncio.sleep(0.1)
        query = await encoded(scheduler, slow, ["why"])
        assert not job.done()
        assert query.tobytes() == slow.encode_full(["why"], urgent=True).vectors.tobytes()
        assert not job.done()
        assert (await job).tobytes() == slow.encode(documents).tobytes()

    scene(play)


def test_texts_of_a_caller_that_left_are_worked_on_no_more(slow):
    documents = [" ".join(WORDS * 20)] * 120

    async def play(scheduler: Scheduler) -> None:
        others = asyncio.create_task(encoded(scheduler, slow, [" ".join(WORDS * 50)]))
        gone = asyncio.create_task(encoded(scheduler, slow, documents))
        await asyncio.sleep(0.2)
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        assert scheduler.waiting_tokens == 0
        expected = slow.encode([" ".join(WORDS * 50)])
        assert (await asyncio.wait_for(others, 20)).tobytes() == expected.tobytes()

    scene(play)


def test_ending_does_not_wait_for_the_documents(slow):
    async def play(scheduler: Scheduler) -> None:
        before = set(threading.enumerate())
        task = asyncio.create_task(encoded(scheduler, slow, [" ".join(WORDS * 20)] * 2000))
        await asyncio.sleep(0.2)
        assert len(set(threading.enumerate()) - before) == 2
        scheduler.close()
        assert set(threading.enumerate()) <= before
        for late in (task, encoded(scheduler, slow, ["why"])):
            with pytest.raises(BusyError, match="the server is ending"):
                await asyncio.wait_for(late, 5)

    scene(play)


def test_no_texts_are_no_pass(small):
    async def play(scheduler: Scheduler) -> None:
        assert (await encoded(scheduler, small, [])).shape == (0, small.dims)
        with pytest.raises(Error):
            await encoded(scheduler, small, [3])

    scene(play)


def test_a_thread_that_does_not_start_is_tried_again(small, monkeypatch):
    start, refused = threading.Thread.start, []

    def once_not(thread: threading.Thread) -> None:
        if thread.name == "documents" and not refused:
            refused.append(thread)
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", once_not)

    async def play(scheduler: Scheduler) -> None:
        with pytest.raises(RuntimeError):
            await encoded(scheduler, small, ["why"])
        for texts in (["why"], [" ".join(WORDS * 20)]):
            assert np.array_equal(await asyncio.wait_for(encoded(scheduler, small, texts), 20), small.encode(texts))

    scene(play)


@pytest.mark.parametrize("where", ["waits", "deliver", "blamed"])
def test_a_fault_anywhere_in_a_pass_is_told_and_the_next_is_right(small, monkeypatch, where):
    def broken(*arguments: object) -> None:
        raise MemoryError

    async def play(scheduler: Scheduler) -> None:
        with monkeypatch.context() as planted:
            planted.setattr(Pass, where, broken)
            if where == "blamed":
                planted.setattr(Pass, "encode", lambda self: small.encode([3]))
            with pytest.raises(MemoryError):
                await asyncio.wait_for(encoded(scheduler, small, ["why"]), 20)
        assert np.array_equal(await asyncio.wait_for(encoded(scheduler, small, ["why"]), 20), small.encode(["why"]))

    scene(play)


def test_a_failed_job_keeps_no_encoder(tmp_path):
    path = seeded.tiny(tmp_path / "tiny.gguf")

    async def play(scheduler: Scheduler) -> None:
        encoder = Encoder(path)
        kept = weakref.ref(encoder)
        path.write_bytes(path.read_bytes())
        with suppress(FileChangedError):
            await encoded(scheduler, encoder, ["sky"])
        del encoder
        for _ in range(100):
            if kept() is None:
                return
            await asyncio.sleep(0.02)  # the scheduler's thread lets go after it has told
        raise AssertionError("the encoder is kept")

    gc.disable()
    try:
        scene(play)
    finally:
        gc.enable()
