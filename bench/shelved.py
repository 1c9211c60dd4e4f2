"""`python -m bench.shelved NAME JOB`: one library's figures of a job, in a process of its own, as JSON on stdout.

It runs in the library's own Python, so that it imports nothing but numpy and that library.
"""

import json
import os
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench import resident
from bench.job import Floats, Job
from bench.shelves import SHELVES, Search, quiet


def figures(name: str, folder: Path) -> dict[str, Any]:
    """Of each stage: seconds to make it and bring it to the disk, milliseconds and numbers found by each search."""
    job, vectors, asked = Job.read(folder)
    with TemporaryDirectory(dir=folder) as place:
        before = resident.now().total
        shelf = SHELVES[name](Path(place), job, vectors, asked)
        stages = []
        for what, make, searches in shelf.stages():
            start = time.perf_counter()
            make()
            sync(Path(place))
            seconds = time.perf_counter() - start
            found = {kind: searched(search, job, asked) for kind, search in searches.items()}
            memory = resident.now().total - before
            stages.append({"made": what, "seconds": seconds, "searches": found, "resident_bytes": memory})
            stages[-1]["bytes"] = sum(file.stat().st_size for file in files(Path(place)))
        return {"version": shelf.version, "stages": stages}


def searched(search: Search, job: Job, asked: Floats) -> dict[str, Any]:
    """`found` of every question; `milliseconds` of those after the first `job.warm`; `first` of the very first."""
    taken, found = [], []
    for question, vector in zip(job.questions, asked, strict=True):
        start = time.perf_counter()
        found.append(search(question, vector))
        taken.append((time.perf_counter() - start) * 1e3)
    return {"found": found, "first": taken[0], "milliseconds": taken[job.warm :]}


def files(folder: Path) -> list[Path]:
    """All below a folder."""
    return [path for path in folder.rglob("*") if path.is_file()]


def sync(folder: Path) -> None:
    """Brings every file to the disk: whatever a library leaves to the system's cache is waited for, for all alike."""
    for path in files(folder):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def main() -> None:
    quiet()
    print(json.dumps(figures(sys.argv[1], Path(sys.argv[2]))))


if __name__ == "__main__":
    main()
