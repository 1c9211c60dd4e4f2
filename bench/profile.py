"""`make profile` (`python -m bench.profile`): where the time of a call goes, by stage, for one thread and for all.

Needs build/profile/bankml_profile, which `make profile` builds: the engine with clocks at the marks of csrc/stage.h.
The JSON goes to bench/results; `python -m bench.page FILE` puts its table into docs/performance.md.
"""

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from bankml._engine import default_threads
from bankml.settings import Settings
from bench import cases, results
from bench.corpus import PROSE
from bench.report import markdown

ROOT = Path(__file__).parents[1]
PROGRAM = ROOT / "build" / "profile" / "bankml_profile"
STRIDE = 37  # words between the beginnings of two texts
DEFAULT = ("1x12", "64x32", "1x512")
BGE = {cases.BGE_M3: ("1x15", "1x512"), cases.BGE_M3_Q8_0: ("1x15", "1x512")}

Profile = dict[str, Any]


@dataclass(frozen=True)
class Shape:
    """The texts of one call: how many, and how many tokens each is cut to."""

    texts: int
    tokens: int

    @classmethod
    def read(cls, text: str) -> "Shape":
        """Of "64x32". Raises argparse's error for anything else."""
        parts = text.split("x")
        if len(parts) != 2 or not all(part.isascii() and part.isdigit() and int(part) > 0 for part in parts):
            raise argparse.ArgumentTypeError(f"'{text}' is not TEXTSxTOKENS, such as 64x32")
        return cls(*map(int, parts))

    def lines(self) -> str:
        """The texts, one a line; a word is a token at least, so each is long enough to be cut."""
        words = PROSE.read_text(encoding="utf-8").split()
        starts = (STRIDE * i % len(words) for i in range(self.texts))
        return "".join(" ".join(islice(cycle(words), start, start + self.tokens)) + "\n" for start in starts)

    def __str__(self) -> str:
        return f"{self.texts} x {self.tokens}"


def measure(path: Path, shape: Shape, backend: str, threads: int, seconds: float) -> Profile:
    """What the program tells of a process of its own. Raises RuntimeError with its words when it fails."""
    if not PROGRAM.exists():
        raise RuntimeError(f"{PROGRAM} is missing; run: make profile")
    command = [str(PROGRAM), str(path), backend, str(threads), str(shape.tokens), str(seconds)]
    done = subprocess.run(command, input=shape.lines(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{PROGRAM.name} failed: {done.stderr.strip()}")
    found: Profile = json.loads(done.stdout)
    return found


def summed(found: Profile) -> Profile:
    """The faster half of the calls as one: seconds of a call, and shares of all threads' time by stage.

    The slower half is left out because other work on the machine stretches the stage that it interrupts.
    """
    calls = sorted(found["calls"], key=lambda call: call["seconds"])
    calls = calls[: math.ceil(len(calls) / 2)]
    total = found["threads"] * sum(call["ticks"] for call in calls)
    stages = {name: sum(call["stages"][name] for call in calls) / total for name in calls[0]["stages"]}
    marks = sum(call["marks"] for call in calls)
    about = {name: found[name] for name in ("backend", "threads", "tokens")}
    seconds = sum(call["seconds"] for call in calls) / len(calls)
    return {**about, "seconds": seconds, "stages": stages, "marks": marks * found["ticks_of_a_mark"] / total}


def table(profiles: Sequence[Profile]) -> str:
    """Markdown: a line for each model, case and number of threads; a column for each stage."""
    stages = [name for name in profiles[0]["stages"] if name != "other"]
    head = ["model", "texts x tokens", "backend", "threads", "a call", *stages, "no stage", "clocks"]
    rows = [[*_about(one), *(_share(one["stages"][name]) for name in [*stages, "other"])] for one in profiles]
    rows = [[*row, _share(one["marks"])] for row, one in zip(rows, profiles, strict=True)]
    return markdown(head, rows)


def summary(run: Mapping[str, Any]) -> str:
    """The sentence above the table: command, date, machine, load."""
    load = run["load"][0]
    return f"`make profile`, {run['datetime'][:10]}, {run['machine']}; load {load:.1f} before."


def _about(one: Profile) -> list[str]:
    seconds = one["seconds"]
    call = f"{seconds:.2f} s" if seconds >= 1 else f"{1e3 * seconds:.2f} ms"
    return [one["model"], one["case"], one["backend"], str(one["threads"]), call]


def _share(share: float) -> str:
    return f"{100 * share:.1f} %"


def profiles(models: Mapping[cases.Model, Sequence[Shape]], options: argparse.Namespace) -> list[Profile]:
    """Every shape of every model with every number of threads."""
    out = []
    for model, shapes in models.items():
        path = model.path()
        for shape in shapes:
            for threads in options.threads:
                found = summed(measure(path, shape, options.backend, threads, options.seconds))
                out.append({"model": model.name, "case": str(shape), **found})
                print(f"{model.name} {shape}, {threads} threads", file=sys.stderr)
    return out


def chosen(options: argparse.Namespace) -> dict[cases.Model, list[Shape]]:
    """The models and their shapes that the command line asks for."""
    shapes = options.texts or [Shape.read(text) for text in DEFAULT]
    if options.model:
        file: Path = options.model
        return {cases.Model(file.name, lambda: file, 0, 0, (0, 0)): shapes}
    out = {cases.MINILM: shapes}
    if options.bge:
        out |= {model: options.texts or [Shape.read(text) for text in own] for model, own in BGE.items()}
    return out


def read_options(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line; BANKML_BACKEND and BANKML_THREADS count as for everything else."""
    settings, parser = Settings.read(), argparse.ArgumentParser(prog="python -m bench.profile", description=__doc__)
    every = settings.threads or default_threads()
    parser.add_argument("--model", type=Path, help="a GGUF file (default: all-MiniLM-L6-v2)")
    parser.add_argument("--texts", type=Shape.read, nargs="+", help=f"TEXTSxTOKENS … (default: {' '.join(DEFAULT)})")
    parser.add_argument("--bge", action="store_true", help="bge-m3's shape too, in F16 and Q8_0")
    parser.add_argument("--threads", type=int, nargs="+", default=sorted({1, every}), help="default: one, and all")
    parser.add_argument("--backend", default=settings.backend, help="default: BANKML_BACKEND, else the best")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each case and number of threads (default 2)")
    parser.add_argument("--json", action="store_true", help="print the JSON instead of the table")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> None:
    """Measures, keeps the JSON and prints the table."""
    options = read_options(arguments)
    load = os.getloadavg()
    file, run = results.keep("profile", {"profiles": profiles(chosen(options), options)}, load)
    if options.json:
        print(json.dumps(run, indent=1))
    else:
        print(f"{summary(run)}\n\n{table(run['profiles'])}\n\n{file}")


if __name__ == "__main__":
    main(sys.argv[1:])
