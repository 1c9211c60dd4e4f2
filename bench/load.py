"""`make bench-load` (`python -m bench.load`): the server under load, llama-server beside it where there is one.

Both load the same file of bge-m3's shape and take turns at the same requests; a process of its own asks. Then what
HTTP and JSON add to MiniLM in this process, and what a query waits beside a job of documents. At most 15 minutes on
two cores. The JSON goes to bench/results; `python -m bench.page FILE` puts its tables into docs/performance.md.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankml import Encoder
from bench import cases, corpus, load_report, overhead, results, scheduling, servers
from bench.clients import Told, percentile
from bench.servers import BANKML, Server

SHORT, DOCUMENT = 15, 483  # tokens
CLIENTS = (8, 64, 400)
TEXTS = 512  # different short ones
LEAST_COSINE = 0.99  # of llama-server's vector to ours
CASE_SECONDS = 60.0  # after which a case has no further round
ANSWER_SECONDS = 120.0  # after which an answer comes too late
PAUSE = 0.5  # seconds between two turns: answers on their way, threads that still spin


@dataclass(frozen=True)
class Case:
    """Requests that `clients` ask one after the other: lists of texts, and how many tokens those have."""

    name: str
    clients: int
    inputs: list[list[str]]
    tokens: int  # of all inputs

    @property
    def tokens_of_a_request(self) -> float:
        """The mean."""
        return self.tokens / len(self.inputs)


def load_cases(path: Path) -> list[Case]:
    """The cases of bge-m3's shape."""
    with Encoder(path) as encoder:
        short, documents = corpus.of_length(encoder, TEXTS, SHORT), corpus.of_length(encoder, 8, DOCUMENT)
    several = [Case(f"{n} clients, {SHORT} tokens", n, [[text] for text in short], TEXTS * SHORT) for n in CLIENTS]
    mixed = corpus.mixed_texts(path)
    return [
        *several,
        Case(f"8 documents of {DOCUMENT} tokens", 1, [documents], 8 * DOCUMENT),
        Case("8 clients, mixed corpus", 8, [[text] for text, _ in mixed], sum(len(ids) for _, ids in mixed)),
    ]


def loaded(pair: list[Server], case: Case, seconds: float, rounds: int) -> dict[str, Any]:
    """The figures of one case: the servers take turns until there were enough rounds or a minute has passed."""
    turns: dict[str, list[Told]] = {server.name: [] for server in pair}
    begun = time.monotonic()
    for _ in range(rounds):
        for server in pair:
            bodies = [server.body(texts) for texts in case.inputs]
            turns[server.name].append(server.load(bodies, clients=case.clients, seconds=seconds, limit=ANSWER_SECONDS))
            time.sleep(PAUSE)
        if time.monotonic() - begun > CASE_SECONDS:
            break
    return {
        "case": case.name,
        "tokens_of_a_request": case.tokens_of_a_request,
        "rounds": len(turns[BANKML]),
        "servers": {server.name: figures(turns[server.name], server, case) for server in pair},
    }


def figures(turns: list[Told], server: Server, case: Case) -> dict[str, Any]:
    """Medians of a server's rounds."""
    rates = [len(told.seconds) / told.elapsed for told in turns]
    shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
    return {
        "requests_per_second": statistics.median(rates),
        "tokens_per_second": statistics.median(rates) * case.tokens_of_a_request,
        **{
            name: statistics.median(percentile(told.seconds, share) for told in turns) for name, share in shares.items()
        },
        "answers": sum(len(told.seconds) for told in turns),
        "errors": sum(sum(told.refused.values()) + told.unanswered for told in turns),
        "refused": [told.refused for told in turns if told.refused],
        "client_cpu": max(told.cpu for told in turns),
        "resident": server.resident(),
    }


@contextmanager
def both(path: Path, clients: int = max(CLIENTS)) -> Iterator[list[Server]]:
    """bankml and, where the program is, llama-server, each with the model loaded and giving the same vectors."""
    with ExitStack() as stack:
        pair = [stack.enter_context(servers.bankml(path))]
        if program := servers.found():
            pair.append(stack.enter_context(servers.llama(path, program, clients)))
        else:
            print("bench: no llama-server: set LLAMA_SERVER, or run `make llama-server` once", file=sys.stderr)
        agree(pair)
        yield pair


def agree(pair: list[Server]) -> None:
    """Raises RuntimeError when the servers' vectors of a text have another direction."""
    ours, *others = (_vector(server) for server in pair)
    for server, theirs in zip(pair[1:], others, strict=True):
        cosine = float(ours @ theirs / np.linalg.norm(ours) / np.linalg.norm(theirs))
        if cosine < LEAST_COSINE:
            raise RuntimeError(f"{server.name} has the cosine {cosine:.4f} to bankml, {LEAST_COSINE} is allowed")


def _vector(server: Server) -> NDArray[np.float64]:
    told = server.load([server.body(["why is the sky blue?"])], most=1)
    if not told.seconds:
        raise RuntimeError(f"{server.name} did not answer: {told.refused}")
    return np.array(json.loads(told.body)["data"][0]["embedding"])


def measure(path: Path, small: Path, options: argparse.Namespace) -> dict[str, Any]:
    """All figures that are asked for."""
    found: dict[str, Any] = {}
    if "load" in options.only:
        with both(path) as pair:
            found["loads"], found["settings"] = [], {server.name: server.settings for server in pair}
            found["resident_before"] = {server.name: server.resident() for server in pair}
            for case in load_cases(path):
                found["loads"].append(loaded(pair, case, options.seconds, options.rounds))
                _tell(load_report.line(found["loads"][-1]))
    parts: dict[str, Callable[[], Any]] = {
        "overhead": lambda: overhead.measure(small, options.rounds),
        "scheduling": lambda: scheduling.measure(path, options.documents),
    }
    return found | {name: part() for name, part in parts.items() if name in options.only}


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def read_options(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.load", description=__doc__)
    parts = ("load", "overhead", "scheduling")
    parser.add_argument("--only", choices=parts, nargs="+", default=parts, help="default: all three")
    parser.add_argument("--seconds", type=float, default=8.0, help="that new requests are asked in a turn (default 8)")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each server in a case (default 3)")
    parser.add_argument("--documents", type=int, default=24, help="of the job (default 24; the aim is for 200)")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> None:
    """Measures, keeps the JSON and prints the tables."""
    options, load = read_options(arguments), os.getloadavg()
    file, run = results.keep("load", measure(cases.BGE_M3.path(), cases.MINILM.path(), options), load)
    print(f"{load_report.lines(run)}\n\n{file}")


if __name__ == "__main__":
    main(sys.argv[1:])
