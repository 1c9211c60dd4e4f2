"""`python -m bench [-k EXPRESSION]`: runs every case (or those that match), keeps the JSON and prints the table."""

import datetime
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench import report
from bench.cases import CASES

HERE = Path(__file__).parent
BUSY = 1.0  # other work on the machine, in CPUs, above which no figure means anything


def main(arguments: Sequence[str]) -> int:
    """pytest's exit status."""
    load = os.getloadavg()[0]
    if load > BUSY:
        print(f"bench: the machine is busy (load {load:.1f}): these figures will be too low", file=sys.stderr)
    for model in dict.fromkeys(case.model for case in CASES):
        model.path()  # downloads and conversions before the clock runs
    results = HERE / "results"
    results.mkdir(exist_ok=True)
    file = results / f"speed-{datetime.datetime.now():%Y%m%d-%H%M%S}.json"
    options = ["--benchmark-only", "--benchmark-quiet", "-o", "timeout=0", f"--benchmark-json={file}"]
    status = pytest.main(["-p", "no:cacheprovider", str(HERE), *options, *arguments])
    if file.is_file() and file.stat().st_size:
        run = json.loads(file.read_text(encoding="utf-8"))
        run["machine_info"]["load_before"] = load
        file.write_text(json.dumps(run, indent=1), encoding="utf-8")
        print(f"\n{report.summary(run)}\n\n{report.table(run)}\n\n{file}")
    return int(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
