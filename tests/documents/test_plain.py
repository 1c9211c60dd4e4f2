from bankml.documents.extract import extract
from tests.documents.soundness import assert_sound, shown


def plain(text, name="a.txt"):
    extracted = extract(name, text.encode())
    assert_sound(extracted)
    return extracted


def headings(text):
    return [(level, words) for kind, level, _, words in shown(plain(text)) if kind == "heading"]


def test_underlined_titles_have_levels_in_the_order_of_their_styles():
    text = "=====\nTitle\n=====\n\nOne\n---\ntext\n\nTwo\n~~~\n\nThree\n-----\n"
    assert headings(text) == [(1, "=====\nTitle\n====="), (2, "One\n---"), (3, "Two\n~~~"), (2, "Three\n-----")]
    assert plain(text, "a.rst").type == "rst"
    assert plain(text).title == "Title"


def test_rules_that_underline_nothing_are_no_headings():
    assert headings("a long line of text\n---\nmore\n\n-----\n\na\n  b\n\n***\nx\n---\n") == []


def test_a_number_heads_what_follows_and_a_list_is_none():
    assert headings("1. Scope\n\nText.\n\n2.1 Terms\n\nMore text.\n") == [(1, "1. Scope"), (2, "2.1 Terms")]
    assert headings("1. Milk\n\n2. Bread\n\n3. Eggs\n") == []
    assert headings("1. Buy milk.\n\nText\n") == headings("12 monkeys,\n\nText") == []


def test_lists_and_paragraphs_with_lines_that_end_in_any_way():
    found = shown(plain("one\r\ntwo\r\n\r\n- a\r\n- b\r\n\r\nthree\n"))
    assert found == [("paragraph", 0, 1, "one\r\ntwo"), ("list", 0, 4, "- a\r\n- b"), ("paragraph", 0, 7, "three")]


def test_a_file_without_headings_is_called_by_its_name():
    assert plain("words", "/some/where/notes.txt").title == "notes.txt"
    assert plain("", "empty").blocks == ()
