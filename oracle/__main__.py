"""Every comparison, live: python -m oracle [--quick] [--only PART …]. Exit status 1 when a tolerance is exceeded."""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bankml import models
from oracle import report
from oracle.report import Row

PARTS = ("tokens", "builtin", "tiny", "converted", "full", "published", "faults")


def main() -> int:
    """Runs the parts that were asked for, prints their table, and keeps their figures in the README."""
    options = _options()
    minilm, e5 = models.pull("all-minilm-l6-v2"), models.pull("multilingual-e5-small")
    wanted = [name for name in options.only if not (options.quick and name == "full")]
    found: dict[str, list[Row]] = {}
    for name, part in _parts(minilm, e5).items():
        if name in wanted:
            start = time.monotonic()
            found[name] = part()
            print(f"{name}: {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    rows = [row for listed in found.values() for row in listed]
    print(report.table(rows))
    if options.write:
        report.write(found, " ".join(["python -m oracle", *sys.argv[1:]]))
    return int(not all(row.passed for row in rows))


def _parts(minilm: Path, e5: Path) -> dict[str, Callable[[], list[Row]]]:
    from oracle import converted, tokens, vectors

    return {
        "tokens": lambda: tokens.compare(minilm, e5),
        "published": vectors.published,
        "builtin": lambda: [
            *vectors.builtin("all-minilm-l6-v2, F16", minilm),
            *vectors.builtin("multilingual-e5-small, Q4_0", e5),
        ],
        "tiny": vectors.tiny,
        "converted": converted.compare,
        "faults": lambda: vectors.faults(minilm, e5),
        "full": vectors.full,
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m oracle", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="without bge-m3's full shape (1.16 GB, some minutes)")
    parser.add_argument("--no-write", dest="write", action="store_false", help="leave oracle/README.md as it is")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, metavar="PART", help=", ".join(PARTS))
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
