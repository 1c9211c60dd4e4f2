"""What an agent is handed for a task: constraints first, then what answers best, within a number of tokens."""

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from bankml.errors import InputError
from bankml.library.search.searcher import MOST
from bankml.memory.cost import Count, characters
from bankml.memory.entry import HEADINGS, Entry, heading, least
from bankml.memory.filling import Excluded, Filling
from bankml.memory.recall.compact import CONTENT
from bankml.memory.recall.recalled import Memory, Recalled
from bankml.memory.recall.recaller import Recaller
from bankml.store import Record, records
from bankml.store.record import CATEGORIES, Freshness, Namespace

CANDIDATES = 30  # ranked ones, beside the constraints
NAMED = 20  # of those that rank behind them
BUDGET = 1500  # tokens, by itself
LARGEST = 1_000_000_000  # budget
NARROW = "of the project and the session alone, no peers and nothing of the organization or global"
BEHIND = f"rank: it is behind the {CANDIDATES} candidates"
LEAST = 9  # tokens, at 4 characters each, of the shortest entry: its id, and the signs around that
BATCH = 100  # constraints that are looked at before it is seen again what still fits
OTHERS = tuple(category for category in CATEGORIES if category != "constraint")

_Constraint = tuple[str, str, str]  # id, title, as much of the content as is ever shown


@dataclass(frozen=True, slots=True)
class Pack:
    """`tokens`: what `markdown` costs or somewhat more, never more than `budget`.

    `sections`: by their titles, entries with the cost of each. `note`: comes before them.
    """

    sections: dict[str, list[tuple[Entry, int]]]
    tokens: int
    excluded: list[Excluded]
    budget: int
    status: str
    note: str = ""

    def markdown(self) -> str:
        """To be put into a prompt; "" where nothing is in it."""
        parts = (heading(title) + "".join(entry.text for entry, _ in some) for title, some in self.sections.items())
        return (self.note + "".join(parts)).lstrip("\n")

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

    The project is the repository of `root` where any record of the store was written there, else the whole store.
    Query and task are one question, in this order. Constraints come in the order of how well they answer it, those
    that do not, the newest first. What does not fit is left out whole; what is behind it may still be taken. `root`:
    of who asks, as of `Recaller.recall`. Raises InputError, StoreError.
    """
    if isinstance(budget, bool) or not isinstance(budget, int) or not 0 <= budget <= LARGEST:
        raise InputError(f"the token budget is {budget!r}: give a number from 0 to {LARGEST:,}")
    asked = "\n".join(part for part in (query, task) if part.strip())
    filling = Filling(budget, count)
    project = recaller.searcher.asked("", "words", None, lambda db, *_: _project(db, root))
    pinned = _pin(filling, recaller, asked, root, project)
    found = _candidates(recaller, asked, session, root, project)
    for memory in found.results[:CANDIDATES]:
        filling.add(Entry.of(memory, root, found.marks))
    for memory in found.results[CANDIDATES : CANDIDATES + NAMED]:
        filling.leave(memory.record.id, memory.record.title, BEHIND)
    return _packed(filling, found, pinned)


def _packed(filling: Filling, found: Recalled, pinned: tuple[int, int]) -> Pack:
    """`pinned`: how many constraints of how many."""
    sections = {title: filling.sections[title] for title in HEADINGS.values() if title in filling.sections}
    constraints = "{:,} of {:,} constraints pinned first".format(*pinned)
    others = f"of others {found.status}" if pinned[1] else found.status
    count = sum(map(len, sections.values()))
    taken = f"{count:,} {'record' if count == 1 else 'records'} in {filling.tokens:,} of {filling.budget:,} tokens"
    status = " · ".join([taken, constraints, others, NARROW])
    return Pack(sections, filling.tokens, filling.excluded, filling.budget, status, filling.note)


def _candidates(recaller: Recaller, asked: str, session: str, root: bytes, project: bytes) -> Recalled:
    """What answers best beside the constraints that are pinned, a session's own among them.

    Those are asked for by themselves, for no question can leave out the pinned ones alone: the best of both is 1.
    """
    some: tuple[Namespace, ...] = ("project", "session") if session else ("project",)
    n = CANDIDATES + NAMED
    found = recaller.recall(asked, n, categories=OTHERS, namespaces=some, session=session, root=root, project=project)
    if not session:
        return found
    own = recaller.recall(asked, n, categories=("constraint",), namespaces=("session",), session=session, root=root)
    results = sorted([*found.results, *own.results], key=lambda memory: -memory.relevance)
    return replace(found, results=results, marks=found.marks | own.marks)


def _pin(filling: Filling, recaller: Recaller, asked: str, root: bytes, project: bytes) -> tuple[int, int]:
    """Adds all that are active in the project: those that answer first, then the newest. How many are in, of all."""
    every = recaller.searcher.asked("", "words", None, lambda db, *_: _active(db, project))
    if not every:
        return 0, 0
    n = min(len(every), MOST, filling.budget // LEAST + 1)
    found = recaller.recall(asked, n, categories=("constraint",), namespaces=("project",), root=root, project=project)
    for memory in found.results:
        filling.add(Entry.of(memory, root, found.marks))
    ranked = {memory.record.id for memory in found.results}
    rest = [each for each in every if each[0] not in ranked]
    seen = recaller.look()
    for start in range(0, len(rest), BATCH):
        _pin_newest(filling, recaller, seen, rest[start : start + BATCH], root)
    if lacking := len(filling.excluded) - filling.duplicates:
        filling.say(f"{lacking:,} of {len(every):,} constraints left out: no room\n")
    return len(every) - len(filling.excluded), len(every)


def _pin_newest(
    filling: Filling,
    recaller: Recaller,
    seen: Callable[[Record], Freshness],
    some: Sequence[_Constraint],
    root: bytes,
) -> None:
    """Adds these, which answer nothing that was asked; of what cannot fit nothing more is read."""
    fitting = [id for id, title, content in some if filling.may_hold(least(id, title, content))]
    read = recaller.searcher.asked("", "words", None, lambda db, *_: records.several(db, fitting)) if fitting else []
    by_id = {record.id: record for record in read}
    for id, title, _ in some:
        if record := by_id.get(id):
            memory = Memory(record, seen(record), "", "", None, None, 0.0, 0.0, None, None, "")
            filling.add(Entry.of(memory, root))
        else:
            filling.leave(id, title, f"budget: it takes more than the {filling.left:,} tokens that are left")


def _project(db: sqlite3.Connection, root: bytes) -> bytes:
    """`root`, or b"" where nothing was written there."""
    return root if db.execute("SELECT 1 FROM records WHERE root = ? LIMIT 1", (root,)).fetchone() else b""


def _active(db: sqlite3.Connection, project: bytes) -> list[_Constraint]:
    """Constraints of the project, the newest first."""
    rows = db.execute(
        """SELECT id, title, substr(content, 1, :content) FROM records
        WHERE status = 'active' AND namespace = 'project' AND category = 'constraint'
            AND (:root = x'' OR root IN (x'', :root)) ORDER BY updated_at DESC, id""",
        {"content": CONTENT, "root": project},
    )
    return rows.fetchall()
