"""`python -m bench.words`: ranking by words beside bm25s on the same terms, in one process and on one thread.

Exchanges are made of real sentences (the Debian FAQ), seeded: a question of one, an answer of two to nine, and what
histories are full of and no FAQ has: a time and a commit that no other exchange names. Queries are two to eight
neighbouring words of a sentence. Both engines must rank the same exchanges. bm25s is given term ids, bankml the text;
bm25s runs in its own float32, as it is by itself (numpy), and with numba where that is installed. Each language has a
process of its own. Exit status 1 when a promise is broken.
"""

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from multiprocessing import get_context
from typing import Any

import bm25s
import numpy as np

from bankml.lexical import Index, tokens
from bench import resident, results
from bench.report import markdown
from bench.tokenizers import Seconds, turns
from oracle import texts

EXCHANGES, QUERIES, ROUNDS, K = 100_000, 200, 7, 24  # the history's arms hand 24 on for k = 8
PROMISED = 3.0  # times as fast a query as bm25s as it is by itself
PEER = "bm25s, numpy"
LANGUAGES = ("en", "ja")  # words; pairs of characters
K1, B = 1.2, 0.75


def exchanges(language: str, count: int) -> list[str]:
    """Seeded: the same in every run."""
    generator, sentences = random.Random(f"exchanges {language}"), texts.sentences(language)
    return [_exchange(generator, sentences, number) for number in range(count)]


def _exchange(generator: random.Random, sentences: Sequence[str], number: int) -> str:
    answer = " ".join(generator.choices(sentences, k=generator.randint(2, 9)))
    return f"{generator.choice(sentences)}\n{answer} {number}:{generator.getrandbits(32):08x}"


def queries(language: str, count: int) -> list[str]:
    """Seeded: parts of sentences, in languages without spaces parts of four to sixteen characters."""
    generator = random.Random(f"queries {language}")
    sentences = [sentence for sentence in texts.sentences(language) if len(tokens(sentence)) >= 8]
    return [_part(generator, generator.choice(sentences)) for _ in range(count)]


def _part(generator: random.Random, sentence: str) -> str:
    words, length, joint = sentence.split(), generator.randint(2, 8), " "
    if len(words) < 8:
        words, length, joint = list(sentence), 2 * length, ""
    start = generator.randrange(max(1, len(words) - length))
    return joint.join(words[start : start + length])


def figures(language: str, count: int, rounds: int) -> dict[str, Any]:
    """A line of the table. Raises AssertionError when the engines rank otherwise."""
    corpus, asked = exchanges(language, count), queries(language, QUERIES)
    found, index = _built(corpus)
    listed, vocabulary = _listed(corpus)
    peers, found["peer_build"] = _peers(listed, vocabulary)
    ids = [[vocabulary[term] for term in dict.fromkeys(tokens(query)) if term in vocabulary] for query in asked]
    asked, ids = _with_terms(asked, ids)
    for peer in peers.values():
        _check(index, peer, asked, ids)
    calls: dict[str, Callable[[], Any]] = {"bankml": lambda: [index.search(query, K) for query in asked]}
    calls |= {name: _retrieval(peer, ids) for name, peer in peers.items()}
    terms = statistics.mean(map(len, ids))
    return {"language": language, "exchanges": count, "queries": len(ids), "terms": terms, **found} | {
        "seconds": turns(calls, rounds)
    }


def _built(corpus: Sequence[str]) -> tuple[dict[str, Any], Index]:
    index, before, start = Index(k1=K1, b=B), resident.now().anon, time.perf_counter()
    index.extend(corpus)
    seconds = time.perf_counter() - start
    index.search("a", 1)  # it makes room for the scores
    return {"build": seconds, "bytes": resident.now().anon - before}, index


def _listed(corpus: Sequence[str]) -> tuple[list[list[int]], dict[str, int]]:
    vocabulary: dict[str, int] = {}
    return [[vocabulary.setdefault(term, len(vocabulary)) for term in tokens(text)] for text in corpus], vocabulary


def _peers(listed: list[list[int]], vocabulary: dict[str, int]) -> tuple[dict[str, bm25s.BM25], float]:
    """bm25s by backend, and the seconds in which its first one indexed the terms."""
    peers, seconds = {}, []
    for backend in ("numpy", *(["numba"] if find_spec("numba") else [])):
        peer = bm25s.BM25(k1=K1, b=B, method="lucene", backend=backend)
        start = time.perf_counter()
        peer.index((listed, dict(vocabulary)), show_progress=False)
        seconds.append(time.perf_counter() - start)
        peers[f"bm25s, {backend}"] = peer
    return peers, seconds[0]


def _with_terms(asked: Sequence[str], ids: Sequence[list[int]]) -> tuple[list[str], list[list[int]]]:
    both = [(query, found) for query, found in zip(asked, ids, strict=True) if found]
    return [query for query, _ in both], [found for _, found in both]


def _retrieval(peer: bm25s.BM25, ids: Sequence[list[int]]) -> Callable[[], Any]:
    """One query a call, as somebody types them."""
    return lambda: [peer.retrieve([query], k=K, show_progress=False) for query in ids]


def _check(index: Index, peer: bm25s.BM25, asked: Sequence[str], ids: Sequence[list[int]]) -> None:
    """bm25s sums in float32, so scores may differ in the seventh digit, and where two are as close, the order."""
    for query, found in zip(asked, ids, strict=True):
        _, ours = index.search(query, K)
        theirs = peer.retrieve([found], k=K, show_progress=False).scores[0].astype(np.float64) * (K1 + 1)
        np.testing.assert_allclose(ours, theirs[: len(ours)], rtol=1e-5, err_msg=query)
        assert not theirs[len(ours) :].any(), query


def table(lines: Sequence[dict[str, Any]]) -> str:
    """A line for each language; for each peer how many times as fast bankml is."""
    peers = [name for name in lines[0]["seconds"] if name != "bankml"]
    head = ["texts", "exchanges", "build", "bytes an exchange", "terms a query", "a query", *peers, "bm25s builds in"]
    return markdown(head, [_row(line, peers) for line in lines])


def _row(line: dict[str, Any], peers: Sequence[str]) -> list[str]:
    seconds: dict[str, Seconds] = line["seconds"]
    own, each = seconds["bankml"]["min"], 1e6 / line["queries"]
    ratios = [f"**{seconds[name]['min'] / own:.1f}** ({each * seconds[name]['min']:.0f} µs)" for name in peers]
    size = f"{line['bytes'] / line['exchanges']:.0f}"
    cells = [line["language"], f"{line['exchanges']:,}", f"{line['build']:.1f} s", size, f"{line['terms']:.1f}"]
    return [*cells, f"{each * own:.0f} µs", *ratios, f"{line['peer_build']:.1f} s (without tokenizing)"]


def slower(lines: Sequence[dict[str, Any]]) -> list[str]:
    """The languages in which a query is not so many times as fast as promised."""
    return [line["language"] for line in lines if _ratio(line["seconds"]) < PROMISED]


def _ratio(seconds: dict[str, Seconds]) -> float:
    return float(seconds[PEER]["min"] / seconds["bankml"]["min"])


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.words", description=__doc__)
    parser.add_argument("--exchanges", type=int, default=EXCHANGES, help=f"how many (default {EXCHANGES:,})")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"turns of each engine (default {ROUNDS})")
    parser.add_argument("--languages", nargs="+", default=LANGUAGES, choices=texts.LANGUAGES, help="default: en ja")
    options = parser.parse_args()
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as fresh:
        calls = [fresh.submit(figures, each, options.exchanges, options.rounds) for each in options.languages]
        lines = [call.result() for call in calls]
    file, run = results.keep("words", {"lines": lines})
    print(f"`python -m bench.words`, {run['datetime'][:10]}, {run['machine']}; load {run['load'][0]:.1f}; ", end="")
    print(f"bm25s {bm25s.__version__}.\n\n{table(lines)}\n\n{file}")
    if slow := slower(lines):
        print(f"a query is less than {PROMISED:.0f} times as fast as bm25s in {', '.join(slow)}", file=sys.stderr)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
