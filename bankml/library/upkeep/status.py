"""What a knowledge base holds, how much of it meaning finds, and what to do next; nothing is loaded or changed."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bankml.errors import Error, StoreError
from bankml.library.model import binding
from bankml.library.model.configuration import Configuration
from bankml.library.model.counts import Counts
from bankml.library.model.fingerprint import fingerprint
from bankml.library.upkeep.sole import running
from bankml.settings import Settings
from bankml.store import Bound, Store, config, successor
from bankml.store.successor import Unfinished

COVERED = 0.5  # of the chunks; below, searches by meaning miss more than they can find


@dataclass(frozen=True, slots=True)
class Reindexing:
    """A reindex that is at work or was interrupted. `chunks`: how many have their new vector."""

    model: str
    dims: int
    chunks: int
    running: bool


@dataclass(frozen=True, slots=True)
class Status:
    """Counts are of rows, sizes in bytes.

    `embedded`: chunks with a vector that is searched; `foreign`: with one of another recipe, which is not; `missing`:
    with none; `orphans`: vectors without their chunk, and chunks without their document.
    """

    db: str
    model: str | None
    dims: int | None
    digest: str | None
    fingerprint: str | None
    documents: int
    chunks: int
    embedded: int
    foreign: int
    missing: int
    orphans: int
    types: dict[str, int]
    records: dict[str, int]  # by their status
    size: int
    journal: int
    generation: int
    model_present: bool
    why: str  # why the model cannot be used; "" where it can
    reindexing: Reindexing | None
    disabled: str  # why meaning is not searched though it could be; "" where it is

    @property
    def items(self) -> int:
        """Documents and records together."""
        return self.documents + sum(self.records.values())

    @property
    def coverage(self) -> float | None:
        """The share of the chunks that meaning finds; None where there are none."""
        return self.embedded / self.chunks if self.chunks else None

    @property
    def sound(self) -> bool:
        """Whether most chunks are found by meaning, or are not meant to be."""
        return bool(self.disabled) or self.coverage is None or self.coverage >= COVERED

    @property
    def next(self) -> str:
        """One sentence: what to run."""
        return _next(self)

    def object(self) -> dict[str, Any]:
        """As `bankml status --json` prints it."""
        more = {"items": self.items, "coverage": self.coverage, "next": self.next}
        return asdict(self) | more


def status(store: Store, settings: Settings) -> Status:
    """Of the store at this moment. Raises StoreError."""
    model, recipe, why = _model(store, settings)
    with store.reading() as db:
        bound, name, found, begun = (
            Bound.read(db),
            config.get(db, "model_name"),
            Counts.of(db),
            successor.unfinished(db),
        )
        generation = config.generation(db)
    recipe = recipe or (bound.fingerprint if bound else "")
    return Status(
        db=str(store.path),
        model=name,
        dims=bound.dims if bound else None,
        digest=bound.digest if bound else None,
        fingerprint=recipe or None,
        documents=found.documents,
        chunks=found.chunks,
        embedded=found.embedded(recipe),
        foreign=found.foreign(recipe),
        missing=found.missing,
        orphans=found.orphans,
        types=found.types,
        records=found.records,
        size=_size(store.path),
        journal=_size(store.path.with_name(f"{store.path.name}-wal")),
        generation=generation,
        model_present=model,
        why=why,
        reindexing=_reindexing(store.path, begun),
        disabled=_disabled(store.path),
    )


def _model(store: Store, settings: Settings) -> tuple[bool, str, str]:
    """Whether the model can be used, its recipe, and why not."""
    try:
        return True, fingerprint(binding.embedder(store, settings, anyway=True)), ""
    except Error as error:
        return False, "", str(error)


def _disabled(path: Path) -> str:
    try:
        configuration = Configuration.read(path)
    except StoreError:  # which is why there is no model either
        return ""
    return "" if configuration.vector_enabled else binding.disabled(configuration)


def _reindexing(path: Path, begun: Unfinished | None) -> Reindexing | None:
    if begun is None:
        return None
    return Reindexing(begun.bound.model_name, begun.bound.dims, begun.chunks, running(path))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _next(found: Status) -> str:
    if found.reindexing and found.reindexing.running:
        return f"wait: {found.reindexing.chunks:,} of {found.chunks:,} chunks are embedded anew; the old vectors answer"
    if found.reindexing:
        return (
            f"`bankml reindex --model {found.reindexing.model}` goes on where it was interrupted, at "
            f"{found.reindexing.chunks:,} of {found.chunks:,} chunks; `bankml reindex --discard` gives it up"
        )
    if found.disabled:
        return f"nothing: words alone are searched, as wanted ({found.disabled})"
    if found.why:
        return found.why
    if not found.chunks:
        return "`bankml add PATH…`, or `bankml remember`: it holds nothing yet"
    if found.foreign:
        return f"`bankml reindex`: {found.foreign:,} vectors are of another recipe and are not searched"
    if found.missing:
        return f"`bankml reindex --missing`: {found.missing:,} chunks have no vector and are found by words alone"
    if found.orphans:
        return f"`bankml doctor --repair`: {found.orphans:,} rows belong to nothing"
    return "nothing: every chunk is found by words and by meaning"
