"""What commands print: JSON lines on stdout, notes for people on stderr."""

import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from bankml.errors import ModelWarning
from bankml.utf8 import whole

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON; an error too, as one object on stdout.")]
Model = Annotated[
    str | None, typer.Option("--model", "-m", help="A GGUF file, a built-in or an Ollama name.", show_default=False)
]


def write_json(value: Any) -> None:
    """One line of JSON on stdout; numpy arrays are allowed, lone surrogates become U+FFFD."""
    import orjson

    sys.stdout.buffer.write(orjson.dumps(whole(value), option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE))
    sys.stdout.buffer.flush()


def note(sentence: str) -> None:
    """A sentence for the person at the terminal."""
    print(f"bankml: {sentence}", file=sys.stderr)


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
