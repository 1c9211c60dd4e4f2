"""The texts a command works on: its arguments, or the lines of stdin."""

import sys
from collections.abc import Iterator
from itertools import count, islice
from typing import Annotated

import typer

from bankml.errors import InputError

BATCH = 32  # texts encoded and printed at a time: of 30 tokens they fill a pass, and a reader of the pipe sees progress

LONGEST = 64 * 2**20  # bytes of a line: one without an end would fill the memory

Texts = Annotated[
    list[str] | None,
    typer.Argument(metavar="[TEXT…|-]", help="Texts; - or none: the lines of stdin.", show_default=False),
]


def batches(texts: list[str] | None) -> Iterator[list[str]]:
    """The texts, at most BATCH at a time. A line of stdin is a text, without its line end; an empty one counts."""
    source = iter(texts) if texts and texts != ["-"] else _lines()
    while batch := list(islice(source, BATCH)):
        yield batch


def _lines() -> Iterator[str]:
    if sys.stdin is None:
        raise InputError("stdin is closed; give the texts as arguments, or pipe them in")
    for number in count(1):
        line = sys.stdin.buffer.readline(LONGEST + 1)
        if not line:
            return
        if len(line) > LONGEST:
            raise InputError(f"line {number} of stdin is longer than 64 MiB; put each text on a line of its own")
        yield line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", "replace")
