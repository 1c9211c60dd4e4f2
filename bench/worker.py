"""An engine in a process of its own: JSON lines in, JSON lines out; nothing but the engine lies in its memory."""

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from bench.engines import ENGINES, Engine, Texts
from bench.resident import Resident, now


@dataclass(frozen=True)
class Turn:
    """One turn: wall seconds of each call, CPU seconds of all, and the process's memory afterwards."""

    seconds: list[float]
    cpu: float
    resident: Resident


class Worker:
    """The process, seen from the one that measures. Raises RuntimeError with its words when it fails."""

    def __init__(self, engine: str, path: str) -> None:
        command = [sys.executable, "-m", "bench.worker", engine, path]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.engine = engine

    def prepare(self, texts: Texts) -> str:
        """Hands over token ids; returns the settings the engine will use."""
        return str(self._ask("prepare", texts))

    def turn(self, repeats: int = 1) -> Turn:
        """Runs the prepared texts `repeats` times."""
        answer = self._ask("turn", repeats)
        return Turn(answer["seconds"], answer["cpu"], Resident(**answer["resident"]))

    def last_vector(self) -> list[float]:
        """The unit vector of the last text of the last run."""
        return list(self._ask("last_vector", None))

    def close(self) -> None:
        """Ends the process."""
        self._process.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, order: str, argument: Any) -> Any:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps([order, argument]) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{self.engine} ended with exit status {self._process.wait()}; its words stand above")
        return json.loads(answer)


def _turn(engine: Engine, repeats: int) -> dict[str, Any]:
    seconds, cpu = [], time.process_time()
    for _ in range(repeats):
        start = time.perf_counter()
        engine.run()
        seconds.append(time.perf_counter() - start)
    return {"seconds": seconds, "cpu": time.process_time() - cpu, "resident": vars(now())}


def _answer(engine: Engine, order: str, argument: Any) -> Any:
    if order == "prepare":
        return engine.prepare(argument)
    if order == "turn":
        return _turn(engine, argument)
    return engine.vectors()[-1].tolist()


def _serve(name: str, path: str) -> None:
    engine = ENGINES[name](path)
    for line in sys.stdin:
        print(json.dumps(_answer(engine, *json.loads(line))), flush=True)


if __name__ == "__main__":
    _serve(sys.argv[1], sys.argv[2])
