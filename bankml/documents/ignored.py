"""What the .gitignore and .ignore files of a folder and of those above it leave out, as git does it."""

import os
import stat
from dataclasses import dataclass
from typing import Self

from bankml.documents.patterns import Patterns
from bankml.documents.source import FLAGS
from bankml.errors import InputError

FILES = (".gitignore", ".ignore")  # the second is for what git keeps and a search should not find; it is read last
REPOSITORY = ".git"
EXCLUDE = os.path.join(REPOSITORY, "info", "exclude")
LARGEST = 128 << 10  # bytes: some ten thousand patterns, each of which every name is compared with


@dataclass(frozen=True, slots=True)
class Ignored:
    """The patterns of a folder, and those above, which are asked where its own say nothing."""

    folder: str
    patterns: Patterns
    above: "Ignored | None" = None

    @classmethod
    def above_of(cls, folder: str) -> "Ignored | None":
        """What the rest of the repository that the folder is in says; None where it is in none."""
        way = [folder]
        while not os.path.lexists(os.path.join(way[-1], REPOSITORY)):
            parent = os.path.dirname(way[-1])
            if parent == way[-1]:
                return None
            way.append(parent)
        found: Ignored | None = None
        for one in reversed(way[1:]):
            found = cls.of(one, found)
        return found

    @classmethod
    def of(cls, folder: str, above: "Self | None") -> "Self | None":
        """With the files of this folder. Raises InputError for one that is there and cannot be used, and OSError."""
        repository = os.path.lexists(os.path.join(folder, REPOSITORY))
        lines = [line for name in ((EXCLUDE,) if repository else ()) + FILES for line in _lines(folder, name)]
        above = None if repository else above
        return cls(folder, patterns, above) if (patterns := Patterns(lines)) else above

    def hides(self, path: str) -> bool:
        """Whether a path below the folder is left out; a folder's path ends in a slash."""
        rules: Ignored | None = self
        while rules:
            below = path[len(rules.folder.rstrip(os.sep)) + 1 :]
            if (answer := rules.patterns.match(below)) is not None:
                return answer
            rules = rules.above
        return False


def _lines(folder: str, name: str) -> list[str]:
    """As git does, links are not followed."""
    try:
        descriptor = os.open(os.path.join(folder, name), FLAGS | os.O_NOFOLLOW)
    except OSError as error:
        if stat.S_ISREG(_mode(os.path.join(folder, name))):
            raise InputError(f"is left out, as its {name} cannot be read ({error.strerror}): mend that") from None
        return []
    try:
        content = os.read(descriptor, LARGEST + 1) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    finally:
        os.close(descriptor)
    if len(content) > LARGEST:
        raise InputError(f"is left out, as its {name} has more than {LARGEST:,} bytes: shorten that")
    return content.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape").split("\n")


def _mode(path: str) -> int:
    try:
        return os.lstat(path).st_mode
    except OSError:
        return 0
