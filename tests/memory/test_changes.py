"""What differs between two texts, by words."""

from hypothesis import example, given
from hypothesis import strategies as st

from bankml.memory.changes import WORDS, Change, changes

TEXTS = st.text(max_size=60) | st.lists(st.sampled_from(["a", "b", " ", "the", "\n", "ไท", "\x1b[2J"])).map("".join)


def told(before: str, after: str) -> list[tuple[str, str]]:
    return [(change.kind, change.text) for change in changes(before, after)]


def test_words_that_were_replaced() -> None:
    assert told("A token lives for an hour.", "A token lives for a day.") == [
        ("kept", "A token lives for "),
        ("removed", "an"),
        ("added", "a"),
        ("kept", " "),
        ("removed", "hour"),
        ("added", "day"),
        ("kept", "."),
    ]


def test_scripts_without_spaces_are_compared_by_characters() -> None:
    assert told("東京の天気", "大阪の天気") == [("removed", "東京"), ("added", "大阪"), ("kept", "の天気")]


@given(TEXTS, TEXTS)
@example("", "")
@example("a", "")
@example("a\U0001f600\ud800", "\ud800b")
def test_both_texts_are_in_it(before: str, after: str) -> None:
    found = changes(before, after)
    assert "".join(change.text for change in found if change.kind != "added") == before
    assert "".join(change.text for change in found if change.kind != "removed") == after
    assert all(change.text for change in found)
    assert before != after or found == ([Change("kept", before)] if before else [])


def test_what_would_take_too_long_is_replaced_whole() -> None:
    before, after = (
        " ".join([*(f"{which}{number % 97}" for number in range(WORDS)), "both", which]) for which in ("x", "y")
    )
    assert told(f"same {before} end", f"same {after} end") == [
        ("kept", "same "),
        ("removed", before),
        ("added", after),
        ("kept", " end"),
    ]
