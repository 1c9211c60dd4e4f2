"""Records written: whole or not at all, each with its history."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from bankml.embedders import choose
from bankml.errors import BusyError, InputError, MismatchError, StoreError, UnavailableError
from bankml.library.upkeep.missing import embed_missing
from bankml.library.upkeep.reindex import reindex
from bankml.memory import embedding
from bankml.memory.freshness import seen
from bankml.memory.writing import Written, remember, revise
from bankml.store import Assertion, Bound, Cited, assertions, records
from oracle import seeded
from tests.library.whole import count, faults


def found(store, record_id):
    with store.reading() as db:
        return records.find(db, record_id)


def history(store, record_id):
    with store.reading() as db:
        return assertions.of(db, record_id)


def test_a_record_is_written_with_its_assertion_its_words_and_its_vector(
    store, settings, draft, embedder, repository, clock
):
    wanted = draft(
        category="decision",
        tags=["auth"],
        paths=["src/auth.py"],
        reasoning="shorter annoys",
        confidence=0.75,
        root=bytes(repository),
        provenance={"by": "a test"},
    )
    done = remember(store, settings, wanted, embedder, clock)
    assert done == Written(done.id, passages=1, embedded=1)
    record = found(store, done.id)
    assert (record.title, record.content, record.category, record.tags) == (
        wanted.title,
        wanted.content,
        "decision",
        ("auth",),
    )
    assert (record.status, record.freshness, record.namespace) == ("active", "current", "project")
    assert record.cited[0].path == b"src/auth.py"
    assert record.text == "Sessions expire\nA token lives for an hour.\nReasoning: shorter annoys\nTags: auth"
    assert history(store, done.id) == [Assertion(wanted.content, 0.75, clock.now, None, clock.now, {"by": "a test"}, 1)]
    with store.reading() as db:
        (vector,) = db.execute("SELECT vector FROM chunks_vec").fetchone()
        assert Bound.read(db).dims == 64
    assert np.array_equal(np.frombuffer(vector, "<f4"), embedder().embed([record.text])[0])
    assert faults(store) == []


def test_the_same_active_record_is_written_once(store, settings, draft, embedder, clock):
    first = remember(store, settings, draft(), embedder, clock)
    again = remember(store, settings, draft(provenance={"by": "another"}), embedder, clock)
    assert again == replace(first, existing=True)
    assert len(history(store, first.id)) == 1
    others = [
        draft(confidence=0.5),
        draft(category="decision"),
        draft(session="s1"),
        draft(root=b"/elsewhere"),
        draft(reasoning="why"),
        draft(paths=["a.py"]),
    ]
    ids = {remember(store, settings, other, embedder, clock).id for other in others}
    assert len(ids | {first.id}) == 7


def test_two_who_write_the_same_at_once_get_one_record(store, settings, draft, embedder):
    """The second has looked around before the first was done."""
    first = remember(store, settings, draft(), embedder)
    with store.writing() as db:  # as if it were not written yet
        records.mark(db, first.id, 0, status="archived")
    with ThreadPoolExecutor(1) as thread:
        with store.writing() as db:
            second = thread.submit(remember, store, settings, draft(), embedder)
            with pytest.raises(TimeoutError):
                second.result(0.5)
            records.mark(db, first.id, 0, status="active")
        done = second.result(30)
    assert (done.id, done.existing) == (first.id, True)
    assert count(store, "records") == 1


@pytest.mark.parametrize(
    "meanwhile",
    [
        lambda db, record: records.mark(db, record, 0, confidence=0.5),
        lambda db, record: records.cite(db, record, [Cited(b"README.md")]),
    ],
    ids=["the confidence", "the cited files"],
)
def test_two_who_revise_one_record_at_once_are_told(store, settings, draft, embedder, meanwhile):
    first = remember(store, settings, draft(paths=["src/auth.py"]), embedder)
    with ThreadPoolExecutor(1) as thread:
        with store.writing() as db:
            second = thread.submit(revise, store, settings, first.id, "Two hours.", choose=embedder)
            with pytest.raises(TimeoutError):
                second.result(0.5)
            meanwhile(db, first.id)
            before = records.find(db, first.id)
        with pytest.raises(InputError, match=f"{first.id} was revised by another meanwhile: read it again"):
            second.result(30)
    assert found(store, first.id) == before


def test_a_title_and_a_content_that_read_alike_are_two_records(store, settings, draft, embedder):
    one = remember(store, settings, draft(title="a", content="b\nReasoning: c"), embedder)
    other = remember(store, settings, draft(title="a", content="b", reasoning="c"), embedder)
    assert one.id != other.id


def test_a_record_takes_the_place_of_others(store, settings, draft, embedder, clock):
    old = [remember(store, settings, draft(title=title), embedder, clock).id for title in ("one", "two")]
    new = remember(store, settings, draft(supersedes=old), embedder, clock)
    assert new.superseded == tuple(old)
    for record_id in old:
        record = found(store, record_id)
        assert (record.status, record.superseded_by, record.updated_at) == ("superseded", new.id, clock.now)
        assert history(store, record_id)[0].valid_to == clock.now
    again = remember(store, settings, draft(supersedes=old), embedder, clock)  # as a client does that got no answer
    assert (again.id, again.existing, again.superseded) == (new.id, True, ())
    other = remember(store, settings, draft(title="three"), embedder, clock).id
    late = remember(store, settings, draft(supersedes=[*old, other]), embedder, clock)
    assert (late.id, late.existing, late.superseded) == (new.id, True, (other,))


def test_the_same_words_may_take_the_place_of_their_own_record(store, settings, draft, embedder, clock):
    old = remember(store, settings, draft(), embedder, clock)
    new = remember(store, settings, draft(supersedes=[old.id]), embedder, clock)
    assert not new.existing
    assert found(store, old.id).superseded_by == new.id


def test_what_was_valid_before_it_was_written_ends_what_it_supersedes_then(store, settings, draft, embedder, clock):
    old = remember(store, settings, draft(title="old", valid_from=1000), embedder, clock)
    new = remember(store, settings, draft(supersedes=[old.id], valid_from=2000), embedder, clock)
    assert (history(store, old.id)[0].valid_from, history(store, old.id)[0].valid_to) == (1000, 2000)
    assert (history(store, new.id)[0].valid_from, history(store, new.id)[0].recorded_at) == (2000, clock.now)


def test_a_session_takes_the_place_of_nothing_that_others_see(store, settings, draft, embedder, clock):
    everybodys = remember(store, settings, draft(), embedder, clock).id
    anothers = remember(store, settings, draft(session="s2"), embedder, clock).id
    own = remember(store, settings, draft(session="s1"), embedder, clock).id
    for theirs, whose in (everybodys, "of the namespace project"), (anothers, "of another session"):
        before = found(store, theirs)
        sentence = f"{theirs} is {whose}, and a record of the session 's1' takes the place of that session's alone"
        with pytest.raises(InputError, match=sentence):
            remember(store, settings, draft(title="new", session="s1", supersedes=[own, theirs]), embedder, clock)
        assert found(store, theirs) == before
    assert (count(store, "records"), found(store, own).status) == (3, "active")
    new = remember(store, settings, draft(title="new", session="s1", supersedes=[own]), embedder, clock)
    assert new.superseded == (own,)
    promoted = remember(store, settings, draft(title="for all", supersedes=[new.id, anothers]), embedder, clock)
    assert promoted.superseded == (new.id, anothers)


def test_what_begins_later_is_written_when_it_does(store, settings, draft, embedder, clock):
    """Else a query would say at once what holds only then."""
    first = remember(store, settings, draft(), embedder, clock).id
    before = found(store, first), history(store, first)
    later = clock.now + 3_600_000_000
    for write in (
        lambda: revise(store, settings, first, "Two hours.", valid_from=later, choose=embedder, clock=clock),
        lambda: remember(store, settings, draft(title="new", valid_from=later), embedder, clock),
        lambda: remember(store, settings, draft(title="new", valid_from=later, supersedes=[first]), embedder, clock),
    ):
        with pytest.raises(InputError, match=r"it is to hold from 2023-11-14T23:.*, and now it is 2023-11-14T22:"):
            write()
    assert (found(store, first), history(store, first)) == before
    assert count(store, "records") == 1


def test_a_clock_that_is_a_little_ahead_says_now(store, settings, draft, embedder, clock):
    first = remember(store, settings, draft(valid_from=clock.now + 30_000_000), embedder, clock).id
    assert history(store, first)[0].valid_from == clock.now
    revise(store, settings, first, "Two hours.", valid_from=clock.now + 30_000_000, choose=embedder, clock=clock)
    assert history(store, first)[1].valid_from == clock.now
    ahead = draft(title="new", valid_from=clock.now + 30_000_000, supersedes=[first])
    remember(store, settings, ahead, embedder, clock)
    assert history(store, first)[1].valid_to == clock.now


@pytest.mark.parametrize("missing", ["rec_0123456789abcdef", "superseded", "archived"])
def test_what_cannot_be_superseded_writes_nothing(store, settings, draft, embedder, clock, missing):
    from bankml.memory.verdicts import feedback as give

    if missing == "superseded":
        missing = remember(store, settings, draft(title="old"), embedder, clock).id
        remember(store, settings, draft(title="new", supersedes=[missing]), embedder, clock)
    elif missing == "archived":
        missing = remember(store, settings, draft(title="old"), embedder, clock).id
        give(store, missing, "archive")
    good = remember(store, settings, draft(title="good"), embedder, clock).id
    tables = "records documents chunks chunks_vec assertions".split()
    before = [count(store, table) for table in tables]
    with pytest.raises(InputError, match=f"{missing} is|no record {missing}"):
        remember(store, settings, draft(supersedes=[good, missing]), embedder, clock)
    assert [count(store, table) for table in tables] == before
    assert found(store, good).status == "active"
    assert history(store, good)[0].valid_to is None


def test_a_revision_is_a_new_assertion_of_the_same_record(store, settings, draft, embedder, clock):
    first = remember(store, settings, draft(confidence=0.5), embedder, clock)
    at = clock.now
    done = revise(store, settings, first.id, "Two hours.", provenance={"by": "x"}, choose=embedder, clock=clock)
    assert done == replace(first, existing=False)
    record = found(store, first.id)
    assert (record.content, record.confidence, record.created_at, record.updated_at) == (
        "Two hours.",
        0.5,
        at,
        clock.now,
    )
    assert history(store, first.id) == [
        Assertion("A token lives for an hour.", 0.5, at, clock.now, at, {}, 1),
        Assertion("Two hours.", 0.5, clock.now, None, clock.now, {"by": "x"}, 2),
    ]
    assert count(store, "chunks") == count(store, "chunks_vec") == 1
    assert revise(store, settings, first.id, "Two hours.", choose=embedder, clock=clock).existing
    assert revise(store, settings, first.id, confidence=0.5, choose=embedder, clock=clock).existing
    assert not revise(store, settings, first.id, confidence=0.25, choose=embedder, clock=clock).existing
    assert [each.confidence for each in history(store, first.id)] == [0.5, 0.5, 0.25]
    assert faults(store) == []


def test_a_revision_reads_the_cited_files_anew_or_takes_others(store, settings, draft, embedder, repository):
    wanted = draft(paths=["src/auth.py"], root=bytes(repository))
    first = remember(store, settings, wanted, embedder)
    (repository / "src" / "auth.py").write_text("TTL = 7200\n")
    before = found(store, first.id).cited
    revise(store, settings, first.id, "Two hours.", choose=embedder)
    after = found(store, first.id).cited
    assert (after[0].path, after[0].sha256 != before[0].sha256) == (b"src/auth.py", True)
    assert not revise(store, settings, first.id, paths=["README.md"], choose=embedder).existing
    assert [file.path for file in found(store, first.id).cited] == [b"README.md"]
    with pytest.raises(InputError, match="outside"):
        revise(store, settings, first.id, paths=["/etc/passwd"], choose=embedder)


def test_a_revision_that_changes_nothing_is_none(store, settings, draft, embedder, repository, clock):
    wanted = draft(paths=["src/auth.py"], root=bytes(repository))
    first = remember(store, settings, wanted, embedder, clock).id

    def again(**given):
        return revise(store, settings, first, wanted.content, choose=embedder, clock=clock, **given).existing

    assert again()
    assert again(paths=["src/auth.py"])
    assert not again(valid_from=1000)
    assert history(store, first)[-1].valid_from == 1000
    with store.writing() as db:
        records.mark(db, first, 0, freshness="stale")
    assert not again()
    assert found(store, first).freshness == "current"
    (repository / "src" / "auth.py").write_text("TTL = 7200\n")
    assert not again()
    assert seen(found(store, first)) == "current"
    assert again()
    assert len(history(store, first)) == 4


def test_a_revision_without_its_repository_keeps_what_was_seen_of_its_files(
    store, settings, draft, embedder, repository
):
    wanted = draft(paths=["src/auth.py", "README.md"], root=bytes(repository))
    first = remember(store, settings, wanted, embedder).id
    before = found(store, first).cited
    repository.rename(repository.with_name("away"))
    revise(store, settings, first, "Two hours.", choose=embedder)
    assert found(store, first).cited == before
    revise(store, settings, first, paths=["README.md", "new.py"], choose=embedder)
    assert found(store, first).cited == (before[1], Cited(b"new.py"))


def test_only_what_is_active_is_revised(store, settings, draft, embedder):
    old = remember(store, settings, draft(title="old"), embedder)
    new = remember(store, settings, draft(supersedes=[old.id]), embedder)
    with pytest.raises(InputError, match=f"{old.id} is superseded by {new.id}: name the one that took its place"):
        revise(store, settings, old.id, "x", choose=embedder)
    with pytest.raises(InputError, match="there is no record rec_1"):
        revise(store, settings, "rec_1", "x", choose=embedder)
    with pytest.raises(InputError, match="'x' is no id of a record"):
        revise(store, settings, "x", "x", choose=embedder)
    assert len(history(store, old.id)) == 1


def test_a_clock_that_goes_backwards_keeps_a_records_history_in_order(store, settings, draft, embedder, clock):
    first = remember(store, settings, draft(), embedder, clock)
    written = clock.now
    clock.now -= 3_600_000_000
    for number in range(3):
        revise(store, settings, first.id, f"version {number}", choose=embedder, clock=clock)
    told = history(store, first.id)
    assert [each.recorded_at for each in told] == [written + n for n in range(4)]
    assert [each.valid_from for each in told] == [written + n for n in range(4)]
    assert [each.valid_to for each in told] == [written + 1, written + 2, written + 3, None]
    assert [each.content for each in told][1:] == [f"version {number}" for number in range(3)]
    new = remember(store, settings, draft(title="new", supersedes=[first.id]), embedder, clock)
    assert history(store, first.id)[-1].valid_to == written + 4
    assert found(store, first.id).superseded_by == new.id
    assert found(store, first.id).updated_at == written + 4


def test_hostile_texts_are_stored_as_given(store, settings, draft, embedder):
    hostile = "\x1b]0;owned\x07\x1b[2J ‮ \0 ' OR 1=1; -- {{7*7}} <script>"
    done = remember(store, settings, draft(title=hostile, content=hostile, tags=[hostile], reasoning=hostile), embedder)
    record = found(store, done.id)
    assert (record.content, record.reasoning, record.title) == (hostile, hostile, hostile)
    assert faults(store) == []


class Faulty:
    """A real embedder, of which one call does another thing."""

    def __init__(self, embedder, embed):
        self._embedder, self._embed = embedder, embed

    def __getattr__(self, name):
        return getattr(self._embedder, name)

    def embed(self, texts, **more):
        return self._embed(texts, **more)


@pytest.mark.parametrize(
    "error", [UnavailableError("there is no room for it"), BusyError("it is busy"), OSError(5, "an error of a disk")]
)
def test_a_model_that_fails_never_fails_the_write(store, settings, draft, embedder, error):
    def fail(texts, **more):
        raise error

    done = remember(store, settings, draft(), lambda: Faulty(embedder(), fail))
    assert (done.passages, done.embedded, done.why) == (1, 0, str(error))
    assert found(store, done.id)
    again = remember(store, settings, draft(), embedder)
    assert (again.id, again.existing, again.embedded, again.why) == (done.id, True, 1, "")


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (UnavailableError("there is no model here"), "there is no model here"),
        (OSError(24, "Too many open files"), "Too many open files"),
        (MemoryError(), "there is no memory for the model: `bankml reindex --missing`"),
    ],
)
def test_a_model_that_is_not_here_never_fails_the_write(store, settings, draft, error, why):
    def choose_none():
        raise error

    done = remember(store, settings, draft(), choose_none)
    assert (done.embedded, why in done.why) == (0, True)
    assert found(store, done.id)


def test_another_model_than_the_stores_makes_no_vector(store, settings, draft, embedder, tmp_path):
    remember(store, settings, draft(), embedder)
    other = choose(name=seeded.tiny(tmp_path / "other.gguf", hidden=32, seed=1))
    done = remember(store, settings, draft(title="other"), lambda: other)
    assert done.embedded == 0
    assert done.why.startswith("Model mismatch: DB uses ")
    assert count(store, "chunks_vec") == 1

    def mismatched():
        raise MismatchError("Model mismatch: …")

    assert remember(store, settings, draft(title="third"), mismatched).why == "Model mismatch: …"


def test_a_write_waits_only_so_long_for_a_busy_engine(store, settings, draft, embedder, monkeypatch):
    monkeypatch.setattr(embedding, "SECONDS", 0.2)
    with embedder()._documents.taken():
        done = remember(store, settings, draft(), embedder)
    assert (done.embedded, done.why) == (
        0,
        "the model had no more than 0.2 s for it: `bankml reindex --missing` embeds what is left",
    )
    assert found(store, done.id)


def test_what_was_embedded_in_time_is_kept(store, settings, draft, embedder):
    """The time is over once something is stored, however quick the model is."""
    wanted = draft(content="\n\n".join(f"Paragraph {n} of many words about {n}. " * 20 for n in range(60)))
    done = remember(store, replace(settings, disable_write_embedding=True), wanted, embedder)
    assert done.why == "BANKML_DISABLE_WRITE_EMBEDDING is set: `bankml reindex --missing` embeds it"
    why = embedding.embed_record(store, embedder(), done.id, lambda: 99.0 if count(store, "chunks_vec") else 0.0)
    assert why == "the model had no more than 5 s for it: `bankml reindex --missing` embeds what is left"
    assert 0 < count(store, "chunks_vec") < done.passages
    assert faults(store) == []


def test_a_text_that_no_finite_vector_comes_of_is_told_and_the_others_are_embedded(
    store, settings, draft, overflowing, tmp_path
):
    model = choose(name=overflowing(tmp_path / "over.gguf", "overflow"))
    wanted = draft(
        content="\n\n".join(["plain words here " * 60, "overflow " + "and more words " * 60, "at last " * 80])
    )
    done = remember(store, settings, wanted, lambda: model)
    assert 0 < done.embedded < done.passages
    assert "finite" in done.why or "NaN" in done.why
    assert count(store, "chunks_vec") == done.embedded


def test_nothing_is_embedded_where_that_is_not_wanted(store, settings, draft, embedder, stocked_home):
    done = remember(store, replace(settings, disable_write_embedding=True), draft(), embedder)
    assert (done.embedded, done.passages) == (0, 1)
    (store.path.parent / "config.yaml").write_text("search: {vector: {enabled: false}}\n")
    done = remember(store, settings, draft(title="other"))
    assert (done.embedded, "search.vector.enabled is false" in done.why) == (0, True)


def test_what_was_not_embedded_is_by_reindex(store, settings, draft, embedder):
    wanted = draft(content="\n\n".join(f"Paragraph {n} of words about {n}. " * 9 for n in range(40)))
    done = remember(store, replace(settings, disable_write_embedding=True), wanted, embedder)
    assert done.passages > 3
    assert embed_missing(store, embedder()).embedded == done.passages
    assert reindex(store, embedder()).embedded == done.passages
    assert remember(store, settings, wanted, embedder).embedded == done.passages


def test_a_damaged_configuration_writes_nothing(store, settings, draft, embedder):
    (store.path.parent / "config.yaml").write_text("chunk_tokens: many\n")
    with pytest.raises(StoreError, match="chunk_tokens is 'many'"):
        remember(store, settings, draft(), embedder)
    assert count(store, "records") == 0


def test_cited_files_that_cannot_be_read_are_told(store, settings, draft, embedder, repository):
    os.mkfifo(repository / "pipe")
    wanted = draft(root=bytes(repository), paths=["src/auth.py", "gone.py", "pipe", "src"])
    assert remember(store, settings, wanted, embedder).unread == (b"gone.py", b"pipe")
