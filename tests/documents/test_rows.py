import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankml.documents.extract import extract
from bankml.errors import DocumentError
from tests.documents.soundness import assert_sound, shown


def read(text, name):
    extracted = extract(name, text.encode())
    assert_sound(extracted)
    return extracted


def test_a_row_of_json_for_each_line_and_bad_lines_are_counted():
    extracted = read('{"a": 1, "b": {"c": ["d", {"e": true}]}}\n\nbad\n[1, 2]\n"s"\n{"x": null}\nalso bad', "a.jsonl")
    assert shown(extracted) == [("row", 0, 1, "a: 1\nb.c: d\nb.c.e: true"), ("row", 0, 4, "1, 2"), ("row", 0, 5, "s")]
    assert extracted.notes == ("lines that are no JSON and are left out: 2, the first is line 3",)
    assert "nested" not in read("[" * 100_000 + "]" * 100_000 + "\n1\n", "a.jsonl").text


def test_each_row_has_the_names_of_its_columns():
    for delimiter in ",;|\t":
        text = f'name{delimiter}city\nAda{delimiter}"London\nUK{delimiter} "\n\nBob{delimiter}\n'
        found = shown(read(text, "a.csv"))
        assert found == [("row", 0, 2, f"name: Ada\ncity: London\nUK{delimiter}".rstrip()), ("row", 0, 5, "name: Bob")]


def test_without_names_or_with_more_cells_than_names():
    assert read("1,2\n3,4\n", "a.csv").text == "1\n2\n\n3\n4"
    assert read("a,b\n1,2,3\n", "a.csv").text == "a: 1\nb: 2\n3"
    assert read("a,b\n", "a.csv").text == "a\nb"
    assert read("a b\tc\n1\t2\n", "a.tsv").text == "a b: 1\nc: 2"


def test_long_names_stand_above_all_rows_of_a_long_table():
    names = ["the first of the columns", "the second of the columns"]
    rows = "".join(f"{n},\n" if n % 2 else f"{n},x\n" for n in range(10, 62))
    found = shown(read(f"{','.join(names)}\n{rows}", "a.csv"))
    assert found[:3] == [("heading", 1, 2, ", ".join(names)), ("row", 0, 2, "10 | x"), ("row", 0, 3, "11 |")]
    assert len(found) == 53


def test_a_path_of_long_keys_is_not_repeated_for_each_value():
    text = json.dumps({"k" * 10_000: [[1, {"a": 2}]] * 1000})
    assert len(read(text, "a.jsonl").text) < 2000 * 100


def test_more_rows_than_can_be_held_are_told(monkeypatch):
    monkeypatch.setattr("bankml.documents.assembly.BLOCKS", 3)
    with pytest.raises(DocumentError, match="has more than 3 rows or paragraphs: split it"):
        read("1\n2\n3\n4\n", "a.jsonl")


def test_a_quotation_mark_that_nobody_ends_takes_nothing_along():
    extracted = read('size,text\n5,"inch\n' + "6,more\n" * 2000, "a.csv")
    assert len(extracted.blocks) == 2001


def test_a_huge_cell():
    text = "a,b\n1," + "x" * 1_000_000 + "\n"
    assert len(read(text, "a.csv").text) > 1_000_000


@given(st.lists(st.lists(st.text("ab \"',;\n", max_size=5), min_size=2, max_size=4), min_size=1, max_size=6))
def test_every_cell_of_a_table_is_there(rows):
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([["one", "two", "three", "four"], *rows])
    text = read(stream.getvalue(), "a.csv").text
    for row in rows:
        for cell in row:
            assert cell.strip() in text
