"""Patterns of a .gitignore, as git reads them, in time that grows with the length of a path and not with a power of it.

pathspec, which has the same purpose, takes a minute for `**/a/**/a/**/*.x` and a path of 4,000 bytes, hours for a few
stars more, and answers other than git where a folder is asked for; anybody can put such a file into a folder.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

LONGEST = 4096  # characters: no path has more
STARS = re.compile(r"(\*+)")
BRACKET = re.compile(r"\[([!^]?)((?:\]|\\.|\[:\w+:\]|[^\]\\])(?:\\.|\[:\w+:\]|[^\]\\])*)\]", re.DOTALL)
MEMBER = re.compile(r"\[:(\w+):\]|(\\?.)(?:-(\\?[^\]]))?", re.DOTALL)
CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t-\r ",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}
NONE = "(?!)"  # matches nothing


class _Rule(NamedTuple):
    """`whole`: about the path, not the name alone."""

    takes_back: bool
    folders_only: bool
    whole: bool
    regex: re.Pattern[str]


class Patterns:
    """The lines of a .gitignore. A folder's path ends in a slash, and paths are below the folder of the file."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._rules = [rule for line in lines if (rule := _rule(line))][::-1]

    def __bool__(self) -> bool:
        return bool(self._rules)

    def match(self, path: str) -> bool | None:
        """What the last pattern that matches says of it: False where it takes it back. None where none matches."""
        folder = path.endswith("/")
        path = path.rstrip("/")
        name = path[path.rfind("/") + 1 :]
        for takes_back, folders_only, whole, regex in self._rules:
            if (folder or not folders_only) and regex.fullmatch(path if whole else name):
                return not takes_back
        return None

    def covers(self, path: str) -> bool:
        """Whether it matches, or the nearest folder above it of which something is said."""
        while (said := self.match(path)) is None and "/" in path.rstrip("/"):
            path = path.rstrip("/").rpartition("/")[0] + "/"
        return bool(said)


def _rule(line: str) -> _Rule | None:
    """None for what is no pattern, or one that matches nothing."""
    line = _trimmed(line.removesuffix("\r"))
    if line.startswith("#") or len(line) > LONGEST:
        return None
    takes_back = line.startswith("!")
    line = line[takes_back:]
    folders_only = line.endswith("/")
    line = line[: len(line) - folders_only]
    if not line:
        return None
    whole = "/" in line
    regex = _path(line.removeprefix("/")) if whole else _name(line)
    return _Rule(takes_back, folders_only, whole, re.compile(regex, re.DOTALL))


def _trimmed(line: str) -> str:
    """Without the spaces at its end that no backslash keeps."""
    short = line.rstrip(" ")
    kept = len(short) < len(line) and (len(short) - len(short.rstrip("\\"))) % 2
    return line[: len(short) + 1] if kept else short


def _path(pattern: str) -> str:
    """Names between slashes; two stars alone are any folders, or none.

    What stands before them is looked for from the left and, once found, not elsewhere: what comes after it then has the
    most to choose from, so trying others would find nothing more.
    """
    *groups, last = _groups(pattern.split("/"))
    anywhere = "(?:[^/]*+/)*?"
    found = "".join(
        "(?>" + (anywhere if number else "") + "".join(f"{_name(name)}/" for name in names) + ")"
        for number, names in enumerate(groups)
    )
    if not last:  # two stars at the end: all that is inside
        return f"{found}.+"
    return found + (anywhere if groups else "") + "/".join(map(_name, last))


def _groups(names: list[str]) -> list[list[str]]:
    """The names between those that are two stars."""
    groups: list[list[str]] = [[]]
    for name in names:
        if len(name) > 1 and not name.strip("*"):
            groups.append([])
        else:
            groups[-1].append(name)
    return groups


def _name(pattern: str) -> str:
    """One name. Each star takes as little as it can and keeps to it, for the same reason; the last takes the rest."""
    first, *others = _between_stars(pattern)
    if not others:
        return first
    *inner, last = others
    return first + "".join(f"(?>[^/]*?{part})" for part in inner) + f"[^/]*{last}" + ("(?=/|\\Z)" if last else "")


def _between_stars(pattern: str) -> list[str]:
    """What stands between stars, each as a regular expression for so many characters."""
    parts, at = [""], 0
    while at < len(pattern):
        part, at = _character(pattern, at)
        if part is not None:
            parts[-1] += part
        elif len(parts) == 1 or parts[-1]:
            parts.append("")
    return parts


def _character(pattern: str, at: int) -> tuple[str | None, int]:
    """The next character as a regular expression, None for a star, and what comes after it."""
    character = pattern[at]
    if character == "*":
        return None, at + 1
    if character == "?":
        return "[^/]", at + 1
    if character == "[":
        found = BRACKET.match(pattern, at)
        return (_bracket(found[1] != "", found[2]), found.end()) if found else (NONE, len(pattern))
    if character == "\\":
        return (re.escape(pattern[at + 1]), at + 2) if at + 1 < len(pattern) else (NONE, at + 1)
    return re.escape(character), at + 1


def _bracket(negated: bool, members: str) -> str:
    found = ""
    for named, one, other in MEMBER.findall(members):
        if named:
            if named not in CLASSES:
                return NONE
            found += CLASSES[named]
            continue
        low, high = one[-1], (other or one)[-1]
        found += f"{re.escape(low)}-{re.escape(high)}" if low <= high else ""
    if not found:
        return "[^/]" if negated else NONE
    return f"(?!/)[{'^' if negated else ''}{found}]"
