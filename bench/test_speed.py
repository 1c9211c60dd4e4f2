"""Every case of cases.py: bankml and its peers take turns, with the machine's peak measured between them.

Each engine lives in a process of its own, so that none's threads or memory touch another's; pytest-benchmark's
clock is the time that bankml's process measured inside itself.
"""

import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench import cases, peak
from bench.cases import CASES, Case
from bench.engines import ENGINES, PEERS
from bench.worker import Turn, Worker

LEAST_COSINE = {"llama.cpp": 0.99, "ONNX Runtime f32": 0.9999, "ONNX Runtime int8": 0.9}  # of a peer's vector to ours
PAUSE = 0.05  # seconds: an engine's threads go on spinning for a while after a call


class Clock:
    """pytest-benchmark's timer: moves only while bankml computes."""

    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


clock = Clock()


Workers = dict[str, Worker]  # by the engine's name, bankml first


@dataclass
class Rounds:
    """What happened so far in a case."""

    workers: Workers
    case: Case
    threads: int
    turns: dict[str, list[Turn]] = field(default_factory=lambda: {name: [] for name in ENGINES})
    peaks: list[float] = field(default_factory=list)

    def others(self) -> None:
        """The machine's peak, then each peer's turn."""
        time.sleep(PAUSE)
        self.peaks.append(max((peak.flops(name, self.threads) for name in peak.levels()), default=0.0))
        for name in PEERS:
            self.turns[name].append(self.workers[name].turn(self.case.repeats))
            time.sleep(PAUSE)

    def own(self) -> None:
        """bankml's turn."""
        self.turns["bankml"].append(self.workers["bankml"].turn(self.case.repeats))
        clock.seconds += statistics.median(self.turns["bankml"][-1].seconds)


@pytest.fixture(scope="module", params=dict.fromkeys(case.model for case in CASES), ids=lambda model: model.name)
def workers(request: pytest.FixtureRequest) -> Iterator[Workers]:
    """All engines with the model loaded."""
    path = str(request.param.path())
    with ExitStack() as stack:
        yield {name: stack.enter_context(Worker(name, path)) for name in ENGINES}


@pytest.mark.benchmark(timer=clock)
@pytest.mark.parametrize(("workers", "case"), [(case.model, case) for case in CASES], indirect=["workers"], ids=str)
def test_speed(benchmark: BenchmarkFixture, workers: Workers, case: Case, threads: int) -> None:
    rounds = Rounds(workers, case, threads)
    texts = case.model.texts(case.lengths)
    settings = {name: worker.prepare(texts) for name, worker in workers.items()}
    workers["bankml"].turn()
    benchmark.pedantic(rounds.own, setup=rounds.others, rounds=case.rounds)  # type: ignore[no-untyped-call]
    benchmark.extra_info |= {"settings": settings, **figures(rounds)}
    for name, found in benchmark.extra_info["cosines"].items():  # all did the same work
        assert found > LEAST_COSINE[name], f"{name}: cosine {found}"


def figures(rounds: Rounds) -> dict[str, object]:
    """What report.py needs: medians of the rounds, tokens per second, memory in bytes."""
    case, model = rounds.case, rounds.case.model
    return {
        "model": model.name,
        "case": case.name,
        "tokens": case.tokens,
        "rounds": case.rounds,
        "repeats": case.repeats,
        "seconds": {name: seconds(turns) for name, turns in rounds.turns.items()},
        "cpu_seconds": {name: cpu(turns) for name, turns in rounds.turns.items()},
        "operations": cases.operations(model.path(), case.lengths),
        "peak_operations_per_second": statistics.median(rounds.peaks),
        "layer_bytes": cases.layer_bytes(model.path()),
        "resident_bytes": {name: resident(turns) for name, turns in rounds.turns.items()},
        "cosines": {name: cosine(rounds.workers, name) for name in PEERS},
    }


def seconds(turns: list[Turn]) -> float:
    """Of one call: the median of the turns' medians."""
    return statistics.median(statistics.median(turn.seconds) for turn in turns)


def cpu(turns: list[Turn]) -> float:
    """CPU seconds of one call, all threads: the median of the turns' means."""
    return statistics.median(turn.cpu / len(turn.seconds) for turn in turns)


def resident(turns: list[Turn]) -> int:
    """RssAnon + RssFile, the most after any turn."""
    return max(turn.resident.total for turn in turns)


def cosine(workers: Workers, peer: str) -> float:
    """Between bankml's and a peer's vector of the last text."""
    pairs = zip(workers["bankml"].last_vector(), workers[peer].last_vector(), strict=True)
    return sum(a * b for a, b in pairs)
