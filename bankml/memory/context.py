"""What an agent is handed for a task: constraints first, then what answers best, within a number of tokens."""

import sqlite3
from dataclasses import asdict, dataclass
from typing import Any

from bankml.errors import InputError
from bankml.library.search.searcher import MOST
from bankml.memory.cost import Count, characters
from bankml.memory.entry import HEADINGS, Entry, heading
from bankml.memory.filling import Excluded, Filling
from bankml.memory.recall.recalled import Memory, Recalled
from bankml.memory.recall.recaller import Recaller
from bankml.store import Record, records
from bankml.store.record import Freshness, Namespace

CANDIDATES = 30  # ranked ones, beside the constraints
NAMED = 20  # of those that rank behind them
BUDGET = 1500  # tokens, by itself
LARGEST = 1_000_000_000  # budget
NARROW = "of the project and the session alone, no peers and nothing of the organization or global"
BEHIND = f"rank: it is behind the {CANDIDATES} candidates"
PINNED = "uncalibrated (pinned)"


@dataclass(frozen=True, slots=True)
class Pack:
    """`tokens`: what `markdown` costs or somewhat more, never more than `budget`.

    `sections`: by their titles, entries with the cost of each.
    """

    sections: dict[str, list[tuple[Entry, int]]]
    tokens: int
    excluded: list[Excluded]
    budget: int
    status: str

    def markdown(self) -> str:
        """To be put into a prompt; "" where nothing is in it."""
        parts = (heading(title) + "".join(entry.text for entry, _ in some) for title, some in self.sections.items())
        return "".join(parts).lstrip("\n")

    def object(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "sections": [
                {"title": title, "items": [entry.facts | {"tokens": cost} for entry, cost in some]}
                for title, some in self.sections.items()
            ],
            "estimatedTokens": self.tokens,
            "excluded": [asdict(each) for each in self.excluded],
            "budget": self.budget,
            "status": self.status,
        }


def pack(
    recaller: Recaller,
    query: str,
    task: str = "",
    budget: int = BUDGET,
    count: Count = characters,
    session: str = "",
    root: bytes = b"",
) -> Pack:
    """All active constraints of the project that fit, then, of the 30 records that answer best, those that do.

    Query and task are one question, in this order. Constraints come in the order of how well they answer it, those
    that do not, the newest first. What does not fit is left out whole; what is behind it may still be taken. `root`:
    of who asks, as of `Recaller.recall`. Raises InputError, StoreError.
    """
    if isinstance(budget, bool) or not isinstance(budget, int) or not 0 <= budget <= LARGEST:
        raise InputError(f"the token budget is {budget!r}: give a number from 0 to {LARGEST:,}")
    asked = "\n".join(part for part in (query, task) if part.strip())
    pinned = _constraints(recaller, asked, root)
    ids = {memory.record.id for memory in pinned}
    some: tuple[Namespace, ...] = ("project", "session") if session else ("project",)
    most = min(CANDIDATES + NAMED + len(pinned), MOST)
    found = recaller.recall(asked, most, namespaces=some, session=session, root=root)
    others = [memory for memory in found.results if memory.record.id not in ids]
    filling = Filling(budget, count)
    for memory in [*pinned, *others[:CANDIDATES]]:
        filling.add(Entry.of(memory, root, found.marks))
    for memory in others[CANDIDATES : CANDIDATES + NAMED]:
        filling.leave(Entry.of(memory, root), BEHIND)
    return _packed(filling, found, len(pinned))


def _packed(filling: Filling, found: Recalled, pinned: int) -> Pack:
    sections = {title: filling.sections[title] for title in HEADINGS.values() if title in filling.sections}
    constraints = f"{pinned:,} {'constraint' if pinned == 1 else 'constraints'} pinned first"
    count = sum(map(len, sections.values()))
    taken = f"{count:,} {'record' if count == 1 else 'records'} in {filling.tokens:,} of {filling.budget:,} tokens"
    status = " · ".join([taken, constraints, found.status, NARROW])
    return Pack(sections, filling.tokens, filling.excluded, filling.budget, status)


def _constraints(recaller: Recaller, asked: str, root: bytes) -> list[Memory]:
    """All that are active in the project: those that answer first, then the newest."""
    every = recaller.searcher.asked("", "words", None, lambda db, *_: _active(db))
    if not every:
        return []
    n = min(len(every), MOST)
    found = recaller.recall(asked, n, categories=("constraint",), namespaces=("project",), root=root).results
    ranked = {memory.record.id for memory in found}
    return [*found, *(_pinned(record, recaller.seen(record)) for record in every if record.id not in ranked)]


def _pinned(record: Record, freshness: Freshness) -> Memory:
    """One that answers nothing that was asked."""
    return Memory(record, freshness, "", PINNED, None, None, 0.0, 0.0, None, None, "")


def _active(db: sqlite3.Connection) -> list[Record]:
    """Constraints of the project, the newest first."""
    rows = db.execute(
        """SELECT id FROM records WHERE status = 'active' AND namespace = 'project' AND category = 'constraint'
        ORDER BY updated_at DESC, id"""
    )
    return records.several(db, [row[0] for row in rows])
