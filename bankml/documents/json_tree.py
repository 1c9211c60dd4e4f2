"""JSON as a tree that keeps the line of each value, however deep it is."""

import json
import re
from dataclasses import dataclass, field
from itertools import islice

import orjson

from bankml.errors import DocumentError
from bankml.utf8 import whole

# Of a text that is known to be JSON: a string, a bracket, or a number or word.
TOKEN = re.compile(r'"((?:[^"\\]++|\\.)*+)"|([\[{])|([\]}])|([^\s,:\[\]{}"]++)', re.DOTALL)

VALUES = 1_000_000  # of one text: each takes some 200 bytes until it is written out
# Whatever the text: a string that never ends is one to the end, so nothing is looked for twice.
BEGINS = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|([\[{,])', re.DOTALL)

LENIENT = re.compile(r"NaN|Infinity|\\u[dD]")  # what Python's own parser takes, and orjson does not


@dataclass(slots=True)
class Leaf:
    """A string, or a number or word as it is written; "" for null."""

    line: int
    text: str


@dataclass(slots=True)
class Branch:
    """An array or an object, whose members have keys; an array's have "". A key that comes twice is there twice."""

    line: int
    is_object: bool
    members: list[tuple[str, "Node"]] = field(default_factory=list)


Node = Leaf | Branch


def tree(text: str) -> Node:
    """Its root. Raises ValueError, with what is wrong, where the text is no JSON or nested too deeply.

    Raises DocumentError where it has too many values.
    """
    value(text)
    open: list[Branch] = [Branch(1, False)]
    key: str | None = None
    at, line = 0, 1
    for token in TOKEN.finditer(text):
        line += text.count("\n", at, token.start())
        at = token.start()
        string, opens, closes, word = token.groups()
        if closes:
            open.pop()
            continue
        node: Node = Branch(line, opens == "{") if opens else Leaf(line, _leaf(string, word))
        if open[-1].is_object and key is None:
            key = _leaf(string, word)
            continue
        open[-1].members.append((key or "", node))
        key = None
        if isinstance(node, Branch):
            open.append(node)
    return open[0].members[0][1]


def value(text: str) -> object:
    """What the text says. Raises ValueError where it is no JSON or nested too deeply.

    Raises DocumentError, before anything is made of it, where it has more than `VALUES` values.
    """
    if _has_too_many(text):
        raise DocumentError(f"has more than {VALUES:,} values, which is no document to be read: split it")
    try:
        return orjson.loads(text)
    except ValueError:
        if not LENIENT.search(text):
            raise
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _has_too_many(text: str) -> bool:
    if sum(map(text.count, "[{,")) <= VALUES:  # those within strings, too
        return False
    found = (begin for begin in BEGINS.finditer(text) if begin.group(1))
    return next(islice(found, VALUES, None), None) is not None


def _leaf(string: str | None, word: str | None) -> str:
    if string is None:
        return "" if word == "null" or word is None else word
    return str(whole(json.loads(f'"{string}"', strict=False))) if "\\" in string else string
