"""The titles above a passage as one line that leaves most of the room to the passage."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from bankml.documents.counting import Count, batched

BETWEEN = " > "
CUT = "…"

WORD = re.compile(r"\w+")

Path = tuple[str, ...]


class Breadcrumb(NamedTuple):
    """`tokens`: by `count`, special ones and prefix included."""

    line: str
    tokens: int


def titled(title: str, path: Path) -> Path:
    """The path below the document's title, where the headings do not say it; in place of the first if it says that."""
    said, own = _words(path[:1]), _words([title])
    if own <= _words(path):
        return path
    return (title, *path[1:]) if said and said <= own else (title, *path)


def _words(titles: Iterable[str]) -> set[str]:
    return {word for title in titles for word in WORD.findall(title.casefold())}


def breadcrumbs(paths: Iterable[Path], count: Count, most: int) -> dict[Path, Breadcrumb]:
    """Each path as "A > B > C", of at most `most` tokens.

    Too long a one loses its middle levels, from the left: the first says what the document is, the last ones what the
    passage is. Then the first goes too, then the end of the last.
    """
    known = dict.fromkeys(paths)
    lines = _counted([BETWEEN.join(path) for path in known], count)
    return {
        path: line if line.tokens <= most else _shortened(path, count, most)
        for path, line in zip(known, lines, strict=True)
    }


def _shortened(path: Path, count: Count, most: int) -> Breadcrumb:
    return next(line for line in _counted([*_shorter(path), ""], count) if line.tokens <= most or not line.line)


def _counted(lines: list[str], count: Count) -> list[Breadcrumb]:
    return list(map(Breadcrumb, lines, batched(lines, count)))


def _shorter(path: Path) -> Iterator[str]:
    first, *rest = path
    for left in range(1, len(rest)):
        yield BETWEEN.join((first, CUT, *rest[left:]))
    last = path[-1]
    if rest:
        yield BETWEEN.join((CUT, last))
    length = len(last)
    while (length := length * 3 // 4) > 0:
        yield last[:length].rstrip() + CUT
