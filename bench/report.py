"""The tables of a run's JSON: `python -m bench.report bench/results/….json`."""

import sys
from collections.abc import Sequence
from typing import Any

from bench import aims, cases, results
from bench.engines import BANKML, PEERS

BUSY = 1.0  # other work on the machine, in CPUs, above which no figure means anything
SAME = 0.9995  # cosines below are told
OWN = ("model", "texts x tokens", "bankml tokens/s", "of the f32 peak", "a call", "bankml MB")
CPUS = {"avx2": "Every engine saw a CPU with AVX2 and FMA and nothing wider (`--cpu avx2`). "}


def table(run: dict[str, Any]) -> str:
    """Markdown: a line for each case, in the order they ran; for each peer how many times as fast bankml is."""
    found = list(run["cases"].values())
    peers = [peer for peer in PEERS if any(peer in case["seconds"] for case in found)]
    head = [*OWN, *peers]
    rows = [[*_own(case), *(_peer(case, name) for name in peers)] for case in found]
    return markdown(head, rows)


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells."""
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows))


def line(case: dict[str, Any]) -> str:
    """One case in a line, for who watches a run."""
    model, name, speed, share, call, _ = _own(case)
    ratios = [f"{peer} x{_ratio(case, peer):.2f}" for peer in PEERS if peer in case["seconds"]]
    return f"{model}, {name}: {speed} tokens/s, {share} of the f32 peak, {call} a call; {', '.join(ratios)}"


def summary(run: dict[str, Any]) -> str:
    """The sentences above the table: date, machine, versions, rates, and what was set and left out in each case."""
    info, key = run["machine_info"], run["key"]
    versions = ", ".join(f"{name} {number}" for name, number in key["versions"].items())
    load = f"{info['load_before']:.1f} before, {info['load_after']:.1f} after"
    busy = info["load_before"] > BUSY
    lines = [
        *(["**The machine was busy: these figures are too low, and a peer's more than bankml's.**"] if busy else []),
        f"{run['datetime'][:10]}, {key['machine']}; load {load}; engine {key['sources'] or 'not in git'}; {versions}.",
        f"{CPUS.get(run['part'].rpartition('-')[2], '')}One and all threads, {_rates(info)}.",
        *_scaling(run),
        *_mixed(run),
    ]
    return "\n\n".join([*lines, "\n".join(map(_settings, run["cases"].values()))])


def _scaling(run: dict[str, Any]) -> list[str]:
    found = [(case, both) for case in run["cases"].values() if (both := aims.scaling(case))]
    return [
        f"All threads beside one, {case['model']}, {case['case']}: bankml {own:.2f} times as fast, "
        f"the f32 loop {peak:.2f} times; {100 * own / peak:.0f} % of it."
        for case, (own, peak) in found
    ]


def _mixed(run: dict[str, Any]) -> list[str]:
    """A mixed corpus beside as many tokens in texts of one length."""
    models = dict.fromkeys(case["model"] for case in run["cases"].values())
    pairs = {m: [run["cases"].get(f"{m} {name}") for name in (cases.MIXED, cases.EQUAL)] for m in models}
    found = [f"{model} {aims.relative(*pair):.2f}" for model, pair in pairs.items() if None not in pair]
    return [f"bankml's tokens/s of a mixed corpus ÷ those of equal lengths: {', '.join(found)}."] if found else []


def _rates(info: dict[str, Any]) -> str:
    found: dict[str, list[str]] = {}
    for name, rates in info["operations_per_second"].items():
        found.setdefault(rates["kind"], []).append(f"{name} {_both(rates, 1e9)}")
    loops = "; ".join(f"{kind}: {', '.join(rates)} G operations/s" for kind, rates in found.items())
    return f"{loops}; memory read {_both(info['read_bytes_per_second'], 1e9)} GB/s"


def _settings(case: dict[str, Any]) -> str:
    engines = "; ".join(f"{engine} {words}" for engine, words in case["settings"].items())
    missing = "".join(f"; {engine}: {why}" for engine, why in case["missing"].items())
    long = f" (a round takes {case['round_seconds']:.0f} s)" if case["round_seconds"] > 60 else ""
    rounds = f"median of {case['rounds']} rounds of {case['repeats']}" if case["rounds"] > 1 else "one round"
    return f"- {case['model']}, {case['case']}: {engines}; {rounds}{long}{missing}"


def _both(by_threads: dict[str, Any], unit: float) -> str:
    counts = sorted(int(count) for count in by_threads if count.isdigit())
    return " / ".join(f"{by_threads[str(count)] / unit:.1f}" for count in counts)


def _own(case: dict[str, Any]) -> list[str]:
    seconds, peak = case["seconds"][BANKML], case["peaks"].get("f32")
    share = f"{100 * case['operations'] / seconds / peak:.0f} %" if peak else "-"
    speed = f"{case['tokens'] / seconds:,.0f}"
    return [case["model"], _case(case), speed, share, _duration(seconds), _megabytes(case, BANKML)]


def _case(case: dict[str, Any]) -> str:
    """Its name, with the sizes where the name does not tell them."""
    if " x " in case["case"]:
        return str(case["case"])
    return f"{case['case']}: {case['texts']} texts, {case['tokens']:,} tokens"


def _ratio(case: dict[str, Any], peer: str) -> float:
    return float(case["seconds"][peer] / case["seconds"][BANKML])


def _peer(case: dict[str, Any], name: str) -> str:
    """How many times as fast bankml is; the peer's tokens per second, memory, and cosine where its vectors differ."""
    if name not in case["seconds"]:
        return "-"
    speed, ratio = case["tokens"] / case["seconds"][name], _ratio(case, name)
    cosine = case["cosines"].get(name, 1.0)
    differs = f"; cosine {cosine:.3f}" if cosine < SAME else ""
    return f"**{ratio:.2f}** ({speed:,.0f}; {_megabytes(case, name)} MB{differs})"


def _megabytes(case: dict[str, Any], name: str) -> str:
    return f"{case['resident_bytes'][name] / 1e6:,.0f}"


def _duration(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1e3 * seconds:.1f} ms"


def main(arguments: Sequence[str]) -> None:
    """Prints summary and tables of every file named."""
    for name in arguments:
        run = results.read(name, "cases")
        print(f"{summary(run)}\n\n{table(run)}\n\n{aims.table(run)}")


if __name__ == "__main__":
    main(sys.argv[1:])
