"""What commands print: JSON lines on stdout for programs, and for people what no file can abuse a terminal with."""

import io
import logging
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from bankml.errors import ModelWarning
from bankml.utf8 import printable, whole

PATIENCE = 2  # seconds without a sign of life

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON; an error too, as one object on stdout.")]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help="A GGUF file, a name of `bankml models`, hf:owner/repo or an Ollama name.",
        show_default=False,
    ),
]


class OutputError(OSError):
    """stdout does not take what is written to it."""


class _Output(io.FileIO):
    """A file descriptor whose faults are told from those of other files."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            raise OutputError(error.errno, error.strerror) from None


class _Told(io.FileIO):
    """A file descriptor that takes everything: what cannot be written there is lost, and fails no command."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError:
            return len(data)


def guard_output() -> None:
    """From here on a write to stdout that fails is an OutputError, and one to stderr is lost.

    A path that is not UTF-8 leaves as it came.
    """
    raw = _Output(sys.stdout.fileno(), "w", closefd=False)
    buffered, encoding = io.BufferedWriter(raw), sys.stdout.encoding
    sys.stdout = io.TextIOWrapper(buffered, encoding, "surrogateescape", line_buffering=raw.isatty())
    with suppress(OSError):  # stderr is closed, or no file
        told = _Told(sys.stderr.fileno(), "w", closefd=False)
        sys.stderr = io.TextIOWrapper(
            io.BufferedWriter(told), sys.stderr.encoding, "backslashreplace", line_buffering=True
        )


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
    print(f"bankml: {printable(sentence)}", file=sys.stderr)


def write_facts(facts: Mapping[str, object], width: int) -> None:
    """A line on stdout for each fact, its value after `width` columns."""
    for key, value in facts.items():
        print(f"{printable(key):<{width}} {printable(str(value))}")


def write_path(path: Path) -> None:
    """A path on stdout: to the byte, but for a terminal."""
    print(printable(str(path)) if sys.stdout.isatty() else path)


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


class _Notes(logging.Handler):
    """A note for each record."""

    def emit(self, record: logging.LogRecord) -> None:
        note(record.getMessage())


def note_news() -> None:
    """From here on what models tell while they are made ready (bankml.models.notice) is a note."""
    news = logging.getLogger("bankml.models.notice")
    news.setLevel(logging.INFO)
    news.addHandler(_Notes())


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns on stdout: drawn by rich on a terminal, separated by tabs elsewhere."""
    if not sys.stdout.isatty():
        for row in rows:
            print(*map(printable, row), sep="\t")
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(*(heading.replace("_", " ") for heading in headings), box=None)
    for row in rows:
        drawn.add_row(*(Text(printable(cell)) for cell in row))  # Text: brackets in a name are no markup
    Console().print(drawn)
