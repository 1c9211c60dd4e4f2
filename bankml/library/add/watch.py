"""What changes on the disk, as it does."""

import os
import threading
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue

from bankml.errors import Error, StoreError

DEBOUNCE, STEP = 1600, 100  # ms: changes that follow one another are one round, at most so long; a pause ends it
LOOK = 500  # ms between two looks whether what is watched is still what has its name

Changed = frozenset[str] | None
"""Paths of files and folders; None: whatever there is may have changed."""


class Watch:
    """Folders with all below them, and single files: by the folder that they are in, for editors replace them.

    Iterating gives None once the watching has begun, then what changed, until the caller stops. Raises StoreError
    where the system can watch no more.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._queue: SimpleQueue[Changed | Error] = SimpleQueue()
        self._ended = threading.Event()
        folders = [path for path in paths if path.is_dir()]
        parents = [path.parent for path in paths if not path.is_dir()]
        self._threads = [
            threading.Thread(target=self._run, args=(watched, recursive), name="watch", daemon=True)
            for watched, recursive in ((folders, True), (sorted(set(parents)), False))
            if watched
        ]

    def __enter__(self) -> "Watch":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(2)

    def __iter__(self) -> Iterator[Changed]:
        while True:
            found = self._queue.get()
            if isinstance(found, Error):
                raise found
            yield self._joined(found)

    def _joined(self, found: Changed) -> Changed:
        """With all that was told since."""
        while True:
            try:
                more = self._queue.get_nowait()
            except Empty:
                return found
            if isinstance(more, Error):
                raise more
            found = None if found is None or more is None else found | more

    def _run(self, paths: Sequence[Path], recursive: bool) -> None:
        while not self._ended.is_set():
            begun = False
            try:
                for changed in self._follow(paths, recursive):
                    self._queue.put(changed)
                    begun = True
            except Exception as error:  # a name that is no UTF-8 is one to watchfiles
                if not begun:
                    return self._queue.put(StoreError(f"what changes cannot be watched ({error}): leave out --watch"))
                self._ended.wait(LOOK / 1000)

    def _follow(self, paths: Sequence[Path], recursive: bool) -> Iterator[Changed]:
        """Until one of the paths is another folder than it was: the system watches folders, not names."""
        while None in (watched := [_identity(path) for path in paths]) and not self._ended.wait(LOOK / 1000):
            pass
        begun = False
        for changed in self._changes(paths, recursive):
            if not begun or changed:
                yield frozenset(changed) if begun else None
                begun = True
            if watched != [_identity(path) for path in paths]:
                return

    def _changes(self, paths: Sequence[Path], recursive: bool) -> Iterator[Collection[str]]:
        """Empty where nothing changed for a moment, and first of all, when the watching has begun."""
        from watchfiles import watch

        for polling in (None, True):
            try:
                for changes in watch(
                    *paths,
                    watch_filter=None,
                    debounce=DEBOUNCE,
                    step=STEP,
                    stop_event=self._ended,
                    rust_timeout=LOOK,
                    yield_on_timeout=True,
                    raise_interrupt=False,
                    force_polling=polling,
                    recursive=recursive,
                    ignore_permission_denied=True,
                ):
                    yield [path for _, path in changes]
                return
            except OSError:  # so many folders may be watched: they are looked at in turn then
                if polling:
                    raise


def touched(path: Path, changed: Changed) -> bool:
    """Whether a file, or a folder above it, is among what changed."""
    return changed is None or str(path) in changed or any(str(parent) in changed for parent in path.parents)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        state = os.stat(path)
        return state.st_dev, state.st_ino
    except OSError:
        return None
