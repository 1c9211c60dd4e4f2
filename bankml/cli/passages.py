"""Passages that were found, for people: drawn on a terminal, a tab between fields elsewhere."""

import sys
from typing import TYPE_CHECKING, Any

from bankml.library.search.snippet import Snippet, snippet
from bankml.utf8 import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from bankml.library.search.hit import Found, Hit


INDENT = " " * 3


def write_passages(found: "Found", explain: bool = False) -> None:
    """The passages and the status line, on stdout."""
    shown = [
        (hit, snippet(printable(hit.text.replace("\n", " ").replace("\t", " ")), found.marks)) for hit in found.results
    ]
    if sys.stdout.isatty():
        _draw(shown, found.status)
    else:
        for rank, (hit, part) in enumerate(shown, 1):
            print(rank, _place(hit), printable(hit.heading), *_numbers(hit), part.text, sep="\t")
        print(f"# {printable(found.status)}")
    if explain:
        for name, value in found.explained.items():
            print(f"# {name}: {printable(told(value))}")


def _place(hit: "Hit") -> str:
    """`notes.md:12`, as editors and terminals open it; `book.pdf, page 3`."""
    path = printable(hit.path)
    if hit.line is not None:
        return f"{path}:{hit.line}"
    return path if hit.page is None else f"{path}, page {hit.page}"


def _numbers(hit: "Hit") -> list[str]:
    cosine = "" if hit.cosine is None else f"{hit.cosine:.3f}"
    return [cosine, *("" if rank is None else str(rank) for rank in (hit.words_rank, hit.meaning_rank))]


def told(value: Any) -> str:
    """What explains a search, in words."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {_number(count)}" for key, count in value.items()) or "none"
    return str(value)


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def _draw(shown: "list[tuple[Hit, Snippet]]", status: str) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console()
    for rank, (hit, part) in enumerate(shown, 1):
        number = f"{rank}  "
        heading = Text.assemble((_place(hit), "bold"), f"  {printable(hit.heading)}")
        indented(console, heading, number, " " * len(number))
        text = Text(part.text)
        for start, end in part.spans:
            text.stylize("bold reverse", start, end)
        indented(console, text, INDENT, INDENT)
        indented(console, Text(_facts(hit), "dim"), INDENT, INDENT)
        console.print()
    console.print(Text(printable(status), "italic"))


def indented(console: "Console", text: "Text", first: str, others: str) -> None:
    """Wrapped, each line behind its indent, and without the spaces that would fill it."""
    from rich.text import Text

    for number, line in enumerate(text.wrap(console, max(1, console.width - len(first)))):
        line.rstrip()
        console.print(Text.assemble(others if number else first, line), no_wrap=True, overflow="ignore", crop=False)


def _facts(hit: "Hit") -> str:
    cosine, words, meaning = _numbers(hit)
    named = (("cosine", cosine), ("words", words), ("meaning", meaning))
    facts = [f"{name} {value}" for name, value in named if value]
    if hit.others:
        facts.append(f"and {hit.others:,} more {'place' if hit.others == 1 else 'places'}")
    return "  ".join(facts)
