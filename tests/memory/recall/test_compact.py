"""What leaves of a record: short enough, and nothing cut in silence."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankml.memory.recall.compact import CONTENT, PATH, PATHS, PREVIEW, TITLE, compact, cut, preview, titled
from bankml.memory.recall.recalled import Memory
from tests.memory.remembered import record

ROOT = b"/home/me/repo"


def memory(*given: object, repository: str = "", passage: str = "", **more: object) -> Memory:
    one = record(1, *given, **{"root": ROOT, **more})
    return Memory(one, "current", repository, 0.5, 0.25, False, 0.9, 1.0, 1, 2, passage)


def test_what_scripts_rely_on() -> None:
    found = compact(memory("A title", "A content", "src/a.py", tags=("x",), superseded_by="rec_2"), ROOT)
    assert found == {
        "id": "rec_0000000000000001",
        "title": "A title",
        "content": "A content",
        "category": "fact",
        "affectedPaths": ["src/a.py"],
        "score": 0.5,
        "cosine": 0.25,
        "weak": False,
        "status": "active",
        "freshness": "current",
        "confidence": 1.0,
        "namespace": "project",
        "tags": ["x"],
        "created_at": "2023-11-14T22:13:21.000000Z",
        "updated_at": "2023-11-14T22:13:21.000000Z",
        "superseded_by": "rec_2",
    }


@pytest.mark.parametrize(
    ("length", "truncated"), [(0, False), (CONTENT - 1, False), (CONTENT, False), (CONTENT + 1, True)]
)
def test_truncated_is_there_only_where_it_was_cut(length: int, truncated: bool) -> None:
    found = compact(memory("T", "x" * length or " ", passage="the passage"), ROOT)
    assert found.get("truncated", "absent") == (True if truncated else "absent")
    assert len(found["content"]) == min(max(length, 1), CONTENT)
    assert found.get("passage", "absent") == ("the passage" if truncated else "absent")


def test_a_title_of_200_is_whole_and_one_of_201_says_that_it_is_not() -> None:
    assert titled("t" * TITLE) == "t" * TITLE
    assert titled("t" * (TITLE + 1)) == "t" * (TITLE - 1) + "…"


def test_six_paths_of_120() -> None:
    paths = ["a" * PATH, "b/" + "c" * (PATH - 1), *[f"{n}.py" for n in range(9)]]
    found = compact(memory("T", "C", *paths), ROOT)["affectedPaths"]
    assert found == ["a" * PATH, "…" + "c" * (PATH - 1), "0.py", "1.py", "2.py", "3.py"]
    assert len(found) == PATHS


def test_paths_lead_nowhere_else() -> None:
    found = compact(memory("T", "C", "/etc/passwd", "../../x", "a/../../x", "..a/b..", b"caf\xe9", "ok"), ROOT)
    assert found["affectedPaths"] == ["..a/b..", "caf\ufffd", "ok"]


def test_paths_of_another_folder_are_withheld() -> None:
    for other in (
        compact(memory("T", "C", "src/a.py"), b"/home/me/other"),
        compact(memory("T", "C", "src/a.py"), b""),
        compact(memory("T", "C", "src/a.py", root=b""), ROOT),
        compact(memory("T", "C", "src/a.py", repository="peer"), ROOT),
    ):
        assert (other["affectedPaths"], other["paths_withheld"]) == ([], True)
    assert compact(memory("T", "C", repository="peer"), ROOT)["repository"] == "peer"
    assert "paths_withheld" not in compact(memory("T", "C"), b"/other")  # nothing is withheld


def test_a_preview_shows_what_was_found() -> None:
    assert preview("x" * PREVIEW) == "x" * PREVIEW
    text = "a b " * 1000 + "the lighthouse keeper " + "c d " * 1000
    found = preview(text, frozenset({"lighthouse", "keeper"}))
    assert "the lighthouse keeper" in found
    assert (found[0], found[-1]) == ("…", "…")
    assert len(found) <= PREVIEW


def test_no_letter_is_parted_from_its_marks() -> None:
    assert cut("x" * 9 + "e\u0301" + "y", 10) == "x" * 9
    assert cut("x" * 8 + "\U0001f469\u200d\U0001f4bb" + "y", 10) == "x" * 8
    assert cut("x" * 9 + "\u2764\ufe0f" + "y", 10) == "x" * 9
    assert cut("e" + "\u0301" * 99, 10) == "e" + "\u0301" * 9  # a pile of marks is cut all the same
    assert cut("e\u0301\u0301", 1) == "e"


@given(st.text(max_size=40) | st.text("e\u0301\u200d\ufe0f\U0001f469x", max_size=60), st.integers(1, 50))
def test_a_cut_is_a_beginning_and_not_much_shorter(text: str, most: int) -> None:
    found = cut(text, most)
    assert text.startswith(found)
    assert len(found) <= most
    assert len(found) > min(len(text), most) - 32
    assert found or not text


@given(
    st.text(max_size=300),
    st.text(max_size=2100),
    st.lists(st.text(max_size=130).map(lambda s: s.encode("utf-8", "replace")), max_size=8),
)
def test_whatever_it_holds_it_is_json(title: str, content: str, paths: list[bytes]) -> None:
    found = compact(memory(title, content + "\ud800", *paths, tags=("\udcff",)), ROOT)
    assert json.loads(json.dumps(found)) == found
    json.dumps(found, ensure_ascii=False).encode()
    assert len(found["content"]) <= CONTENT
    assert len(found["title"]) <= TITLE
