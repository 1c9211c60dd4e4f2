"""The table of a run's JSON: `python -m bench.report bench/results/….json`."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SAME = 0.9995  # cosines below are told
OWN = ("model", "texts x tokens", "bankml tokens/s", "of the f32 peak", "a call", "bankml MB")


def table(run: dict[str, Any]) -> str:
    """Markdown: a line for each case, in the order they ran; for each peer how many times as fast bankml is."""
    found = [case["extra_info"] for case in run["benchmarks"] if case["extra_info"]]
    peers = list(dict.fromkeys(name for case in found for name in case["seconds"] if name != "bankml"))
    head = [*OWN, *peers]
    rows = [[*_own(case), *(_peer(case, name) for name in peers)] for case in found]
    return "\n".join(["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows)])


def summary(run: dict[str, Any]) -> str:
    """The sentences above the table: date, machine, versions, rates."""
    info = run["machine_info"]
    versions = ", ".join(f"{name} {number}" for name, number in info["versions"].items())
    rates = "; ".join(
        f"{name} {_both(by_threads, 1e9)} G f32 operations/s"
        for name, by_threads in info["f32_operations_per_second"].items()
    )
    read = _both(info["read_bytes_per_second"], 1e9)
    load = f"{info['load_before']:.1f} before, {info['load_after'][0]:.1f} after"
    settings = [
        f"- {found['extra_info']['model']}, {found['extra_info']['case']}: "
        + "; ".join(f"{engine} {words}" for engine, words in found["extra_info"]["settings"].items())
        + f"; median of {found['extra_info']['rounds']} rounds of {found['extra_info']['repeats']}"
        for found in run["benchmarks"]
        if found["extra_info"]
    ]
    lines = [f"{run['datetime'][:10]}, {info['machine']}; load {load}; {versions}."]
    lines.append(f"One and all threads: {rates}; memory read {read} GB/s.")
    return "\n\n".join([*lines, "\n".join(settings)])


def _both(by_threads: dict[str, float], unit: float) -> str:
    return " / ".join(f"{value / unit:.1f}" for _, value in sorted(by_threads.items(), key=lambda pair: int(pair[0])))


def _own(case: dict[str, Any]) -> list[str]:
    seconds, peak = case["seconds"]["bankml"], case["peak_operations_per_second"]
    share = f"{100 * case['operations'] / seconds / peak:.0f} %" if peak else "-"
    speed = f"{case['tokens'] / seconds:,.0f}"
    return [case["model"], case["case"], speed, share, _duration(seconds), _megabytes(case, "bankml")]


def _peer(case: dict[str, Any], name: str) -> str:
    """How many times as fast bankml is; the peer's tokens per second, memory, and cosine where its vectors differ."""
    if name not in case["seconds"]:
        return "-"
    speed, ratio = case["tokens"] / case["seconds"][name], case["seconds"][name] / case["seconds"]["bankml"]
    cosine = case.get("cosines", {}).get(name, 1.0)
    differs = f"; cosine {cosine:.3f}" if cosine < SAME else ""
    return f"**{ratio:.2f}** ({speed:,.0f}; {_megabytes(case, name)} MB{differs})"


def _megabytes(case: dict[str, Any], name: str) -> str:
    return f"{case['resident_bytes'][name] / 1e6:,.0f}"


def _duration(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1e3 * seconds:.1f} ms"


def main(arguments: Sequence[str]) -> None:
    """Prints summary and table of every file named."""
    for name in arguments:
        run = json.loads(Path(name).read_text(encoding="utf-8"))
        print(f"{summary(run)}\n\n{table(run)}")


if __name__ == "__main__":
    main(sys.argv[1:])
