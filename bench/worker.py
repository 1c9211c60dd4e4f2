"""An engine in a process of its own: JSON lines in, JSON lines out; nothing but the engine lies in its memory."""

import json
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from bench import cpu
from bench.engines import ENGINES, Engine, Texts, UnsuitableError
from bench.resident import Resident, now


@dataclass(frozen=True)
class Turn:
    """One turn: wall seconds of each call, CPU seconds of all, and the process's memory afterwards."""

    seconds: list[float]
    cpu: float
    resident: Resident


class EngineError(RuntimeError):
    """The process of `engine` ended before it answered."""

    def __init__(self, engine: str, status: int) -> None:
        if status < 0:
            words = f"was ended by signal {-status} ({signal.strsignal(-status)})"
        else:
            words = f"ended with exit status {status}; its words stand above"
        super().__init__(f"{engine} {words}")
        self.engine = engine


class Worker:
    """The process, seen from the one that measures. Raises EngineError when it ends."""

    def __init__(self, engine: str, path: str, seen: cpu.CPU = "native") -> None:
        command, environment = [sys.executable, "-m", "bench.worker", engine, path], cpu.environment(seen, engine)
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self.engine = engine

    def uses(self) -> str:
        """The engine's own word for the instructions it chose; empty when it has none."""
        return str(self._ask("uses", None))

    def prepare(self, texts: Texts) -> str:
        """Hands over token ids; returns the settings the engine will use. Raises UnsuitableError."""
        answer = self._ask("prepare", texts)
        if "unsuitable" in answer:
            raise UnsuitableError(answer["unsuitable"])
        return str(answer["settings"])

    def turn(self, repeats: int = 1) -> Turn:
        """Runs the prepared texts `repeats` times."""
        answer = self._ask("turn", repeats)
        return Turn(answer["seconds"], answer["cpu"], Resident(**answer["resident"]))

    def since_avx512(self) -> float | None:
        """As in cpu.py, of the engine's process."""
        answer = self._ask("since_avx512", None)
        return None if answer is None else float(answer)

    def last_vector(self) -> list[float]:
        """The unit vector of the last text of the last run."""
        return list(self._ask("last_vector", None))

    def close(self) -> None:
        """Ends the process."""
        with suppress(BrokenPipeError):
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
        with suppress(BrokenPipeError):  # it ended; so no answer will come
            self._process.stdin.write(json.dumps([order, argument]) + "\n")
            self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise EngineError(self.engine, self._process.wait())
        return json.loads(answer)


def _turn(engine: Engine, repeats: int) -> dict[str, Any]:
    seconds, cpu = [], time.process_time()
    for _ in range(repeats):
        start = time.perf_counter()
        engine.run()
        seconds.append(time.perf_counter() - start)
    return {"seconds": seconds, "cpu": time.process_time() - cpu, "resident": vars(now())}


def _prepare(engine: Engine, texts: Texts) -> dict[str, str]:
    try:
        return {"settings": engine.prepare(texts)}
    except UnsuitableError as reason:
        return {"unsuitable": str(reason)}


def _answer(engine: Engine, order: str, argument: Any) -> Any:
    if order == "uses":
        return engine.uses()
    if order == "prepare":
        return _prepare(engine, argument)
    if order == "since_avx512":
        return cpu.since_avx512()
    if order == "turn":
        return _turn(engine, argument)
    return engine.vectors()[-1].tolist()


def _serve(name: str, path: str) -> None:
    answers, sys.stdout = sys.stdout, sys.stderr  # what a library prints is no answer
    engine = ENGINES[name](path)
    for line in sys.stdin:
        print(json.dumps(_answer(engine, *json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    _serve(sys.argv[1], sys.argv[2])
