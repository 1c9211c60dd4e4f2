"""What a document is called: by itself, else by its file."""

import os.path
import re
from collections.abc import Sequence

from bankml.documents.extracted import Block
from bankml.utf8 import printable

LONGEST = 200  # characters
# A link to the heading itself, as Sphinx, rustdoc and others put it there; "C#" has no space before its last.
PERMALINK = re.compile(r"\A(?:[¶§\U0001f517\uf0c1]\s*|#+\s+)+|(?:\s*[¶§\U0001f517\uf0c1]|\s+#+)+\s*\Z")
MARKS = "#=-~^*\"'`+_:. \t"


def titled(name: str, text: str, blocks: Sequence[Block]) -> str:
    """The first heading of the text if nothing but a few blocks stand before it, else the name of the file."""
    for block in blocks[:3]:
        if block.kind == "heading" and (title := first_line(text[block.start : block.end])):
            return title
    return of_file(name)


def of_file(name: str) -> str:
    """The name without its folders."""
    return printable(os.path.basename(name.rstrip("/")))[:LONGEST]


def first_line(heading: str) -> str:
    """Of a heading, without what marks it as one; "" where there is none."""
    lines = (line.strip().strip(MARKS) for line in heading.splitlines()[:3])
    return shortened(next((line for line in lines if line), ""))


def shortened(title: str) -> str:
    """In one line of no more than `LONGEST` characters."""
    words = PERMALINK.sub("", printable(" ".join(title[: 4 * LONGEST].split())))
    return words if len(words) <= LONGEST else words[: LONGEST - 1] + "…"
