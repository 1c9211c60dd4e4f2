"""The table of figures: rows of comparisons, printed and written into oracle/README.md."""

import datetime
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

README = Path(__file__).with_name("README.md")
START, END = "<!-- figures: start -->", "<!-- figures: end -->"
PACKAGES = ("numpy", "gguf", "llama-cpp-python", "tokenizers", "sentencepiece", "torch")


@dataclass(frozen=True)
class Row:
    """One comparison: what, with what, what was found, what is allowed, and whether it is."""

    what: str
    peer: str
    found: str
    allowed: str
    passed: bool

    def line(self) -> str:
        """As a row of a Markdown table."""
        cells = (self.what, self.peer, self.found, self.allowed, "yes" if self.passed else "**NO**")
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def table(rows: Sequence[Row]) -> str:
    """A Markdown table."""
    head = ["| compared | with | found | allowed | passed |", "|---|---|---|---|---|"]
    return "\n".join([*head, *(row.line() for row in rows)])


def versions(more: Sequence[str] = ()) -> dict[str, str]:
    """Of Python and of every package that a figure depends on, and of `more`; absent ones are left out."""
    found = {"python": platform.python_version()}
    for package in (*PACKAGES, *more):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def machine() -> str:
    """The processor and how many CPUs this process may use."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    name = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    return f"{name}, {len(os.sched_getaffinity(0))} CPUs"


def available_memory() -> int:
    """Bytes that a process could have without swapping."""
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))


def write(found: Mapping[str, Sequence[Row]], command: str, path: Path = README) -> None:
    """Replaces the sections of these parts between the two marks of `path`; other parts keep what they have."""
    before, rest = path.read_text(encoding="utf-8").split(START)
    kept, after = rest.split(END)
    sections = {section.split("\n", 1)[0]: section for section in kept.strip().split("### ") if section}
    listed = ", ".join(f"{name} {number}" for name, number in versions().items())
    for part, rows in found.items():
        made = f"{datetime.date.today().isoformat()}, `{command}`, {machine()}; {listed}."
        sections[part] = f"{part}\n\n{made}\n\n{table(rows)}\n"
    figures = "\n".join(f"### {section.strip()}\n" for section in sections.values())
    path.write_text(f"{before}{START}\n\n{figures}\n{END}{after}", encoding="utf-8")
