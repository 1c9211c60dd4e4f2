"""One value of a small YAML file put or removed in its text: whatever else stands there stays to the byte.

A library that writes a file anew from what it understood (ruamel.yaml) folds, requotes and moves comments. Here PyYAML
says where a value stands, and only that is exchanged. What is made is to be read again before it is believed: shapes
that are not foreseen (explicit keys, several documents) give a text that says something else.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import yaml

from bankml.library.model.strict_yaml import StrictLoader
from bankml.library.model.yaml_comments import comments

STEP = 2  # columns that a mapping in a mapping is indented
PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*")

Value = str | int | bool


class ShapeError(ValueError):
    """A text in which nothing can be found."""


class Entry(NamedTuple):
    """A key with its value, in the mapping where it stands."""

    mapping: yaml.MappingNode
    key: yaml.Node
    value: yaml.Node


def put(text: str, names: Sequence[str], value: Value) -> str:
    """`text` with `value` under the key that is reached by `names`, one mapping in another. Raises ShapeError."""
    root = _root(text)
    if not isinstance(root, yaml.MappingNode) or not root.value:
        return _appended(text, len(text) if root is None else root.end_mark.index, _lines(names, value, 0))
    trail, rest = _way(root, names)
    if trail and not isinstance(trail[-1].value, yaml.MappingNode):
        return _exchanged(text, trail[-1].value, _inline(rest, value))
    mapping = trail[-1].value if trail else root
    assert isinstance(mapping, yaml.MappingNode)
    if mapping.flow_style or not mapping.value:
        at = text.index("{", mapping.start_mark.index) + 1
        return text[:at] + _inline(rest, value)[1:-1] + (", " if mapping.value else "") + text[at:]
    return _appended(text, _end(mapping), _lines(rest, value, mapping.value[0][0].start_mark.column))


def removed(text: str, names: Sequence[str]) -> str:
    """`text` without the key that is reached by `names`; mappings that would be empty go too, comments stay.

    Raises ShapeError.
    """
    root = _root(text)
    if not isinstance(root, yaml.MappingNode):
        return text
    trail, rest = _way(root, names)
    if rest or not trail:
        return text
    alone = [all(len(below.mapping.value) == 1 for below in trail[at + 1 :]) for at in range(len(trail))]
    for entry, sole in zip(trail, alone, strict=True):
        if sole and (entry is trail[-1] or "#" not in text[entry.key.start_mark.index : _end(entry.value)]):
            return _without(text, entry)
    return text


def scalar(value: Value) -> str:
    """As YAML has it, in one line: `true`, `12`, `bge-m3`, `"query: "`."""
    if isinstance(value, str):
        if PLAIN.fullmatch(value) and yaml.safe_load(value) == value:
            return value
        return yaml.safe_dump(value, default_style='"', allow_unicode=True, width=float("inf")).rstrip("\n")
    return str(value).lower()


def _root(text: str) -> yaml.Node | None:
    try:
        return yaml.compose(text, StrictLoader)
    except yaml.YAMLError as error:
        raise ShapeError(str(error)) from None


def _way(mapping: yaml.MappingNode, names: Sequence[str]) -> tuple[list[Entry], Sequence[str]]:
    """The entries that lead towards `names`, and what of these is left. A key may hold several, joined by dots."""
    trail: list[Entry] = []
    while names:
        found = next(
            (
                (Entry(mapping, key, value), names[length:])
                for length in range(len(names), 0, -1)
                for key, value in mapping.value
                if key.value == ".".join(names[:length])
            ),
            None,
        )
        if found is None:
            break
        trail.append(found[0])
        names = found[1]
        if not isinstance(found[0].value, yaml.MappingNode):
            break
        mapping = found[0].value
    return trail, names


def _lines(names: Sequence[str], value: Value, column: int) -> list[str]:
    """A key under a key, each in its line."""
    keys = [f"{' ' * (column + STEP * depth)}{name}:" for depth, name in enumerate(names)]
    return [*keys[:-1], f"{keys[-1]} {scalar(value)}"]


def _inline(names: Sequence[str], value: Value) -> str:
    """The value, in as many mappings of one line as there are names."""
    shown = scalar(value)
    for name in reversed(names):
        shown = f"{{{name}: {shown}}}"
    return shown


def _appended(text: str, at: int, lines: Sequence[str]) -> str:
    """`text` with `lines` behind the line that ends at or behind `at`."""
    ending = "\r\n" if "\r\n" in text else "\n"
    if at and text[at - 1] != "\n":
        at = text.find("\n", at) + 1 or len(text)
    before = text[:at]
    if before.strip("\ufeff") and not before.endswith("\n"):
        before += ending
    return before + "".join(line + ending for line in lines) + text[at:]


def _exchanged(text: str, node: yaml.Node, shown: str) -> str:
    start, end = node.start_mark.index, _end(node)
    old = text[start:end]
    space = " " if not old and text[start - 1] == ":" else ""
    if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
        shown += "".join(f"  {comment}" for comment in comments(text, start, end))
    return text[:start] + space + shown + old[len(old.rstrip()) :] + text[end:]


def _without(text: str, entry: Entry) -> str:
    if entry.mapping.flow_style:
        return _exchanged(text, entry.value, "null")
    start = entry.key.start_mark.index - entry.key.start_mark.column
    end = _end(entry.value)
    behind = end if text[end - 1] == "\n" else text.find("\n", end) + 1 or len(text)
    kept = comments(text, start, behind)
    if not kept:
        return text[:start] + text[behind:]
    ending = "\r\n" if "\r\n" in text else "\n"
    lines = f"{ending}{' ' * entry.key.start_mark.column}".join(kept)
    return text[: entry.key.start_mark.index] + lines + (ending if text[behind - 1] == "\n" else "") + text[behind:]


def _end(node: yaml.Node) -> int:
    """Where its last value ends: a mapping's own mark is behind the comments that follow it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)
