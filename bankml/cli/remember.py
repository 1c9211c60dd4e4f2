"""`bankml remember`, `bankml decide`: what an agent writes."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bankml.cli.output import AsJson, note, write_json
from bankml.cli.store import Db
from bankml.errors import InputError
from bankml.utf8 import printable

if TYPE_CHECKING:
    from bankml.memory.writing import Written
    from bankml.settings import Settings
    from bankml.store import Store

STDIN = "-"
LONGEST = 4 << 20  # bytes of standard input: as many as the characters of a content may be

Title = Annotated[str, typer.Argument(help="What it is about, in a line.", show_default=False)]
Content = Annotated[str, typer.Argument(help="What is to be known; -: standard input.", show_default=False)]
Several = list[str] | None
Tags = Annotated[Several, typer.Option(metavar="A,B", help="Words to find it by (repeatable).", show_default=False)]
Paths = Annotated[
    Several,
    typer.Option(
        metavar="FILE,…",
        help="Files of this repository that it depends on (repeatable): when they change, it needs a review.",
        show_default=False,
    ),
]
Reasoning = Annotated[str, typer.Option(help="Why it is so.", show_default=False)]
Confidence = Annotated[
    float | None, typer.Option(metavar="0…1", help="How sure it is: 1 by itself.", show_default=False)
]
Supersedes = Annotated[
    Several, typer.Option(metavar="ID", help="A record whose place it takes (repeatable).", show_default=False)
]
Namespace = Annotated[
    str | None,
    typer.Option(help="session, project, organization or global; project by itself.", show_default=False),
]
Session = Annotated[str, typer.Option(metavar="ID", help="The session that alone finds it.", show_default=False)]
ValidFrom = Annotated[
    str | None, typer.Option(metavar="ISO", help="Since when it holds; now by itself.", show_default=False)
]
Agent = Annotated[str, typer.Option(metavar="NAME", help="Who says so, for its provenance.", show_default=False)]


def remember(
    title: Annotated[str | None, typer.Argument(help="What it is about, in a line.", show_default=False)] = None,
    content: Annotated[
        str | None, typer.Argument(help="What is to be known; -: standard input.", show_default=False)
    ] = None,
    category: Annotated[
        str | None,
        typer.Option(help="fact, decision, constraint, architecture or state; fact by itself.", show_default=False),
    ] = None,
    tags: Tags = None,
    paths: Paths = None,
    reasoning: Reasoning = "",
    confidence: Confidence = None,
    supersedes: Supersedes = None,
    namespace: Namespace = None,
    session: Session = "",
    valid_from: ValidFrom = None,
    revise: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="Say this record anew: `remember --revise ID CONTENT`; what it said before is kept.",
            show_default=False,
        ),
    ] = None,
    agent: Agent = "",
    db: Db = None,
    json: AsJson = False,
) -> None:
    """Remember something: a title, a content. It is found by its words at once, and by its meaning where a model is.

    Nothing is downloaded for it. With --revise the one text is the new content.
    """
    given = _given(category, tags, reasoning, namespace, session, supersedes)
    write = _Write(db, json, agent, "bankml remember", paths or [], confidence, valid_from)
    if revise is None:
        if title is None or content is None:
            raise typer.BadParameter("give a title and a content; a content that is - is read from standard input")
        write.new(title, content, given)
    else:
        _check_revision(content, given)
        write.revision(revise, title)


def decide(
    title: Title,
    content: Content,
    tags: Tags = None,
    paths: Paths = None,
    reasoning: Reasoning = "",
    confidence: Confidence = None,
    supersedes: Supersedes = None,
    namespace: Namespace = None,
    session: Session = "",
    valid_from: ValidFrom = None,
    agent: Agent = "",
    db: Db = None,
    json: AsJson = False,
) -> None:
    """Remember a decision, as `bankml remember --category decision`."""
    write = _Write(db, json, agent, "bankml decide", paths or [], confidence, valid_from)
    write.new(title, content, _given("decision", tags, reasoning, namespace, session, supersedes))


def _given(
    category: str | None, tags: Several, reasoning: str, namespace: str | None, session: str, supersedes: Several
) -> dict[str, Any]:
    """What a new record alone is given, by the names that `Draft.of` and the options have for it."""
    given = {
        "category": category,
        "tags": tags,
        "reasoning": reasoning,
        "namespace": namespace,
        "session": session,
        "supersedes": supersedes,
    }
    return {name: value for name, value in given.items() if value is not None}


@dataclass
class _Write:
    """What every write is given."""

    db: Path | None
    json: bool
    agent: str
    by: str
    paths: Sequence[str]
    confidence: float | None
    valid_from: str | None
    root: bytes = field(init=False)

    def __post_init__(self) -> None:
        from bankml.memory.root import here

        self.root = here()

    def new(self, title: str, content: str, given: dict[str, Any]) -> None:
        from bankml.memory.draft import Draft
        from bankml.memory.writing import remember as write

        draft = Draft.of(
            title=title,
            content=_content(content),
            paths=_paths(self.paths),
            confidence=1.0 if self.confidence is None else self.confidence,
            valid_from=self._valid_from(),
            root=self.root,
            provenance=self._provenance(),
            **given,
        )
        settings, store = self._store()
        with store:
            self._tell(write(store, settings, draft), "remembered")

    def revision(self, record: str, content: str | None) -> None:
        from bankml.memory.writing import revise as write

        settings, store = self._store()
        with store:
            done = write(
                store,
                settings,
                record,
                None if content is None else _content(content),
                self.confidence,
                _paths(self.paths) or None,
                self._valid_from(),
                self._provenance(),
            )
            self._tell(done, "revised")

    def _store(self) -> "tuple[Settings, Store]":
        from bankml.memory.opening import opened
        from bankml.settings import Settings
        from bankml.store import place

        settings = Settings.read()
        return settings, opened(place(self.db, settings), settings)

    def _valid_from(self) -> int | None:
        from bankml.memory.instant import parse

        return None if self.valid_from is None else parse(self.valid_from, "--valid-from")

    def _provenance(self) -> dict[str, Any]:
        from bankml.memory.origin import provenance

        return provenance(self.by, self.root, self.agent)

    def _tell(self, written: "Written", done: str) -> None:
        if self.json:
            write_json(written.object())
            return
        for path in written.unread:
            note(f"{os.fsdecode(path)} cannot be read as a file, so a change of it will not be seen")
        if written.why:
            note(f"found by words alone until it is embedded: {written.why}")
        if written.clipped:
            note(f"{written.clipped:,} tokens of it are more than the model reads: words find them, meaning does not")
        instead = f" in place of {', '.join(written.superseded)}" if written.superseded else ""
        print(printable(f"{written.id} {'is there already' if written.existing else done}{instead}"))


def _check_revision(content: str | None, others: dict[str, Any]) -> None:
    if content is not None:
        raise InputError("--revise takes one text, the new content: a record keeps its title")
    if given := [f"--{name}" for name, value in others.items() if value]:
        raise InputError(f"{given[0]} cannot be given with --revise: write a new record with --supersedes in its place")


def _content(given: str) -> str:
    if given != STDIN:
        return given
    if sys.stdin is None:
        raise InputError("stdin is closed: give the content as an argument, or pipe it in")
    found = sys.stdin.buffer.read(LONGEST + 1)
    if len(found) > LONGEST:
        raise InputError(f"stdin has more than {LONGEST >> 20} MiB: a record is a fact; `bankml add -` takes documents")
    return found.decode("utf-8", "replace")


def _paths(given: Sequence[str]) -> list[str]:
    """Absolute ones: as the shell's user names them, from the working folder. What is there by its whole name is one
    path, commas and all; else commas part several.
    """
    found = [part for each in given for part in ([each] if os.path.lexists(each) else each.split(","))]
    return [os.path.abspath(path) if path.strip() and "://" not in path else path for path in found if path]
