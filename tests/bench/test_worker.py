"""An engine in its own process: the same vectors, times and memory in every turn, and an error when it ends."""

from pathlib import Path

import numpy as np
import pytest

from bankml import Encoder
from bench.worker import Worker
from oracle import seeded

IDS = [[2, 7, 9, 3], [2, 11, 3]]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return seeded.tiny(tmp_path_factory.mktemp("worker") / "tiny.gguf")


def test_a_turn_is_the_engines_work(tiny: Path) -> None:
    with Worker("bankml", str(tiny)) as worker:
        assert "threads" in worker.prepare(IDS)
        turn = worker.turn(repeats=3)
        last = worker.last_vector()
    assert len(turn.seconds) == 3
    assert all(0 < seconds < 1 for seconds in turn.seconds)
    assert 10e6 < turn.resident.total <= turn.resident.peak < 200e6
    np.testing.assert_allclose(last, Encoder(tiny).encode_ids(IDS)[-1], rtol=1e-6)


def test_llama_cpp_is_fed_the_same(tiny: Path) -> None:
    pytest.importorskip("llama_cpp")
    with Worker("bankml", str(tiny)) as ours, Worker("llama.cpp", str(tiny)) as peer:
        for ids in (IDS, IDS[:1], IDS * 20):
            ours.prepare(ids)
            assert "a pass" in peer.prepare(ids)
            ours.turn()
            peer.turn(repeats=2)
            assert np.dot(ours.last_vector(), peer.last_vector()) > 0.999


def test_an_engine_that_ends_is_an_error(tmp_path: Path) -> None:
    with Worker("bankml", str(tmp_path / "nothing.gguf")) as worker, pytest.raises(RuntimeError, match="bankml ended"):
        worker.prepare(IDS)
