import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from bankml.documents.extract import extract
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
