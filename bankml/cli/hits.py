"""Exchanges that were found, for people: drawn on a terminal, a tab between fields elsewhere."""

import sys
from typing import TYPE_CHECKING

from bankml.utf8 import line, printable

if TYPE_CHECKING:
    from rich.text import Text

    from bankml.history.searcher import Found, Hit

LINES = 3  # of an answer that are shown
WIDTH = 240  # characters of a question or of an answer's lines
BAR = 10  # characters of a cosine of 1


def write_hits(found: "Found", query: str) -> None:
    """The hits and the status line, on stdout."""
    if sys.stdout.isatty():
        _draw(found, query)
        return
    for hit in found.results:
        cosine = "" if hit.cosine is None else f"{hit.cosine:.3f}"
        ranks = ("" if rank is None else str(rank) for rank in (hit.words_rank, hit.meaning_rank))
        print(hit.id, f"{hit.score:.6f}", cosine, *ranks, *map(line, (hit.user, hit.assistant)), sep="\t")
    print(f"# {printable(found.status)}")


def _draw(found: "Found", query: str) -> None:
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    from bankml.lexical import marked

    console, terms = Console(), marked(query)
    for hit in found.results:
        console.print(Text(_facts(hit), "dim"))
        console.print(Padding(_marked(hit.user, terms, "bold"), (0, 0, 0, 2)))
        console.print(Padding(_marked(hit.assistant, terms, ""), (0, 0, 1, 2)))
    console.print(Text(printable(found.status), "italic"))


def _facts(hit: "Hit") -> str:
    facts = [f"#{hit.id}"]
    if hit.cosine is not None:
        filled = round(max(0.0, min(1.0, hit.cosine)) * BAR)
        facts.append(f"{'━' * filled}{'╌' * (BAR - filled)} {hit.cosine:.3f}")
    ranks = (("words", hit.words_rank), ("meaning", hit.meaning_rank))
    return "  ".join([*facts, *(f"{arm} {rank}" for arm, rank in ranks if rank is not None)])


def _marked(text: str, terms: frozenset[str], style: str) -> "Text":
    """Its first lines, with what matches one of the terms marked."""
    from rich.text import Text

    from bankml.lexical import spans

    kept = "\n".join(text.strip().splitlines()[:LINES])
    shown = kept[:WIDTH] + ("…" if len(kept) > WIDTH or len(kept) < len(text.strip()) else "")
    drawn = Text("\n".join(printable(each.replace("\t", " ")) for each in shown.split("\n")), style)
    for start, end in spans(shown, terms):
        drawn.stylize("reverse", start, end)
    return drawn
