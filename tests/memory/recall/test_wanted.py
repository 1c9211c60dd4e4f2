"""Which records may be found at all: in the store, and one by one."""

import itertools

import pytest

from bankml.errors import InputError
from bankml.memory.recall.wanted import Wanted
from bankml.store import Store
from tests.library.shelf import put
from tests.memory.remembered import record, remember

OF_SESSION = ("s1", "s2", "", "'; --")


def every() -> list:
    """Of each kind one."""
    kinds = itertools.product(("active", "archived"), ("fact", "decision"), ("project", "session"), ((), ("a", "b")))
    return [
        record(n, f"T{n}", status=status, category=category, namespace=namespace, tags=tags, session=session)
        for n, ((status, category, namespace, tags), session) in enumerate(itertools.product(kinds, OF_SESSION))
        if namespace == "session" or not session
    ]


@pytest.mark.parametrize(
    "wanted",
    [
        Wanted.of(),
        Wanted.of(["any"]),
        Wanted.of(["active", "any"]),
        Wanted.of(["archived"], "decision"),
        Wanted.of(session="s1"),
        Wanted.of(session="'; --"),
        Wanted.of(namespaces=["session"], session="s2"),
        Wanted.of(namespaces=["project"], session="s2"),
        Wanted.of(tags=["a"]),
        Wanted.of(tags=["a", "b", "a"]),
        Wanted.of(tags=["a", "c"]),
        Wanted.of(tags=["%"]),
        Wanted.of(categories=["fact", "state"], tags="b"),
    ],
)
def test_the_store_and_each_record_say_the_same(store: Store, wanted: Wanted) -> None:
    put(store, "/a", ["a document", "of two passages"])
    given = every()
    for one in given:
        remember(store, None, one, passages=[f"{one.title} one", f"{one.title} two"])
    with store.reading() as db:
        passages, owners = wanted.passages(db)
        ids = dict(db.execute("SELECT document_id, id FROM records").fetchall())
    assert {ids[owner] for owner in owners.tolist()} == {one.id for one in given if wanted.passes(one)}
    assert len(passages) == 2 * len(set(owners.tolist()))
    assert passages.tolist() == sorted(passages.tolist())
    assert passages.flags.c_contiguous


def test_few_among_many_documents(store: Store) -> None:
    """They are looked up, where all are read otherwise."""
    put(store, "/a", [f"passage {n}" for n in range(100)])
    ids = remember(store, None, record(1, "x"), passages=["one", "two"])
    with store.reading() as db:
        passages, owners = Wanted.of().passages(db)
    assert passages.tolist() == ids
    assert len(set(owners.tolist())) == 1


@pytest.mark.parametrize("wanted", [Wanted.of(), Wanted.of("any"), Wanted.of(categories="fact", session="s1")])
def test_an_index_alone_says_what_passes(store: Store, wanted: Wanted) -> None:
    """A record's own row is long: of 10,000 records 0.3 s were read, after each write."""
    for one in every():
        remember(store, None, one)
    asked: list[str] = []
    with store.reading() as db:
        db.set_trace_callback(asked.append)
        wanted.passages(db)
        db.set_trace_callback(None)
        steps = [row[3] for sql in asked for row in db.execute(f"EXPLAIN QUERY PLAN {sql}") if "chunks" not in sql]
    assert steps
    assert all("COVERING INDEX" in step for step in steps)


def test_by_itself_what_is_active_and_of_no_session(store: Store) -> None:
    passing = [one for one in every() if Wanted.of().passes(one)]
    assert {(one.status, one.namespace) for one in passing} == {("active", "project")}
    assert not Wanted.of(session="").passes(record(1, "x", namespace="session", session=""))


def test_an_empty_store_has_none(store: Store) -> None:
    with store.reading() as db:
        assert Wanted.of().passages(db).shape == (2, 0)


def test_equal_ones_are_one() -> None:
    assert hash(Wanted.of("active", tags=["a"])) == hash(Wanted.of(["active", "active"], tags=["a", "a"]))
    assert Wanted.of([]) == Wanted.of()


@pytest.mark.parametrize(
    "given",
    [{"statuses": ["Active"]}, {"categories": ["facts"]}, {"namespaces": [""]}, {"namespaces": "session"}],
)
def test_what_no_record_can_be_is_refused(given: dict) -> None:
    with pytest.raises(InputError):
        Wanted.of(**given)
