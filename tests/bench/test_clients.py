"""The clients of bench.load against a small real server."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import clients, servers
from bench.servers import Server
from oracle import seeded


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with servers.bankml(seeded.tiny(tmp_path_factory.mktemp("tiny") / "tiny.gguf")) as server:
        yield server


def test_every_request_is_answered_once_and_counted(server: Server) -> None:
    bodies = [server.body([f"text {k}"]) for k in range(7)]
    told = server.load(bodies, clients=5, most=40)
    assert (len(told.seconds), told.refused, told.unanswered) == (40, {}, 0)
    assert 0 < min(told.seconds) <= max(told.seconds) <= told.elapsed
    assert len(json.loads(told.body)["data"][0]["embedding"]) == 64
    assert 0 < told.cpu < 1.5


def test_the_first_answer_is_that_of_the_first_body(server: Server) -> None:
    told = server.load([server.body(["a", "b", "c"]), server.body(["d"])], most=1)
    assert len(json.loads(told.body)["data"]) == 3


def test_large_answers_are_read_whole(server: Server) -> None:
    told = server.load([server.body([f"text {k}" for k in range(3000)])], most=2)
    assert len(told.seconds) == 2
    assert len(json.loads(told.body)["data"]) == 3000


def test_time_ends_it(server: Server) -> None:
    told = server.load([server.body(["a"])], clients=2, seconds=0.3)
    assert told.seconds
    assert 0.1 < told.elapsed < 20


def test_refusals_are_counted_by_status(server: Server) -> None:
    told = server.load(["{", server.body(["a"])], most=6)
    assert (told.refused, len(told.seconds)) == ({"400": 3}, 3)


def test_what_is_not_answered_in_time_is_counted(server: Server) -> None:
    told = server.load([server.body(["a " * 400] * 2000)], most=1, limit=0.2)
    assert (told.seconds, told.unanswered) == ([], 1)


def test_a_broken_connection_is_counted(unused_port: int) -> None:
    told = Server("none", unused_port, 0, "").load(["{}"], most=3)
    assert told.refused == {"0": 3}


def test_intervals_are_kept_and_a_job_ends_them(server: Server) -> None:
    told = server.load([server.body(["a"])], interval=0.1, most=4)
    assert len(told.seconds) == 4
    assert told.elapsed >= 0.35
    beside = server.load([server.body(["a"])], interval=0.05, job=server.body(["a " * 400] * 300), limit=60)
    assert beside.job is not None
    assert len(beside.seconds) <= beside.job / 0.05 + 1
    assert beside.elapsed < 60


def test_a_job_that_is_refused_is_an_error(server: Server) -> None:
    with pytest.raises(Exception, match="returned non-zero"):
        server.load([server.body(["a"])], interval=0.05, job="{", limit=10)


@pytest.fixture
def unused_port() -> int:
    return servers.free_port()


@pytest.mark.parametrize(("share", "value"), [(0.5, 2), (0.95, 4), (0.25, 1), (1.0, 4)])
def test_percentiles(share: float, value: float) -> None:
    assert clients.percentile([3, 1, 4, 2], share) == value


def test_a_percentile_of_nothing_is_for_ever() -> None:
    assert clients.percentile([], 0.5) == float("inf")


def test_resident_memory_is_that_of_the_server(server: Server) -> None:
    assert 10e6 < server.resident() < 500e6
    assert Path(f"/proc/{server.pid}/exe").exists()
