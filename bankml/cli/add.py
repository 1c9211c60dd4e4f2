"""`bankml add`: files, folders and standard input become documents of a knowledge base."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bankml.cli.output import AsJson, Model, note, write_json
from bankml.cli.store import Db
from bankml.cli.terminated import exit_status, terminable
from bankml.errors import DisabledError, InputError, UnavailableError

if TYPE_CHECKING:
    from bankml.documents.source import Failure, Source
    from bankml.embedders import Embedder
    from bankml.library.add.added import Added
    from bankml.library.add.selection import Selection
    from bankml.settings import Settings
    from bankml.store import Store

SOME_FAILED = 3
STDIN = "-"

Globs = list[str] | None


def add(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH", help="Files, folders, globs; -: standard input.", show_default=False)
    ],
    db: Db = None,
    model: Model = None,
    include: Annotated[
        Globs, typer.Option(metavar="GLOB", help="Only such files of folders (repeatable).", show_default=False)
    ] = None,
    exclude: Annotated[
        Globs, typer.Option(metavar="GLOB", help="No such files (repeatable).", show_default=False)
    ] = None,
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove what is gone from the folders, or left out now.")
    ] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Go on with what changes, until Ctrl-C.")] = False,
    name: Annotated[str | None, typer.Option(help="What standard input is called.", show_default=False)] = None,
    max_size: Annotated[
        float | None, typer.Option(metavar="MB", min=0, help="No files above this.", show_default=False)
    ] = None,
    converter: Annotated[
        str,
        typer.Option(help="docling: reads PDFs and office files in place of pypdf and markitdown.", show_default=False),
    ] = "",
    json: AsJson = False,
) -> int:
    """Add documents to a knowledge base, which is made where there is none. What has not changed is passed over.

    The exit status is 3 where some files could not be read: they are named, and the others are added.
    """
    from bankml.documents.source import LARGEST
    from bankml.library.add.selection import Selection
    from bankml.settings import Settings

    _check(paths, name, watch, converter)
    settings = Settings.read()
    with terminable(), _store(db, settings, model) as store:
        largest = LARGEST if max_size is None else round(max_size * 1e6)
        selection = Selection(paths, store.path, include or (), exclude or (), name or "stdin", largest)
        work = _Work(store, selection, *_embedder(store, settings, model), prune, json, converter)
        return work.keep_on() if watch else work.once(list(selection.sources()))


def _check(paths: Sequence[str], name: str | None, watch: bool, converter: str) -> None:
    from bankml.documents.conversion import CONVERTERS
    from bankml.library.add.name import unfit

    if converter and converter not in CONVERTERS:
        raise InputError(f"there is no converter {converter!r}: give {' or '.join(CONVERTERS)}, or none")
    if watch and STDIN in paths:
        raise InputError("standard input cannot be watched: name files or folders")
    if name is not None and STDIN not in paths:
        raise InputError(f"--name is {name!r}: with -, it is what standard input is to be called")
    if name is not None and (why := unfit(name)):
        raise InputError(f"--name {why}")


def _store(db: Path | None, settings: "Settings", model: str | None) -> "Store":
    """The store; made as by `bankml init` where there is none."""
    from bankml.library.model.initialise import initialise, missing
    from bankml.store import Store, place

    path = place(db, settings)
    if missing(path):
        note(f"{path} is made, as by `bankml init`")
        initialise(path, settings, model)
    return Store.open(path)


def _embedder(store: "Store", settings: "Settings", model: str | None) -> "tuple[Embedder | None, str]":
    """The embedder of the store's model; else why there is none, which is told: words alone find what is added."""
    from bankml.library.model import binding

    try:
        embedder = binding.embedder(store, settings, model)
        if why := str(embedder.status()["why"]):
            raise UnavailableError(why)
        return embedder, ""
    except DisabledError as error:
        note(f"found by words alone: {error}")
        return None, str(error)
    except UnavailableError as error:
        note(f"found by words alone, for there is no model: {error}")
        return None, str(error)


@dataclass
class _Work:
    """What is done once, and again when something changes."""

    store: "Store"
    selection: "Selection"
    embedder: "Embedder | None"
    why: str
    prune: bool
    json: bool
    converter: str = ""
    quiet: bool = False  # nothing is said of a round in which nothing changed

    def once(self, sources: "Sequence[Source | Failure]") -> int:
        """Adds these, prunes, and says what was done: the exit status."""
        from bankml.cli.adding import adding
        from bankml.library.add.ingest import Ingest
        from bankml.library.model.configuration import Configuration

        configuration = Configuration.read(self.store.path)
        size = sum(getattr(source, "size", 0) for source in sources)
        with adding(len(sources), size) as progress:
            ingest = Ingest(self.store, self.embedder, configuration, self.why, progress, converter=self.converter)
            status = 0
            try:
                ingest.added.skipped = dict(self.selection.skipped)
                ingest.run(sources)
                self._prune(ingest.added)
                ingest.added.finished = True
            except KeyboardInterrupt as interrupt:
                status = exit_status(interrupt)
        if not self.quiet or ingest.added.anything:
            self._tell(ingest.added, len(sources))
        return status or (SOME_FAILED if ingest.added.failed else 0)

    def keep_on(self) -> int:
        """Until Ctrl-C: what is there now, then what changes."""
        from bankml.library.add.watch import Watch, touched

        watched = [path for path in self.selection.watched if path.exists()]
        if not watched:
            raise InputError(f"{', '.join(self.selection.paths)} is not there, so it cannot be watched")
        status = 0
        with suppress(KeyboardInterrupt), Watch(watched) as changes:
            for changed in changes:
                found = [source for source in self.selection.sources() if touched(Path(source.path), changed)]
                status = self.once(found)
                if status > SOME_FAILED:
                    return status
                self.quiet = True
        return 0

    def _prune(self, added: "Added") -> None:
        from bankml.library.add.prune import prune

        if self.prune:
            pruned = prune(self.store, self.selection.folders, self.selection.walk)
            added.removed += pruned.removed
            for sentence in pruned.kept:
                note(sentence)

    def _tell(self, added: "Added", files: int) -> None:
        from bankml.cli.adding import summary

        if self.json:
            model = self.embedder and self.embedder.reference
            licence = self.embedder and self.embedder.licence.id
            write_json({**added.object(), "model": model, "licence": licence})
            return
        for one in added.notes:
            note(f"{one.path}: {one.note}")
        for failed in added.failed:
            note(f"{failed.path}: {failed.error}")
        print(summary(added, files, self.embedder), flush=True)  # whoever reads a watch through a pipe waits for it
