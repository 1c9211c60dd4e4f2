"""The tables of a run of load.py, and what it aims at: `python -m bench.load_report bench/results/load-….json`."""

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

from bench import aims, report, results
from bench.aims import Aim, Figure
from bench.servers import BANKML, LLAMA_SERVER

Run = dict[str, Any]
MILLISECOND = 1e3


def lines(run: Run) -> str:
    """Markdown: what was measured, and a table for each part that the run has."""
    tables = [part(run) for name, part in PARTS.items() if name in run]
    return "\n\n".join([summary(run), *tables, aims.table(run, AIMS)])


def summary(run: Run) -> str:
    """The sentences above the tables."""
    load, versions = run["load"][0], ", ".join(f"{name} {number}" for name, number in run["versions"].items())
    head = f"`make bench-load`, {run['datetime'][:10]}, {run['machine']}; load {load:.1f} before; {versions}."
    busy = "**The machine was busy: these figures are too low, and a peer's more than bankml's.**"
    told = [f"- {name}: {settings}" for name, settings in run.get("settings", {}).items()]
    alone = ["llama-server was not there: these are bankml's figures alone."] if len(told) == 1 else []
    return "\n\n".join([*([busy] if load > report.BUSY else []), head, *alone, *(["\n".join(told)] if told else [])])


def loads(run: Run) -> str:
    """A line for each case and server."""
    head = ["bge-m3's shape", "server", "requests/s", "tokens/s", "p50", "p95", "p99", "errors", "MB", "bankml ÷ it"]
    rows = [_row(case, name) for case in run["loads"] for name in case["servers"]]
    before = ", ".join(f"{name} {bytes_ / 1e6:,.0f}" for name, bytes_ in run["resident_before"].items())
    cpu = max(server["client_cpu"] for case in run["loads"] for server in case["servers"].values())
    notes = f"MB resident after the first text: {before}. The clients took at most {100 * cpu:.0f} % of one CPU."
    return f"{report.markdown(head, rows)}\n\n{notes}"


def line(case: Run) -> str:
    """One case, for who watches a run."""
    rates = ", ".join(f"{name} {found['requests_per_second']:.2f}/s" for name, found in case["servers"].items())
    return f"{case['case']}: {rates}"


def _row(case: Run, name: str) -> list[str]:
    own, found = case["servers"][BANKML], case["servers"][name]
    times_theirs = _over(own["requests_per_second"], found["requests_per_second"])
    ratio = "" if name == BANKML else "-" if times_theirs is None else f"**{times_theirs:.2f}**"
    times = [_duration(found[share]) for share in ("p50", "p95", "p99")]
    rates = [f"{found['requests_per_second']:.2f}", f"{found['tokens_per_second']:,.0f}"]
    return [case["case"], name, *rates, *times, str(found["errors"]), f"{found['resident'] / 1e6:,.0f}", ratio]


def overhead(run: Run) -> str:
    """What HTTP and JSON add."""
    head = ["all-minilm-l6-v2", "in this process", "server, floats", "server, base64", "added", "added, base64"]
    rows = []
    for case in run["overhead"]:
        seconds = case["seconds"]
        added = [_added(case, form) for form in ("float", "base64")]
        words = [f"{MILLISECOND * each:.2f} ms, {100 * each / seconds['encode']:.1f} %" for each in added]
        rows.append([case["case"], *(_duration(seconds[what]) for what in ("encode", "float", "base64")), *words])
    return report.markdown(head, rows)


def scheduling(run: Run) -> str:
    """A query beside a job."""
    found = run["scheduling"]
    head = ["bge-m3's shape", "alone", "together", "together ÷ alone"]
    query, job = (found["query_alone"], found["query_beside"]), (found["job_alone"], found["job_beside"])
    rows = [
        ["a query of 15 tokens, p95", *map(_duration, query), f"{query[1] / query[0]:.1f}"],
        [f"a job of {found['documents']} documents of 483", *map(_duration, job), f"{job[1] / job[0]:.2f}"],
    ]
    notes = f"{found['queries']} queries were answered beside the job, {found['errors']} were not."
    return f"{report.markdown(head, rows)}\n\n{notes}"


PARTS: dict[str, Callable[[Run], str]] = {"loads": loads, "overhead": overhead, "scheduling": scheduling}


def _added(case: Run, form: str) -> float:
    return float(case["seconds"][form] - case["seconds"]["encode"])


def _over(ours: float, theirs: float) -> float | None:
    """None where the other server answered nothing in time."""
    return ours / theirs if theirs else None


def _duration(seconds: float) -> str:
    if math.isinf(seconds):
        return "-"
    return f"{seconds:.2f} s" if seconds >= 1 else f"{MILLISECOND * seconds:.1f} ms"


def _ratio(name: str, figure: str) -> Figure:
    """bankml's figure over llama-server's in the case whose name begins so."""

    def found(run: Run) -> float | None:
        pairs = [case["servers"] for case in run.get("loads", []) if case["case"].startswith(name)]
        both = [_over(pair[BANKML][figure], pair[LLAMA_SERVER][figure]) for pair in pairs if LLAMA_SERVER in pair]
        return min((ratio for ratio in both if ratio is not None), default=None)

    return found


def _memory(run: Run) -> float | None:
    """bankml's resident bytes over llama-server's after the last case."""
    last = run["loads"][-1]["servers"] if run.get("loads") else {}
    return last[BANKML]["resident"] / last[LLAMA_SERVER]["resident"] if LLAMA_SERVER in last else None


def _overhead_of(name: str, form: str, share: bool) -> Figure:
    def found(run: Run) -> float | None:
        case = next((case for case in run.get("overhead", []) if case["case"] == name), None)
        if case is None:
            return None
        return _added(case, form) / (case["seconds"]["encode"] if share else 1 / MILLISECOND)

    return found


def _scheduled(above: str, below: str) -> Figure:
    def found(run: Run) -> float | None:
        figures = run.get("scheduling")
        return None if figures is None else float(figures[above] / figures[below])

    return found


AIMS = (
    *(
        Aim(
            f"{n} clients, 15 tokens: times llama-server's requests/s",
            _ratio(f"{n} clients, 15", "requests_per_second"),
            1.5,
        )
        for n in (8, 64, 400)
    ),
    Aim("8 documents: times llama-server's tokens/s", _ratio("8 documents", "tokens_per_second"), 2.0),
    Aim("resident: of llama-server's", _memory, 1 / 3, at_most=True),
    *(
        Aim(
            f"MiniLM, one query, {form}: HTTP and JSON add",
            _overhead_of("1 x 15", form, False),
            1.0,
            at_most=True,
            unit=" ms",
        )
        for form in ("float", "base64")
    ),
    *(
        Aim(
            f"MiniLM, 64 x 32, {form}: HTTP and JSON add, of the call",
            _overhead_of("64 x 32", form, True),
            0.05,
            at_most=True,
        )
        for form in ("float", "base64")
    ),
    Aim(
        "a query beside a job: its p95 over the unloaded", _scheduled("query_beside", "query_alone"), 4.0, at_most=True
    ),
    Aim("a job beside queries: its rate over the rate alone", _scheduled("job_alone", "job_beside"), 0.9),
)


def main(arguments: Sequence[str]) -> None:
    """Prints the tables of every file named."""
    for name in arguments:
        print(lines(results.read(name)))


if __name__ == "__main__":
    main(sys.argv[1:])
