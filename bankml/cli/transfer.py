"""`bankml export` and `bankml import`: a knowledge base as JSON lines."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from bankml.cli.output import AsJson, note, write_json
from bankml.cli.store import Db, opened
from bankml.errors import InputError

if TYPE_CHECKING:
    from bankml.library.transfer.exporting import Moved

STDIO = "-"

Vectors = Annotated[bool, typer.Option("--vectors/--no-vectors", help="With the vectors, or to be embedded anew.")]


def export(
    file: Annotated[str, typer.Argument(metavar="[FILE|-]", help="Where to; -: stdout.", show_default=False)] = STDIO,
    db: Db = None,
    vectors: Vectors = True,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace a file that is there and no export.")] = False,
    json: AsJson = False,
) -> None:
    """Write all of a knowledge base as JSON lines: documents, records, vectors. `bankml import` reads them."""
    from bankml.library.transfer.exporting import Moved
    from bankml.library.transfer.exporting import export as lines
    from bankml.library.transfer.target import check
    from bankml.models.atomic import replacement
    from bankml.private_file import PRIVATE

    moved = Moved()
    with opened(db, read_only=True) as store:
        if file == STDIO:
            sys.stdout.flush()
            for line in lines(store, moved, vectors):
                sys.stdout.buffer.write(line)
            return
        check(Path(file), store.path, force)
        with replacement(Path(file), mode=PRIVATE) as temporary, temporary.open("wb") as out:
            out.writelines(lines(store, moved, vectors))
    _tell("exported", moved, json)


def restore(
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="What `bankml export` wrote; -: stdin.")],
    db: Db = None,
    vectors: Vectors = True,
    json: AsJson = False,
) -> None:
    """Put what was exported into a knowledge base, which is made where there is none: all of it, or nothing."""
    from bankml.library.transfer.importing import restore as put
    from bankml.library.transfer.incoming import whole
    from bankml.store import Store, place

    name = "stdin" if file == STDIO else file
    with _read(file) as lines, whole(lines, name, vectors) as export, Store.create(place(db)) as store:
        moved = put(store, export)
    if moved.renumbered:
        note(f"the ids in {name} are further apart than a knowledge base has them: what was imported has new ones")
    _tell("imported", moved, json)


@contextmanager
def _read(file: str) -> Iterator[BinaryIO]:
    if file == STDIO:
        if sys.stdin is None:
            raise InputError("stdin is closed; name a file, or pipe one in")
        yield sys.stdin.buffer
        return
    try:
        with open(file, "rb") as lines:
            yield lines
    except IsADirectoryError:
        raise InputError(f"{file} is a folder; name the file that `bankml export` wrote") from None


def _tell(what: str, moved: "Moved", json: bool) -> None:
    if json:
        write_json(asdict(moved))
    else:
        records = f"{moved.records:,} records, " if moved.records else ""
        print(f"{records}{moved.documents:,} documents, {moved.chunks:,} chunks and {moved.vectors:,} vectors {what}")
