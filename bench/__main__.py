"""`python -m bench [--full] [--cpu avx2] [-k EXPRESSION]`: runs the cases, keeps the JSON and prints the tables.

Figures are kept after every case. `--full`, which takes hours, goes on where the newest run of the same machine,
versions and sources was cut short; `--fresh` begins a new one, `--resume` goes on with a quick one.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench import aims, cpu, report
from bench import rounds as speed
from bench.plugin import Run
from bench.results import Results, part

HERE = Path(__file__).parent


def main(arguments: Sequence[str]) -> int:
    """pytest's exit status; 1 with a sentence when this machine cannot do it."""
    options, rest = _parser().parse_known_args(arguments)
    try:
        cpu.check(options.cpu)
    except RuntimeError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    if (load := os.getloadavg()[0]) > report.BUSY:
        print(f"bench: the machine is busy (load {load:.1f}): these figures will be too low", file=sys.stderr)
    kind = part(options.full, options.cpu)
    goes_on = (options.full or options.resume) and not options.fresh
    if goes_on and (earlier := Results.latest(kind)):
        run = Run(earlier, options.full, options.cpu)
        status = _tests(run, rest)
        if status != pytest.ExitCode.NO_TESTS_COLLECTED or not run.there:
            return status
        print("bench: nothing is lacking there: beginning a new run", flush=True)
    return _tests(Run(Results.new(kind), options.full, options.cpu), rest)


def _tests(run: Run, rest: Sequence[str]) -> int:
    kept = run.kept
    kept.run["machine_info"] |= speed.machine(run.cpu)
    # faulthandler would take the signals over from the engine's own handler, which has truncated files told as errors.
    plugins = ["-p", "no:cacheprovider", "-p", "no:faulthandler"]
    options = ["-s", *plugins, "-o", "timeout=0", str(HERE / "test_speed.py"), *rest]
    status = pytest.main(options, plugins=[run])
    if status != pytest.ExitCode.NO_TESTS_COLLECTED and kept.file.is_file():
        print(f"\n{report.summary(kept.run)}\n\n{report.table(kept.run)}\n\n{aims.table(kept.run)}\n\n{kept.file}")
    return int(status)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__, epilog="Other options are pytest's.")
    parser.add_argument("--full", action="store_true", help="every length, model and batch: hours")
    parser.add_argument("--cpu", choices=cpu.CPUS, default="native", help="the CPU that the engines see")
    parser.add_argument("--resume", action="store_true", help="go on with the newest run (as --full does)")
    parser.add_argument("--fresh", action="store_true", help="begin a new run")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
