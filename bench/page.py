"""`python -m bench.page FILE…`: puts the figures of runs (JSON files in bench/results) into docs.

Those of `bench.library` go into docs/knowledge-base.md, of `bench.finding` and `bench.retrieval` into
docs/retrieval.md, all others into docs/performance.md.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench import aims, finding, library, load_report, memory, profile, report, results, retrieval, tokenizers

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
LIBRARY = PAGE.with_name("knowledge-base.md")
RETRIEVAL = PAGE.with_name("retrieval.md")
PLOTS = PAGE.parent / "plots"  # where plot.py draws
OF_RETRIEVAL = ("finding", "calibration")

COMMANDS = {
    "speed": "make bench",
    "speed-full": "make bench-full",
    "speed-avx2": "make bench CPU=avx2",
    "speed-full-avx2": "make bench-full CPU=avx2",
}


def block(run: dict[str, Any]) -> tuple[str, str]:
    """Which part of the page a run belongs to, and its text. The aims stand below runs of the CPU they are for."""
    if "cases" in run:
        part = run["part"]
        about = [f"`{COMMANDS[part]}`, {report.summary(run)}", report.table(run)]
        return part, "\n\n".join([*about, *([aims.table(run)] if part.endswith("avx2") else []), *_pictures(part)])
    if any(part in run for part in library.PARTS):
        return "library", library.report(run)
    if any(part in run for part in finding.PARTS):
        return "finding", finding.report(run)
    if "calibrations" in run:
        return "calibration", retrieval.report(run)
    if "profiles" in run:
        return "stages", f"{profile.summary(run)}\n\n{profile.table(run['profiles'])}"
    if any(part in run for part in load_report.PARTS):
        return "load", load_report.lines(run)
    if "shares" in run:
        return "tokenizers", tokenizers.lines(run)
    load, versions = run["load"][0], ", ".join(f"{name} {number}" for name, number in run["versions"].items())
    head = f"`python -m bench.memory`, {run['datetime'][:10]}, {run['machine']}; load {load:.1f} after; {versions}."
    return "memory", "\n".join([f"{head}\n", *(f"- {line}" for line in memory.lines(run["figures"]))])


def _pictures(part: str) -> list[str]:
    """Links to what plot.py drew of that kind of run; the longest kind that a file's name begins with is its own."""
    kinds = {
        file: [kind for kind in COMMANDS if f"{file.stem}-".startswith(f"{kind}-")] for file in PLOTS.glob("*.svg")
    }
    return [
        f"![{file.stem}](plots/{file.name})"
        for file in sorted(kinds, key=lambda file: file.stem)
        if max(kinds[file], key=len, default="") == part
    ]


def replaced(text: str, part: str, content: str) -> str:
    """`text` with what stands between the two marks of `part` replaced."""
    start, end = (f"<!-- {part}: {mark} -->" for mark in ("start", "end"))
    before, rest = text.split(start)
    return f"{before}{start}\n{content}\n{end}{rest.split(end)[1]}"


def main(arguments: Sequence[str]) -> None:
    """Writes the pages."""
    for name in arguments:
        part, content = block(results.read(name))
        page = LIBRARY if part == "library" else RETRIEVAL if part in OF_RETRIEVAL else PAGE
        page.write_text(replaced(page.read_text(encoding="utf-8"), part, content), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
