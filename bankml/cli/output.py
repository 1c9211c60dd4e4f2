"""What commands print: JSON lines on stdout, notes for people on stderr."""

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON; an error too, as one object on stdout.")]
Model = Annotated[
    str | None, typer.Option("--model", "-m", help="A GGUF file, a built-in or an Ollama name.", show_default=False)
]


def write_json(value: Any) -> None:
    """One line of JSON on stdout; numpy arrays are allowed, lone surrogates become U+FFFD."""
    import orjson

    sys.stdout.buffer.write(orjson.dumps(_whole(value), option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE))
    sys.stdout.buffer.flush()


def note(sentence: str) -> None:
    """A sentence for the person at the terminal."""
    print(f"bankml: {sentence}", file=sys.stderr)


def _whole(value: Any) -> Any:
    """The same with every str fit for UTF-8: arguments of a terminal may hold any byte."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    return [_whole(item) for item in value] if isinstance(value, list) else value


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
