"""Which of the files in a folder may be documents, by their names alone."""

import os
import re
from collections.abc import Callable, Iterable, Iterator

from bankml.documents.patterns import Patterns

ENDING = re.compile(r"\.([^.*?/\[\]\\]+)\Z")  # of a pattern that says which type it means


class Chosen:
    """`include` and `exclude` are patterns as in a .gitignore, below the named folder or the current one.

    `known`: whether a file of this name can be a document. Files with an ending that `include` asks for are tried
    whatever it says.
    """

    def __init__(self, include: Iterable[str], exclude: Iterable[str], known: Callable[[str], bool]) -> None:
        include = list(include)
        self._include, self._exclude, self._known = Patterns(include), Patterns(exclude), known
        parts = (part for pattern in include for part in pattern.split("/") if part.strip("*"))
        self._named = [Patterns([part]) for part in parts if not part.startswith("!")]
        self._asked = {found[1].casefold() for pattern in include if (found := ENDING.search(pattern))}
        self._here = os.path.join(os.getcwd(), "")

    def excludes(self, path: str, folder: str) -> bool:
        """Whether a path below the named folder is excluded; a folder's path ends in a slash."""
        return any(self._exclude.match(below) for below in self._below(path, folder))

    def includes(self, path: str, folder: str) -> bool:
        """Whether a file is among those that were asked for."""
        return not self._include or any(self._include.covers(below) for below in self._below(path, folder))

    def readable(self, path: str) -> bool:
        """Whether it can be a document."""
        name = os.path.basename(path)
        return name.rpartition(".")[2].casefold() in self._asked or self._known(name)

    def asked(self, name: str) -> bool:
        """Whether a pattern means a file or a folder of this name by more than that it is anywhere."""
        return any(pattern.match(name) for pattern in self._named)

    def _below(self, path: str, folder: str) -> Iterator[str]:
        for base in (os.path.join(folder, ""), self._here):
            if path.startswith(base):
                yield path[len(base) :]
