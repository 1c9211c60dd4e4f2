"""Records in a store, as simple as they can be."""

from dataclasses import replace

from bankml.store import Assertion, Record, Store, assertions, records
from bankml.store.record import new_id, passage

NOW = 1_700_000_000_000_000


def record(title: str, content: str, **more: object) -> Record:
    """With a new id, written at one and the same instant."""
    return replace(Record(new_id(), title, content, NOW, NOW), **more)


def keep(store: Store, *several: Record) -> list[int]:
    """Each in one passage, with its assertion, words alone; the ids of their passages."""
    added: list[int] = []
    with store.writing() as db:
        for one in several:
            text = one.text.removeprefix(f"{one.title}\n")
            found = records.put(db, one, [passage(text, one.title, 0, 5)], "1")
            said = Assertion(one.content, one.confidence, one.created_at, None, one.created_at)
            assertions.put(db, one.id, said)
            added += [id for id, _ in found.added]
    return added
