"""`python -m bench.library`: what a knowledge base costs, and what it finds, beside chromadb, lancedb and txtai.

All of it takes some half an hour on two cores: `searches` of 1,000 to 100,000 passages (bench/searches.py), `adding`
the ten Debian FAQs (bench/adding.py), `upkeep` of the largest store (bench/upkeep.py), `peers` on the same texts and
vectors (bench/peers.py), and the `quality` of what each finds (bench/quality.py). `make .venv/.bench-library` installs
the peers; without them bankml's own figures are taken. Exit status 1 when an aim is missed.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench import adding, aims, peers, quality, results, searches, upkeep
from bench.aims import Aim, Run
from bench.parts import fill, opening
from bench.report import markdown
from oracle import texts

LARGEST = 100_000  # passages, of which the promises speak
PEERS = (10_000, 100_000)
PARTS = ("searches", "adding", "upkeep", "peers", "quality")
OTHERS = ("chromadb", "lancedb", "txtai")


def searched(name: str) -> aims.Figure:
    """Milliseconds, the median, of the store of LARGEST."""

    def figure(run: Run) -> float | None:
        found = [line for line in run.get("searches", ()) if line["chunks"] == LARGEST]
        return searches.median(found[0], name) if found else None

    return figure


def grown(name: str) -> aims.Figure:
    """Time per passage of the largest store, beside that of the one before."""
    return lambda run: searches.growth(run["searches"], name) if "searches" in run else None


def added(run: Run) -> float | None:
    """Of the engine's tokens/s."""
    return adding.share(run["adding"]) if "adding" in run else None


def found(run: Run) -> float | None:
    """The least recall@10 of bankml's searches by meaning."""
    recalls = [stage["recall"] for line in run.get("peers", ()) for stage in line["libraries"][peers.OURS]["stages"]]
    return min(recalls, default=None)


def better(kind: str) -> aims.Figure:
    """bankml's fused nDCG@10 beside the best that a peer's `kind` of ranking reaches, the least of all models."""

    def figure(run: Run) -> float | None:
        lines, ratios = run.get("quality", ()), []
        for model in dict.fromkeys(line["model"] for line in lines):
            own = [line for line in lines if line["model"] == model]
            theirs = [value for name in OTHERS if (value := quality.mean(own, name, kind)) is not None]
            ours = quality.mean(own, peers.OURS, "fused")
            ratios += [ours / max(theirs)] if theirs and ours else []
        return min(ratios, default=None)

    return figure


AIMS = (
    Aim("100,000 passages by words", searched("words"), 10, at_most=True, unit=" ms"),
    Aim("100,000 passages by meaning, 384 dimensions", searched("meaning"), 10, at_most=True, unit=" ms"),
    Aim("100,000 passages, fused, with the query's embedding", searched("fused"), 30, at_most=True, unit=" ms"),
    Aim("100,000 passages from a cold shell", searched("cold shell"), 600, at_most=True, unit=" ms"),
    Aim("words: time a passage, the largest beside the one before", grown("words"), 1.25, at_most=True),
    Aim("meaning: time a passage, the largest beside the one before", grown("meaning"), 1.25, at_most=True),
    Aim("adding the FAQs: of the engine's tokens/s", added, adding.SHARE),
    Aim("recall@10 of meaning beside an exact search", found, peers.LEAST),
    Aim("nDCG@10, fused, beside a peer's by meaning", better("meaning"), 1),
    Aim("nDCG@10, fused, beside a peer's fused", better("fused"), 1),
)


def measure(options: argparse.Namespace, run: dict[str, Any]) -> None:
    """Puts the figures of the parts that are asked for into `run`, each when it has them."""
    work: dict[str, Callable[[], Any]] = {
        "searches": lambda: [searches.figures(options.languages, count) for count in options.chunks],
        "adding": lambda: adding.figures(options.languages),
        "upkeep": lambda: {"chunks": max(options.chunks), **upkeep.measured(max(options.chunks), 384)},
        "peers": lambda: [peers.figures(count, options.peers_python, options.languages) for count in options.peers],
        "quality": lambda: quality.figures(options.peers_python),
    }
    fill(run, work, options.parts or PARTS)


def report(run: dict[str, Any]) -> str:
    """The tables of a run, each under its sentence."""
    parts = opening("python -m bench.library", run)
    if "searches" in run:
        parts += ["Searches, medians (95th percentiles):", searches.table(run["searches"])]
        parts += ["Their stores:", searches.room(run["searches"])]
    if "adding" in run:
        parts += [f"Adding the Debian FAQ with {adding.MODEL}:", adding.table(run["adding"])]
    if "upkeep" in run:
        parts += [f"Upkeep of {run['upkeep']['chunks']:,} chunks:", _upkeep(run["upkeep"])]
    for line in run.get("peers", ()):
        real = f"{line['sentences']:,} of them sentences of the FAQ with their own vectors"
        parts += [f"{line['texts']:,} short texts, {real}:", peers.table(line), *peers.missing(line["libraries"])]
    if "quality" in run:
        parts += ["The FAQ's questions, means over the languages:", quality.table(run["quality"])]
    return "\n\n".join([*parts, aims.table(run, AIMS)])


def _upkeep(found: dict[str, Any]) -> str:
    return markdown(["what", "ms"], [[name, f"{ms:,.1f}"] for name, ms in found.items() if name != "chunks"])


def missed(run: dict[str, Any]) -> list[str]:
    """The aims that the run has figures for and does not meet."""
    return [aim.what for aim in AIMS if "**missed**" in aim.row(run)]


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.library", description=__doc__)
    told = f"{', '.join(PARTS)} (default: all of them)"
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART", help=told)
    parser.add_argument("--chunks", type=int, nargs="+", default=searches.CHUNKS, help="passages to search")
    parser.add_argument("--peers", type=int, nargs="+", default=PEERS, help="texts for the peers")
    parser.add_argument("--peers-python", type=Path, default=peers.PYTHON, help="the Python that has the peers")
    parser.add_argument("--languages", nargs="+", default=texts.LANGUAGES, choices=texts.LANGUAGES, help="default: all")
    parser.add_argument("--report", type=Path, help="show the tables of an earlier run")
    options = parser.parse_args(arguments)
    if options.report:
        print(report(results.read(options.report)))
        return 0
    load, figures = os.getloadavg(), dict[str, Any]()
    try:
        measure(options, figures)
    finally:  # whatever ended it: what half an hour has found is kept
        file, run = results.keep("library", figures, load)
        print(f"{report(run)}\n\n{file}")
    return 1 if missed(run) else 0


if __name__ == "__main__":
    sys.exit(main())
