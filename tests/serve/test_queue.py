"""Which texts a pass takes, and in which order jobs are served."""

import asyncio
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankml.encoder import Encoder, Tokens
from bankml.serve.job import URGENT, Job
from bankml.serve.queue import BUDGET, Queue


@pytest.fixture(scope="module")
def encoders(tiny):
    with Encoder(tiny, threads=1) as first, Encoder(tiny, threads=1) as second:
        yield first, second


def job(encoder: Encoder, *lengths: int) -> Job:
    starts = np.cumsum([0, *lengths], dtype=np.int32)
    return Job(encoder, Tokens(np.zeros(starts[-1], np.int32), starts, np.zeros(len(lengths), np.bool_)))


def scene(play: Callable[[], None]) -> None:
    """Jobs belong to an event loop."""

    async def on_a_loop() -> None:
        play()

    asyncio.run(on_a_loop())


def drained(queue: Queue, urgent: bool) -> list[list[tuple[Job, int, int]]]:
    passes = []
    while queue.has(urgent):
        passes.append([(share.job, share.first, share.last) for share in queue.take(urgent).shares])
    return passes


@settings(max_examples=200)
@given(st.lists(st.lists(st.integers(1, 1500), min_size=1, max_size=12), max_size=12))
def test_every_text_once_in_order_within_the_budget(encoders, requests):
    def play() -> None:
        queue, jobs = Queue(), [job(encoders[0], *lengths) for lengths in requests]
        for one in jobs:
            queue.add(one)
        assert queue.tokens == sum(map(sum, requests))
        taken: dict[int, list[int]] = {id(one): [] for one in jobs}
        for urgent in (True, False):
            for shares in drained(queue, urgent):
                tokens = sum(int(one.tokens.starts[last] - one.tokens.starts[first]) for one, first, last in shares)
                texts = sum(last - first for _, first, last in shares)
                assert tokens <= BUDGET[urgent] or texts == 1
                for one, first, last in shares:
                    assert one.urgent == urgent == (one.size <= URGENT)
                    taken[id(one)] += range(first, last)
        assert all(taken[id(one)] == list(range(len(one.tokens))) for one in jobs)
        assert queue.tokens == 0

    scene(play)


def test_requests_share_a_pass(encoders):
    def play() -> None:
        queue = Queue()
        for _ in range(40):
            queue.add(job(encoders[0], 15))
        sizes = [len(shares) for shares in drained(queue, True)]
        assert sizes == [34, 6]  # 34 · 15 = 510 of 512 tokens

    scene(play)


def test_what_does_not_fit_leaves_its_room_to_later_ones(encoders):
    def play() -> None:
        queue, large, small = Queue(), job(encoders[0], 700, 700), job(encoders[0], 300, 1200)
        queue.add(large)
        queue.add(small)
        assert drained(queue, False) == [[(large, 0, 1), (small, 0, 1)], [(large, 1, 2)], [(small, 1, 2)]]

    scene(play)


def test_a_pass_is_of_one_model(encoders):
    def play() -> None:
        queue, jobs = Queue(), [job(encoders[k % 2], 15) for k in range(4)]
        for one in jobs:
            queue.add(one)
        assert [[one for one, _, _ in shares] for shares in drained(queue, True)] == [jobs[::2], jobs[1::2]]

    scene(play)


def test_a_small_job_overtakes_a_large_one_and_equal_ones_do_not(encoders):
    def play() -> None:
        queue = Queue()
        large, small, equal = job(encoders[0], *[500] * 100), job(encoders[0], 600), job(encoders[0], 600)
        for one in (large, small, equal):
            queue.add(one)
        order = [shares[0][0] for shares in drained(queue, False)]
        assert order[:3] == [small, equal, large]

    scene(play)


def test_a_large_job_does_not_starve(encoders):
    """It is overtaken by no more tokens than it has itself, and by those in the pass that was being made."""

    def play() -> None:
        queue, large = Queue(), job(encoders[0], *[1000] * 10)
        queue.add(large)
        served = []
        while large not in served:
            queue.add(job(encoders[0], 1000))
            served.append(queue.take(False).shares[0].job)
        assert len(served) <= 11

    scene(play)


def test_a_job_that_was_removed_is_gone(encoders):
    def play() -> None:
        queue, gone, stays = Queue(), job(encoders[0], 15), job(encoders[0], 15)
        for one in (gone, stays):
            queue.add(one)
        queue.remove(gone)
        queue.remove(gone)
        assert drained(queue, True) == [[(stays, 0, 1)]]
        queue.remove(stays)

    scene(play)
