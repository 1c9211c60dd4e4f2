"""Through folders, to the files in them that may be documents."""

import os
import stat
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from bankml.documents.chosen import Chosen
from bankml.documents.glob import Glob
from bankml.documents.ignored import Ignored
from bankml.documents.noise import OUTPUTS, file_named_so, is_project, marked_so, named_so
from bankml.documents.peek import beginning, begins_binary, begins_generated, known
from bankml.documents.source import LARGEST, Failure, Source, sentence, unfit
from bankml.errors import InputError

SQLITE = ("", "-wal", "-shm", "-journal")  # what SQLite keeps beside a database
OWN = "is the knowledge base's own file and no document: leave it out"

Found = Iterator[Source | Failure]
Inode = tuple[int, int]  # and the device before it


@dataclass(frozen=True, slots=True)
class Options:
    """How folders are looked through.

    `hidden`: names that begin with a dot too. `follow_symlinks`: links in folders too, each file once. `own`: files
    that are never a document, such as the database itself. `largest`: bytes of a file. `known`: whether a file of this
    name can be a document.
    """

    hidden: bool = False
    follow_symlinks: bool = False
    own: Collection[Path] = ()
    known: Callable[[str], bool] = known
    largest: int = LARGEST


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder that is to be entered. `root`: the one that was named; `glob`: what is wanted of it, None for all.

    `entered`: those that need not be entered again. `builds`: whether what is built may lie in it.
    """

    path: str
    root: str
    ignored: Ignored | None
    glob: Glob | None
    entered: set[Inode]
    builds: bool = False


class Walk:
    """Several walks that find each file once: globs before folders, and named files before both.

    In memory are only folders, and those files that may be come upon again: the million others of a folder are not.
    """

    def __init__(self, chosen: Chosen, options: Options, skipped: Counter[str]) -> None:
        self._chosen, self._options, self.skipped = chosen, options, skipped
        self._seen: set[Inode] = set()
        self._entered: set[Inode] = set()  # of whole folders
        self._own = {os.path.realpath(path) + end for path in options.own for end in SQLITE}

    def file(self, path: str) -> Found:
        """A file that was named, whatever says that it should be left out."""
        try:
            path = os.path.abspath(path)
            state = os.stat(path)
        except OSError as error:
            yield Failure(Path(path), sentence(error))
            return
        if not stat.S_ISREG(state.st_mode):
            yield Failure(Path(path), unfit(state.st_mode))
        elif self._is_own(path):
            yield Failure(Path(path), OWN)
        elif _new(self._seen, state):
            yield self._source(path, state, follow=True)

    def folder(self, path: str, glob: Glob | None = None) -> Found:
        """The files in a folder and in those below it, sorted by the characters of their names."""
        try:
            entered = set() if glob else self._entered
            if not _new(entered, os.stat(path)):
                return
            ways = [self._inside(_Folder(path, path, Ignored.above_of(path), glob, entered))]
        except (InputError, OSError) as error:
            yield _failure(path, error)
            return
        while ways:
            found = next(ways[-1], None)
            if found is None:
                ways.pop()
            elif isinstance(found, _Folder):
                ways.append(self._inside(found))
            else:
                yield found

    def _inside(self, folder: _Folder) -> Iterator[Source | Failure | _Folder]:
        try:
            names = sorted(os.listdir(folder.path))
            ignored = Ignored.of(folder.path, folder.ignored)
        except (InputError, OSError) as error:
            yield _failure(folder.path, error)
            return
        if folder.path != folder.root and marked_so(folder.path, names):
            self.skipped["noise"] += 1
            return
        inside = replace(folder, ignored=ignored, builds=is_project(names))
        for name in names:
            found = self._entry(inside, name)
            if isinstance(found, str):
                self.skipped[found] += 1
            elif found:
                yield found

    def _entry(self, folder: _Folder, name: str) -> Source | Failure | _Folder | str | None:
        """A str is the reason to pass it over; None: it is there no more."""
        if name.startswith(".") and not self._options.hidden:
            return "hidden"
        path = os.path.join(folder.path, name)
        try:
            state = os.lstat(path)
            if stat.S_ISLNK(state.st_mode):
                if not self._options.follow_symlinks or (found := _followed(path)) is None:
                    return "link"
                state = found
        except FileNotFoundError:
            return None
        except OSError as error:
            return Failure(Path(path), sentence(error))
        if stat.S_ISDIR(state.st_mode):
            return self._below(folder, name, path, state)
        return self._within(folder, path, state) if stat.S_ISREG(state.st_mode) else "special"

    def _below(self, folder: _Folder, name: str, path: str, state: os.stat_result) -> _Folder | str:
        slashed = os.path.join(path, "")
        if named_so(name):
            return "noise"
        if folder.builds and name in OUTPUTS and not self._chosen.asked(name) and not folder.glob:
            return "generated"
        if reason := self._left_out(folder, slashed):
            return reason
        if folder.glob and not folder.glob.leads(_below(slashed, folder.root)):
            return "excluded"
        return replace(folder, path=path) if _new(folder.entered, state) else "seen"

    def _within(self, folder: _Folder, path: str, state: os.stat_result) -> Source | str:
        if reason := self._left_out(folder, path):
            return reason
        wanted = not folder.glob or folder.glob.matches(_below(path, folder.root))
        if not wanted or not self._chosen.includes(path, folder.root):
            return "excluded"
        if not self._chosen.readable(path):
            return "type"
        if self._is_own(path):
            return "own"
        head = beginning(path)
        if begins_binary(head):
            return "binary"
        name = os.path.basename(path)
        reason = file_named_so(name) or ("generated" if begins_generated(name, head) else "")
        if reason and not self._chosen.asked(name) and not (folder.glob and folder.glob.asks(name)):
            return reason
        follow = self._options.follow_symlinks
        kept = bool(folder.glob) or follow or state.st_nlink > 1
        return self._source(path, state, follow) if _new(self._seen, state, kept) else "seen"

    def _left_out(self, folder: _Folder, path: str) -> str:
        if folder.ignored and folder.ignored.hides(path):
            return "ignored"
        return "excluded" if self._chosen.excludes(path, folder.root) else ""

    def _is_own(self, path: str) -> bool:
        return bool(self._own) and os.path.realpath(path) in self._own

    def _source(self, path: str, state: os.stat_result, follow: bool) -> Source:
        return Source(Path(path), state.st_size, int(state.st_mtime), follow, largest=self._options.largest)


def _new(seen: set[Inode], state: os.stat_result, kept: bool = True) -> bool:
    """Whether it was not seen yet, which is remembered if it may come again."""
    inode = state.st_dev, state.st_ino
    new = inode not in seen
    if new and kept:
        seen.add(inode)
    return new


def _followed(path: str) -> os.stat_result | None:
    """What a link leads to; None where that is nothing, or a circle."""
    try:
        return os.stat(path)
    except OSError:
        return None


def _below(path: str, root: str) -> str:
    return path[len(os.path.join(root, "")) :]


def _failure(path: str, error: Exception) -> Failure:
    return Failure(Path(path), sentence(error) if isinstance(error, OSError) else str(error))
