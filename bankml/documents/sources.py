"""What was named on a command line → the files that may be documents, one after the other."""

import os
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import BinaryIO

from bankml.documents.chosen import Chosen
from bankml.documents.glob import MAGIC, Glob
from bankml.documents.source import Failure, Source
from bankml.documents.walk import Found, Options, Walk

STDIN = "-"
UNMATCHED = "matches no file that can be a document: check the pattern, and the folder that you are in"


def sources(
    paths: Iterable[str | os.PathLike[str]],
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    options: Options | None = None,
    *,
    stdin: BinaryIO | None = None,
    stdin_name: str = "stdin",
    skipped: Counter[str] | None = None,
) -> Found:
    """The files that `paths` lead to, none twice: those that are named, as they are, then what is in folders, sorted.

    A path is a file, a folder, a pattern that no shell has expanded, or "-" for standard input. In folders and by
    patterns are found only files that can be documents, that no .gitignore or .ignore leaves out, that do not lie in
    folders of other programs and are not links. `include` and `exclude` are patterns as in a .gitignore. What cannot be
    read is a Failure, and the rest goes on. `skipped` counts what was passed over, by reason.
    """
    options = options or Options()
    walk = Walk(Chosen(include, exclude, options.known), options, Counter() if skipped is None else skipped)
    given = Source(stdin_name, 0, int(time.time()), stream=stdin, largest=options.largest)
    return _all([os.fspath(path) for path in paths], walk, given)


def _all(paths: list[str], walk: Walk, stdin: Source) -> Found:
    """Named files first: so one that a named folder holds too comes once, even where a .gitignore leaves it out."""
    globs: list[Glob] = []
    folders: list[str] = []
    for path in dict.fromkeys(paths):
        if path == STDIN:
            yield replace(stdin, stream=stdin.stream or sys.stdin.buffer)
        elif not path or not _encodable(path):
            yield Failure(path, "is no path: give the name of a file or a folder")
        elif MAGIC.search(path) and not os.path.lexists(path):
            globs.append(Glob(path))
        elif os.path.isdir(path):
            folders.append(os.path.abspath(path))
        else:
            yield from walk.file(path)
    for glob in globs:
        yield from _matched(glob, walk)
    for folder in folders:
        yield from walk.folder(folder)


def _matched(glob: Glob, walk: Walk) -> Found:
    seen = walk.skipped["seen"]
    found = False
    for one in walk.folder(glob.base, glob) if os.path.isdir(glob.base) else ():
        found = True
        yield one
    if not found and walk.skipped["seen"] == seen:
        yield Failure(glob.path, UNMATCHED)


def _encodable(path: str) -> bool:
    """Whether it can be the name of a file."""
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False
