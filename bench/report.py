"""The table of a run's JSON: `python -m bench.report bench/results/….json`."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HEAD = (
    ("model", "texts x tokens", "bankml tokens/s", "llama.cpp tokens/s", "ratio", "of the f32 peak"),
    ("a call", "bankml MB", "llama.cpp MB"),
)


def table(run: dict[str, Any]) -> str:
    """Markdown: a line for each case, in the order they ran."""
    head = [cell for part in HEAD for cell in part]
    rows = [_cells(found["extra_info"]) for found in run["benchmarks"] if found["extra_info"]]
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


def _cells(found: dict[str, Any]) -> list[str]:
    ours, peer = found["tokens_per_second"]["ours"], found["tokens_per_second"]["peer"]
    seconds, peak = found["seconds"]["ours"], found["peak_operations_per_second"]
    share = f"{100 * found['operations'] / seconds / peak:.0f} %" if peak else "-"
    resident = found["resident_bytes"]
    return [
        *(found["model"], found["case"], f"{ours:,.0f}", f"{peer:,.0f}", f"{ours / peer:.2f}", share),
        *(_duration(seconds), f"{resident['ours'] / 1e6:,.0f}", f"{resident['peer'] / 1e6:,.0f}"),
    ]


def _duration(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1e3 * seconds:.1f} ms"


def main(arguments: Sequence[str]) -> None:
    """Prints summary and table of every file named."""
    for name in arguments:
        run = json.loads(Path(name).read_text(encoding="utf-8"))
        print(f"{summary(run)}\n\n{table(run)}")


if __name__ == "__main__":
    main(sys.argv[1:])
