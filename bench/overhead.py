"""What HTTP and JSON add to MiniLM's calls: the server's latency beside that of the same call in this process."""

import statistics
import time
from pathlib import Path
from typing import Any

from bankml import Encoder
from bench import corpus, servers
from bench.servers import Server

QUERIES, BATCHES = 50, 5  # calls of a turn
TURNS = 4  # of each in a round: other work on the machine then meets all alike


def measure(path: Path, rounds: int) -> list[dict[str, Any]]:
    """What the server adds to MiniLM's calls in this process: medians of rounds that alternate."""
    with Encoder(path) as encoder, servers.bankml(path) as server:
        shapes = {"1 x 15": corpus.of_length(encoder, 1, 15), "64 x 32": corpus.of_length(encoder, 64, 32)}
        return [_added(encoder, server, name, texts, rounds) for name, texts in shapes.items()]


def _added(encoder: Encoder, server: Server, name: str, texts: list[str], rounds: int) -> dict[str, Any]:
    count = QUERIES if len(texts) == 1 else BATCHES
    bodies = {form: server.body(texts, encoding_format=form) for form in ("float", "base64")}
    found: dict[str, list[float]] = {"encode": [], **{form: [] for form in bodies}}
    for _ in range(TURNS * rounds):
        found["encode"].append(_encoding(encoder, texts, count))
        for form, asked in bodies.items():
            found[form].append(statistics.median(server.load([asked], most=count).seconds))
    return {"case": name, "seconds": {what: statistics.median(each) for what, each in found.items()}}


def _encoding(encoder: Encoder, texts: list[str], count: int) -> float:
    taken = []
    for _ in range(count):
        start = time.perf_counter()
        encoder.encode(texts)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)
