"""What commands print: JSON lines on stdout, notes for people on stderr."""

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from bankml.errors import ModelWarning
from bankml.utf8 import whole

PATIENCE = 2  # seconds without a sign of life

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON; an error too, as one object on stdout.")]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help="A GGUF file, a built-in, hf:owner/repo/file.gguf or an Ollama name.",
        show_default=False,
    ),
]


def write_json(*values: Any) -> None:
    """A line of JSON on stdout for each value; numpy arrays are allowed, lone surrogates become U+FFFD."""
    import orjson

    option = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE
    sys.stdout.buffer.write(b"".join(orjson.dumps(whole(value), option=option) for value in values))
    sys.stdout.buffer.flush()


def abandon_output() -> None:
    """What stdout still holds goes nowhere, or the interpreter would fail once more at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def note(sentence: str) -> None:
    """A sentence for the person at the terminal."""
    print(f"bankml: {sentence}", file=sys.stderr)


@contextmanager
def counted(what: str) -> Iterator[Callable[[int], None]]:
    """`count(n)` adds to a number that a person at the terminal sees once the work has taken two seconds."""
    started, done = time.monotonic(), 0
    watched = sys.stderr.isatty() and not sys.stdout.isatty()

    def count(more: int) -> None:
        nonlocal done
        done += more
        if watched and time.monotonic() - started > PATIENCE:
            print(f"\rbankml: {done:,} {what}", end="", file=sys.stderr, flush=True)

    try:
        yield count
    finally:
        if watched and time.monotonic() - started > PATIENCE:
            print(file=sys.stderr)


def note_warnings() -> None:
    """From here on what models warn of (ModelWarning) is a note, each told once; other warnings stay as they are."""
    shown = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, ModelWarning):
            note(str(message))
        else:
            shown(message, category, *place, **more)

    warnings.showwarning = show


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns on stdout: drawn by rich on a terminal, separated by tabs elsewhere."""
    if not sys.stdout.isatty():
        for row in rows:
            print(*row, sep="\t")
        return
    from rich.console import Console
    from rich.table import Table

    drawn = Table(*(heading.replace("_", " ") for heading in headings), box=None)
    for row in rows:
        drawn.add_row(*row)
    Console().print(drawn)
