"""Patterns of a .gitignore: what git's manual says of them, and no pattern that takes for ever."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankml.documents.patterns import Patterns


@pytest.mark.parametrize(
    ("pattern", "matches", "others"),
    [
        ("*.log", "a.log x/y/a.log .log", "a.logs log a.log.md"),
        ("/*.log", "a.log", "x/a.log"),
        ("build/", "build/ x/build/", "build x/build build/a"),
        ("docs/*.md", "docs/a.md", "docs/b/a.md x/docs/a.md"),
        ("docs/**/*.md", "docs/a.md docs/b/c/a.md", "docs/a.txt x/docs/a.md"),
        ("**/docs", "docs docs/ x/y/docs", "docs/a xdocs"),
        ("docs/**", "docs/a docs/b/", "docs docs/"),
        ("a/**/b/**/c", "a/b/c a/x/b/y/z/c a/b/b/c/c", "a/c a/b/cc a/b/c/d"),
        ("**", "a a/b a/", ""),
        ("a?c", "abc x/a-c", "ac abbc a/c"),
        ("[a-c]*.[!ch]", "a.o cx.x", "d.o a.c a.h"),
        ("[[:digit:]]x[]-]", "1x] 2x-", "ax] 1xx"),
        ("[z-a]", "", "z a"),
        ("[", "", "["),
        ("\\*\\!", "*!", "a!"),
        ("\\#x", "#x", "x"),
        ("# x", "", "x # # x"),
        ("a*b*c", "abc aXbYbZc", "ab acb abcd"),
        ("*a*a", "aa xaxa", "a ab"),
        ("a\\", "", "a a\\"),
    ],
)
def test_one_pattern(pattern, matches, others):
    found = Patterns([pattern])
    assert [path for path in matches.split() if not found.match(path)] == []
    assert [path for path in others.split() if found.match(path)] == []


def test_the_last_one_that_matches_says_it():
    found = Patterns(["*.log", "!keep.log", "x/*.log"])
    assert [found.match(path) for path in ("a.log", "keep.log", "x/keep.log", "a.md")] == [True, False, True, None]


def test_what_lies_in_a_folder_that_matches():
    found = Patterns(["docs/", "!*.log", "*.txt"])
    paths = ("docs/a.md", "docs/b/c.md", "docs/a.log", "a.txt", "a.md", "other/")
    assert [found.covers(path) for path in paths] == [True, True, False, True, False, False]


def test_names_of_other_scripts_and_of_several_lines():
    found = Patterns(["gr?n", "*.md", "[\u0430-\u044f].x"])
    assert all(found.match(path) for path in ("grün", "a\nb.md", "a\nb/c.md", "ж.x", "\udcff.md"))


@given(st.lists(st.text(st.sampled_from("a*?[]!\\/-#: ^é\0"), max_size=12)), st.text(st.sampled_from("ab/[]\\*\n é")))
def test_any_lines_are_patterns_or_none(lines, path):
    assert Patterns(lines).match(path) in (True, False, None)


@pytest.mark.parametrize(
    "pattern", ["*a" * 100 + "b", "**/a/" * 50 + "*.x", "**/*a*a*a*a*b/**/c", "*" * 4000 + "b", "[a" * 2000]
)
def test_no_pattern_takes_for_ever(pattern):
    begun = time.thread_time()
    assert not Patterns([pattern]).match("a/" * 1900 + "a" * 255)
    assert time.thread_time() - begun < 5  # 0.02 s on an idle machine; trying every way would take years
