"""A pattern that no shell has expanded, as a folder and what is wanted in it."""

import os
import re

from bankml.documents.patterns import Patterns

MAGIC = re.compile(r"[*?\[]")
ANY = "**"  # any folders, or none


class Glob:
    """`base`: the folder it begins in, absolute."""

    def __init__(self, path: str) -> None:
        self.path = path
        parts = path.split(os.sep)
        fixed = next(number for number, part in enumerate(parts) if MAGIC.search(part))
        self.base = os.path.abspath(os.sep.join([*parts[:fixed], ""]) or ".")
        wanted = [part for part in parts[fixed:] if part]
        self._asked = Patterns([wanted[-1]]) if wanted and wanted[-1].strip("*") else None
        self._whole = Patterns(["/" + "/".join(wanted)])
        told = wanted.index(ANY) if ANY in wanted else len(wanted)
        self._starts = [Patterns(["/" + "/".join(wanted[: depth + 1])]) for depth in range(told)]

    def matches(self, below: str) -> bool:
        """Whether a file is wanted, by its path below the base."""
        return self._whole.covers(below)

    def asks(self, name: str) -> bool:
        """Whether its last part means files of this name by more than that they are there."""
        return self._asked is not None and bool(self._asked.match(name))

    def leads(self, below: str) -> bool:
        """Whether wanted files may lie in a folder, whose path below the base ends in a slash."""
        depth = below.count("/") - 1
        return depth >= len(self._starts) or bool(self._starts[depth].match(below))
