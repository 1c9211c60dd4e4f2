"""Which files a knowledge base is to hold."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bankml.documents.glob import MAGIC, Glob
from bankml.documents.source import LARGEST, Failure, Source
from bankml.documents.sources import STDIN, sources
from bankml.documents.walk import Options
from bankml.errors import InputError
from bankml.library.add.prune import Walk
from bankml.library.add.reading import name_bytes


@dataclass(frozen=True, slots=True)
class Selection:
    """Paths as somebody gave them, and what is left out. `store`: the database, which never is a document.

    `skipped` counts what was passed over when the sources were last gone through, by reason.
    """

    paths: Sequence[str]
    store: Path
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    stdin_name: str = "stdin"
    largest: int = LARGEST  # bytes of a file
    skipped: Counter[str] = field(default_factory=Counter)

    def sources(self) -> Iterator[Source | Failure]:
        """Files as they are now, in order, and what could not be looked at."""
        self.skipped.clear()
        options = Options(own=[self.store], largest=self.largest)
        return sources(
            self.paths, self.include, self.exclude, options, stdin_name=self.stdin_name, skipped=self.skipped
        )

    @property
    def folders(self) -> list[Path]:
        """Those that were given, there or not: what is gone from them is pruned. A pattern names none."""
        return [Path(os.path.abspath(path)) for path in self._given if not (_glob(path) or os.path.isfile(path))]

    @property
    def watched(self) -> list[Path]:
        """The folders and files that were given, and the folders that patterns begin with."""
        return [Path(glob.base if (glob := _glob(path)) else os.path.abspath(path)) for path in self._given]

    def walk(self) -> Walk:
        """What is there now and not left out: `include` narrows what is added, not what is kept."""
        found: set[bytes] = set()
        failed: set[bytes] = set()
        for source in sources(self._given, (), self.exclude, Options(own=[self.store], known=_any)):
            (failed if isinstance(source, Failure) else found).add(name_bytes(source.path))
        return Walk(found, failed)

    @property
    def _given(self) -> list[str]:
        return [path for path in self.paths if path != STDIN]


def _any(name: str) -> bool:
    """A file that was added by `include` stays, whatever its name is."""
    return True


def _glob(path: str) -> Glob | None:
    """None for what is a name: without stars, or there as it stands."""
    try:
        return Glob(path) if MAGIC.search(path) and not os.path.lexists(path) else None
    except (InputError, ValueError):  # which the sources tell
        return None
