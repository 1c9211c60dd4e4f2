"""Every case of cases.py: bankml and llama.cpp take turns, with the machine's peak measured between them.

Each engine lives in a process of its own, so that neither's threads or memory touch the other's; pytest-benchmark's
clock is the time that bankml's process measured inside itself.
"""

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench import cases, peak
from bench.cases import CASES, Case
from bench.worker import Turn, Worker

PAUSE = 0.05  # seconds: an engine's threads go on spinning for a while after a call


class Clock:
    """pytest-benchmark's timer: moves only while bankml computes."""

    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


clock = Clock()


@dataclass
class Pair:
    """The two engines of a model."""

    ours: Worker
    peer: Worker


@dataclass
class Rounds:
    """What happened so far in a case."""

    pair: Pair
    case: Case
    threads: int
    ours: list[Turn] = field(default_factory=list)
    peer: list[Turn] = field(default_factory=list)
    peaks: list[float] = field(default_factory=list)

    def others(self) -> None:
        """The machine's peak, then llama.cpp's turn."""
        time.sleep(PAUSE)
        self.peaks.append(max((peak.flops(name, self.threads) for name in peak.levels()), default=0.0))
        self.peer.append(self.pair.peer.turn(self.case.repeats))
        time.sleep(PAUSE)

    def own(self) -> None:
        """bankml's turn."""
        self.ours.append(self.pair.ours.turn(self.case.repeats))
        clock.seconds += statistics.median(self.ours[-1].seconds)


@pytest.fixture(scope="module", params=dict.fromkeys(case.model for case in CASES), ids=lambda model: model.name)
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    """Both engines with the model loaded."""
    path = str(request.param.path())
    with Worker("bankml", path) as ours, Worker("llama.cpp", path) as peer:
        yield Pair(ours, peer)


@pytest.mark.benchmark(timer=clock)
@pytest.mark.parametrize(("pair", "case"), [(case.model, case) for case in CASES], indirect=["pair"], ids=str)
def test_speed(benchmark: BenchmarkFixture, pair: Pair, case: Case, threads: int) -> None:
    rounds = Rounds(pair, case, threads)
    texts = case.model.texts(case.lengths)
    settings = {"bankml": pair.ours.prepare(texts), "llama.cpp": pair.peer.prepare(texts)}
    pair.ours.turn()
    benchmark.pedantic(rounds.own, setup=rounds.others, rounds=case.rounds)  # type: ignore[no-untyped-call]
    benchmark.extra_info |= {"settings": settings, **figures(rounds)}
    assert benchmark.extra_info["cosine"] > 0.999  # both did the same work


def figures(rounds: Rounds) -> dict[str, object]:
    """What report.py needs: medians of the rounds, tokens per second, memory in bytes."""
    case, model = rounds.case, rounds.case.model
    operations = cases.operations(model.path(), case.lengths)
    speeds = {name: case.tokens / seconds(turns) for name, turns in (("ours", rounds.ours), ("peer", rounds.peer))}
    return {
        "model": model.name,
        "case": case.name,
        "tokens": case.tokens,
        "rounds": case.rounds,
        "repeats": case.repeats,
        "tokens_per_second": speeds,
        "seconds": {"ours": seconds(rounds.ours), "peer": seconds(rounds.peer)},
        "cpu_seconds": {"ours": cpu(rounds.ours), "peer": cpu(rounds.peer)},
        "operations": operations,
        "peak_operations_per_second": statistics.median(rounds.peaks),
        "layer_bytes": cases.layer_bytes(model.path()),
        "resident_bytes": {"ours": resident(rounds.ours), "peer": resident(rounds.peer)},
        "cosine": cosine(rounds.pair),
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


def cosine(pair: Pair) -> float:
    """Between the two engines' vectors of the last text."""
    return sum(a * b for a, b in zip(pair.ours.last_vector(), pair.peer.last_vector(), strict=True))
