"""The comparison of ids: only differences with a known cause pass."""

from oracle.differences import SEVERAL, UNEXPLAINED, UNIGRAM_FAST, WORDPIECE_LLAMA, Class, classify, without
from oracle.tokens import row

DIGITS = Class("digits", without(str.isdigit))
SIGNS = Class("signs", without(lambda c: c in "!?"))


def letters(text: str) -> list[int]:
    return [ord(c) for c in text if c.isalpha()]


def everything(text: str) -> list[int]:
    return [ord(c) for c in text]


def test_equal_ids_pass() -> None:
    found = row("x", "y", ["ab", "c"], letters, everything, "all equal")
    assert (found.found, found.passed) == ("2 equal", True)


def test_a_difference_without_a_class_fails() -> None:
    found = row("x", "y", ["ab", "a1"], letters, everything, "all equal")
    assert (found.found, found.passed) == (f"1 equal; 1 {UNEXPLAINED}", False)


def test_a_difference_with_a_class_passes_and_is_counted() -> None:
    texts = ["a", "a1", "a?", "a1?", "a2"]
    found = row("x", "y", texts, letters, everything, "explained", [DIGITS, SIGNS])
    assert (found.found, found.passed) == (f"1 equal; 2 digits; 1 signs; 1 {SEVERAL}", True)


def test_a_tie_is_believed_only_where_it_holds() -> None:
    explained = {"ties": lambda text: text == "a1"}
    found = row("x", "y", ["a1", "a2"], letters, everything, "ties", explained=explained)
    assert (found.found, found.passed) == (f"0 equal; 1 ties; 1 {UNEXPLAINED}", False)


def test_known_classes_remove_what_they_name() -> None:
    kept = {one.name.split(":")[0]: one.remove for one in [*WORDPIECE_LLAMA, *UNIGRAM_FAST]}
    assert kept["Hangul"]("a각b") == "ab"
    assert kept["marks"]("e\u0301\u0903") == "e"
    assert kept["words above 100 characters"]("a" * 120) == "a" * 50
    assert kept["decomposed letters, marks, jamo"]("か\u3099 \u1100\u1161!") == "か !"
    assert kept["spaces at an end or made by the map"](" a\u3000 b\u0001") == "a b"
    assert kept["text of a special token"]("a</s>b") == "a x b"


def test_classes_are_tried_in_order() -> None:
    both = Class("both", without(lambda c: not c.isalpha()))
    assert classify(["a1"], lambda text: text == "a", [DIGITS, both]) == {"digits": 1}
    assert classify(["a1"], lambda text: text == "a", [both, DIGITS]) == {"both": 1}
