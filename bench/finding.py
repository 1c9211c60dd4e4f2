"""`make bench-memory`, which is `python -m bench.finding`: what is found of what is remembered, and how soon.

Its parts: `found`, recall@3, recall@10, MRR and nDCG@10 of the Debian FAQ's questions in ten languages, among records
and among documents, by words, by meaning and by both (bench/found.py); `quotes` from the last third of long records
(bench/quotes.py); `agent`, the time of a query over MCP (bench/agent.py). Vectors are kept between runs. Exit status 1
when an aim is missed.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bankml.cli.progress import counted
from bankml.evaluation import faq
from bench import agent, aims, found, quotes, results
from bench.aims import Aim, Run
from bench.parts import fill, opening
from bench.results import keep

PARTS = ("found", "quotes", "agent")


def quoted(run: Run) -> float | None:
    """The least share of quotes found first, of what `bankml query` does by itself."""
    return min((line["first"] for line in run.get("quotes", ()) if line["method"] == "convex"), default=None)


def asked(run: Run) -> float | None:
    """p95 over MCP among the records that the promise is of."""
    lines = [one for one in run.get("agent", ()) if (one["records"], one["way"]) == (agent.LARGEST, "over MCP")]
    return lines[0]["p95_ms"] if lines else None


AIMS = (
    Aim("quotes from the last third found first", quoted, quotes.LEAST),
    Aim("query over MCP, 10,000 records, p95", asked, agent.AIM_MS, at_most=True, unit=" ms"),
)


def measure(options: argparse.Namespace, run: dict[str, Any]) -> None:
    """Puts the figures of the parts that are asked for into `run`, each when it has them."""
    wanted = {name: codes for name in found.MODELS if (codes := _codes(name, options.languages))}
    with counted() as progress:
        work: dict[str, Callable[[], Any]] = {
            "found": lambda: found.figures(wanted, progress),
            "quotes": lambda: quotes.figures(list(found.MODELS), options.others, progress),
            "agent": lambda: agent.figures(options.records),
        }
        fill(run, work, options.parts or PARTS)


def report(run: dict[str, Any]) -> str:
    """The tables of a run, each under its sentence."""
    parts = opening("make bench-memory", run)
    if "found" in run:
        parts += ["The FAQ's questions; times without embedding the query, which has lines of its own:"]
        parts += [found.table(run["found"])]
    if "quotes" in run:
        parts += ["A sentence from the last third of a long record:", quotes.table(run["quotes"])]
    if "agent" in run:
        parts += [f"A query with its embedding, {agent.MODEL}:", agent.table(run["agent"])]
    return "\n\n".join([*parts, aims.table(run, AIMS)])


def _codes(model: str, languages: Sequence[str]) -> list[str]:
    return [code for code in found.MODELS[model] if code in languages]


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.finding", description=__doc__)
    told = f"{', '.join(PARTS)} (default: all of them)"
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART", help=told)
    parser.add_argument("--languages", nargs="+", default=faq.LANGUAGES, choices=faq.LANGUAGES, help="default: all")
    parser.add_argument("--others", type=int, default=quotes.OTHERS, help="records beside the long ones")
    parser.add_argument("--records", type=int, nargs="+", default=agent.RECORDS, help="that an agent asks among")
    parser.add_argument("--report", type=Path, help="show the tables of an earlier run")
    options = parser.parse_args(arguments)
    if options.report:
        print(report(results.read(options.report)))
        return 0
    load, figures = os.getloadavg(), dict[str, Any]()
    try:
        measure(options, figures)
    finally:  # whatever ended it: what an hour has found is kept
        file, run = keep("finding", figures, load)
        print(f"{report(run)}\n\n{file}")
    return 1 if any("**missed**" in aim.row(run) for aim in AIMS) else 0


if __name__ == "__main__":
    sys.exit(main())
