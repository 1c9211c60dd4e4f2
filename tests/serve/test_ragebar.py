"""What the page is told of a history: little, however long the texts are."""

import pytest

from bankml.errors import InputError
from bankml.serve import ragebar
from tests.serve import histories

LONG = "before " * 1500  # more than is looked at while somebody types


@pytest.fixture
def bar(tmp_path):
    """A Ragebar of these exchanges."""
    made = []

    def of(*exchanges: tuple[str, str]) -> ragebar.Ragebar:
        made.append(histories.ragebar(histories.write(tmp_path / "a.history", list(exchanges))))
        return made[-1]

    yield of
    for one in made:
        one.close()


@pytest.fixture
def looked_at(monkeypatch) -> list[int]:
    """How many characters were looked at, each time."""
    seen = []
    whole = ragebar.spans

    def counted(text: str, query: str):
        seen.append(len(text))
        return whole(text, query)

    monkeypatch.setattr(ragebar, "spans", counted)
    return seen


def marked(text: str, marks: list[list[int]]) -> list[str]:
    return [text[first:last] for first, last in marks]  # of the basic plane alone


def test_of_a_long_answer_little_is_looked_at(bar, looked_at):
    """50 MB took 13 s and 1.4 GB, in which nobody else was answered."""
    one = bar(("what?", "plain words " * 400_000), ("other", "plain"))
    one.search("plain", 8)
    assert sum(looked_at) < 3 * ragebar.LOOKED_AT
    looked_at.clear()
    found = one.exchange(0, "plain")
    assert sum(looked_at) < 2 * ragebar.WHOLE_LOOKED_AT
    assert found["cut"]
    assert len(found["assistant"]) <= ragebar.WHOLE + 1
    assert found["assistant"].endswith("…")
    assert set(marked(found["assistant"], found["assistant_marks"])) == {"plain"}


@pytest.mark.parametrize("between", [" ", " [\u0130] "])
def test_a_match_behind_much_else_is_shown_where_it_is(bar, between):
    found = bar(("long", LONG + between + "the Needle" + " after" * 5000)).search("needle", 8)["results"][0]
    assert marked(found["assistant"], found["assistant_marks"]) == ["Needle"]


def test_what_is_no_match_is_not_marked(bar):
    """A word that is cut where looking ends, and one that only contains what is looked for."""
    cut = "x" * (ragebar.LOOKED_AT - 4) + " cat"
    found = bar(("one", cut + "alogue" + " y" * 10), ("two", LONG + "concatenated " * 2), ("three", "cat"))
    texts = {hit["id"]: hit for hit in found.search("cat one two", 8)["results"]}
    assert [texts[id]["assistant_marks"] for id in range(3)] == [[], [], [[0, 3]]]


def test_an_answer_that_is_shown_already_is_not_sent_again(bar):
    one = bar(*histories.SKY)
    first = one.search("sky", 8)
    assert one.search("sky", 8, first["version"]) == {"version": first["version"], "pending": False}
    histories.write(one.path, [("sky", "more")], "a")
    assert len(one.search("sky", 8, first["version"])["results"]) == 2


def test_what_is_asked_is_bounded(bar):
    one = bar(*histories.SKY)
    assert one.search("a " * 2000, 100)["results"] == []
    for ask in (lambda query: one.search(query, 8), lambda query: one.exchange(0, query)):
        with pytest.raises(InputError, match="the query has 4,001 characters; shorten it to 4,000"):
            ask("a" * 4001)
    with pytest.raises(InputError, match="k is 101; ask for 1 to 100"):
        one.search("sky", 101)
