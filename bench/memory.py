"""`python -m bench.memory`: start-up and memory of a fresh process on bge-m3's shape, against what is promised.

It embeds the sections of the Debian FAQ in ten languages, cut to 64 tokens each (about eight minutes on two cores);
`--whole` takes them as they are (half an hour). Exit status 1 when a promise is broken.
"""

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import cases, results, sections

STARTS = 5  # processes whose start-up is measured; the median counts
PROMISED = {"resident": 0.75e9, "first_vector": 1.0, "import": 0.2}  # bytes, seconds


def measure(
    path: Path, texts: Sequence[str], max_tokens: int, environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Figures of a fresh process; `max_tokens` 0 means whole texts."""
    command = [sys.executable, "-m", "bench.footprint", str(path), str(max_tokens)]
    done = subprocess.run(
        command, input=json.dumps(texts), stdout=subprocess.PIPE, text=True, check=True, env=environment
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def figures(path: Path, texts: Sequence[str], max_tokens: int) -> dict[str, Any]:
    """Medians of the starts, with a warm page cache, and the memory after all texts."""
    warm(path)
    starts = [measure(path, [], 0) for _ in range(STARTS)]
    found = measure(path, texts, max_tokens)
    median = {key: statistics.median(start[key] for start in starts) for key in ("import", "load", "first_vector")}
    after = found["after_all"]
    return {**found, **median, "resident": after["anon"] + after["file"], "texts": len(texts), "max_tokens": max_tokens}


def warm(path: Path) -> None:
    """Reads the file into the page cache."""
    with path.open("rb", buffering=0) as file:
        buffer = bytearray(4 << 20)
        while file.readinto(buffer):
            pass


def lines(found: dict[str, Any]) -> list[str]:
    """The figures in words, those with a promise first."""
    after = found["after_all"]
    cut = f"cut to {found['max_tokens']} tokens" if found["max_tokens"] else "whole"
    speed = found["tokens"] / found["embedding"]
    anon, file, peak = (after[key] / 1e6 for key in ("anon", "file", "peak"))
    return [
        f"import {1e3 * found['import']:.0f} ms (at most {1e3 * PROMISED['import']:.0f})",
        f"first vector {found['first_vector']:.2f} s after import (at most {PROMISED['first_vector']:.0f}), "
        f"of it loading {found['load']:.2f} s; median of {STARTS} processes",
        f"resident {found['resident'] / 1e6:.0f} MB (at most {PROMISED['resident'] / 1e6:.0f}): "
        f"anon {anon:.0f}, file {file:.0f}; the most at any moment {peak:.0f}",
        f"{found['texts']} sections, {cut}: {found['tokens']} tokens in {found['embedding']:.0f} s, "
        f"{speed:.0f} tokens/s",
    ]


def broken(found: dict[str, Any]) -> list[str]:
    """Names of the promises that the figures break."""
    return [name for name, most in PROMISED.items() if found[name] > most]


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.memory", description=__doc__)
    parser.add_argument("--max-tokens", type=int, default=64, help="tokens of each section (default 64)")
    parser.add_argument("--whole", action="store_true", help="do not cut the sections")
    parser.add_argument("--model", type=Path, help="a GGUF file (default: bge-m3's shape with seeded weights)")
    options = parser.parse_args()
    texts = [text for language in sections.LANGUAGES for text in sections.sections(language)]
    found = figures(options.model or cases.BGE_M3.path(), texts, 0 if options.whole else options.max_tokens)
    print("\n".join([*lines(found), str(results.keep("memory", {"figures": found})[0])]))
    for name in broken(found):
        print(f"more than promised: {name} is {found[name]:.3g}, {PROMISED[name]:.3g} is promised", file=sys.stderr)
    return 1 if broken(found) else 0


if __name__ == "__main__":
    sys.exit(main())
