"""Records for people: drawn on a terminal, a tab between fields elsewhere. What they hold obeys nobody."""

import sys
from typing import TYPE_CHECKING, Any

from bankml.cli.passages import INDENT, indented, told
from bankml.utf8 import line, printable

if TYPE_CHECKING:
    from bankml.memory.recall.recalled import Memory, Recalled

WIDTH = 240  # characters of a content that are shown


def write_recalled(found: "Recalled", root: bytes, explain: bool = False) -> None:
    """The records and the status line, on stdout. `root`: of who asks."""
    from bankml.memory.recall.compact import compact

    shown = [(memory, compact(memory, root, found.marks)) for memory in found.results]
    if sys.stdout.isatty():
        _draw(shown, found, explain)
    else:
        for memory, fields in shown:
            print(fields["id"], _score(memory), *map(line, (fields["title"], _content(memory, found).text)), sep="\t")
            if explain:
                print(f"# {told(memory.explained)}")
        print(f"# {line(found.status)}")
    if explain:
        for name, value in found.explained.items():
            print(f"# {name}: {line(told(value))}")


def facts(fields: dict[str, Any]) -> list[str]:
    """What is worth saying of a record in few words; `fields` as of `compact`."""
    said = [fields["id"], fields["category"]]
    said += [fields[name] for name, usual in (("status", "active"), ("freshness", "current")) if fields[name] != usual]
    said += [fields["namespace"]] if fields["namespace"] != "project" else []
    said += [f"superseded by {fields['superseded_by']}"] if "superseded_by" in fields else []
    said += [fields["repository"]] if "repository" in fields else []
    return [line(each) for each in [*said, *(f"#{tag}" for tag in fields["tags"])]]


def _score(memory: "Memory") -> str:
    return memory.score if isinstance(memory.score, str) else f"{memory.score:.3f}"


def _content(memory: "Memory", found: "Recalled") -> Any:
    from bankml.library.search.snippet import snippet

    text = memory.passage if len(memory.record.content) > WIDTH and memory.passage else memory.record.content
    return snippet(printable(text.replace("\n", " ").replace("\t", " ")), found.marks, WIDTH)


def _draw(shown: "list[tuple[Memory, dict[str, Any]]]", found: "Recalled", explain: bool) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console()
    for rank, (memory, fields) in enumerate(shown, 1):
        number = f"{rank}  "
        indented(console, Text(line(fields["title"]), "bold"), number, " " * len(number))
        part = _content(memory, found)
        text = Text(part.text)
        for start, end in part.spans:
            text.stylize("bold reverse", start, end)
        indented(console, text, INDENT, INDENT)
        if fields["affectedPaths"]:
            indented(console, Text(", ".join(map(line, fields["affectedPaths"]))), INDENT, INDENT)
        indented(console, Text("  ".join([*facts(fields), *_numbers(memory)]), "dim"), INDENT, INDENT)
        if explain:
            indented(console, Text(told(memory.explained), "dim"), INDENT, INDENT)
        console.print()
    console.print(Text(line(found.status), "italic"))


def _numbers(memory: "Memory") -> list[str]:
    numbers = [f"score {_score(memory)}"] if isinstance(memory.score, float) else [line(_score(memory))]
    numbers += [f"cosine {memory.cosine:.3f}"] if memory.cosine is not None else []
    return numbers + (["weak"] if memory.weak else [])
