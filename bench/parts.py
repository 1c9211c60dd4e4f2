"""A run of several parts, each of which may be asked for alone."""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench.report import BUSY


def fill(run: dict[str, Any], work: Mapping[str, Callable[[], Any]], wanted: Sequence[str]) -> None:
    """Puts the figures of each part that is wanted into `run`, when it has them."""
    for part in wanted:
        print(f"{part} …", file=sys.stderr, flush=True)
        run[part] = work[part]()


def opening(command: str, run: Mapping[str, Any]) -> list[str]:
    """The paragraphs before the tables: when, where and how busily it ran."""
    parts = [f"`{command}`, {run['datetime'][:10]}, {run['machine']}; load {run['load'][0]:.1f} before."]
    if run["load"][0] > BUSY:
        parts.append("**The machine was busy: these times are too long.**")
    return parts
