"""Texts of several jobs in one pass."""

import asyncio

import pytest

from bankml.encoder import Encoder
from bankml.serve.job import Job
from bankml.serve.passes import Pass, Share
from oracle import seeded


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """A model that takes more than 50 ms for a layer of the documents below: then it is asked what is unwanted."""
    path = seeded.tiny(tmp_path_factory.mktemp("passes") / "wide.gguf", hidden=384, heads=12, ffn=1536, layers=3)
    with Encoder(path) as encoder:
        yield encoder


def jobs(encoder: Encoder, *requests: list[str]) -> list[Job]:
    return [Job(encoder, encoder.tokens(texts)) for texts in requests]


def test_rows_and_blame_go_to_the_right_job(encoder):
    async def scene() -> None:
        first, second, third = jobs(encoder, ["a", "b", "c"], ["sky"], ["why", "blue"])
        taken = Pass([Share(first, 1, 3), Share(second, 0, 1), Share(third, 0, 2)], urgent=True)
        assert (taken.texts, taken.tokens) == (5, int(first.tokens.counts[1:].sum() + second.size + third.size))
        assert [taken.blamed(index) for index in (0, 1, 2, 3, 4, 5, None)] == [
            (first, 1), (first, 2), (second, 0), (third, 0), (third, 1), None, None
        ]  # fmt: skip
        assert taken.without(second).shares == [taken.shares[0], taken.shares[2]]
        taken.deliver(taken.encode())
        await asyncio.gather(second.answer, third.answer)
        assert not first.answer.done()  # its first text is still to come
        Pass([Share(first, 0, 1)], urgent=True).deliver(encoder.encode(["a"], normalize=False))
        await first.answer
        for job, texts in ((first, ["a", "b", "c"]), (second, ["sky"]), (third, ["why", "blue"])):
            assert job.rows.tobytes() == encoder.encode(texts, normalize=False).tobytes()

    asyncio.run(scene())


def test_texts_of_a_job_that_is_gone_leave_the_pass(encoder):
    async def scene() -> None:
        documents = ["why is the sky blue " * 100] * 20
        stays, gone = jobs(encoder, documents, documents)
        gone.gone = True
        taken = Pass([Share(gone, 0, 20), Share(stays, 0, 20)], urgent=False)
        assert taken.unwanted() == list(range(20))
        rows = taken.encode()
        assert not rows[:20].any()
        assert rows[20:].tobytes() == encoder.encode(documents, normalize=False).tobytes()

    asyncio.run(scene())


def test_nobody_is_given_the_rows_of_a_job_that_is_gone(encoder):
    async def scene() -> None:
        documents = ["why is the sky blue " * 100] * 20
        (job,) = jobs(encoder, documents)
        job.end(RuntimeError("given up"))
        taken = Pass([Share(job, 0, 20)], urgent=False)
        taken.deliver(taken.encode())
        assert str(await job.answer) == "given up"

    asyncio.run(scene())
