"""Globs mean paths, and never hang."""

import gc
import time

import pytest

from bankml.library.search.glob import Glob

MEANT = (
    ("notes.md", "/home/me/notes.md"),
    ("*.md", "/home/me/notes.md"),
    ("me/*.md", "/home/me/notes.md"),
    ("me", "/home/me/a/b/notes.md"),
    ("me/", "/home/me/a/b/notes.md"),
    ("./me/a", "/home/me/a/b/notes.md"),
    ("/home", "/home/me/notes.md"),
    ("/home/**/notes.md", "/home/notes.md"),
    ("/home/**/notes.md", "/home/a/b/notes.md"),
    ("a/**/c", "/x/a/b/b/c"),
    ("**", "/x"),
    ("**/**/**/x", "/x"),
    ("n?tes.[mt]d", "/nötes.td"),
    ("stdin", "stdin"),
    ("caf\udce9*", "/caf\udce9.txt"),
    ("a\nb", "/a\nb"),
    ("/", "/anything"),
)
NOT_MEANT = (
    ("notes.md", "/home/me/my-notes.md"),
    ("/notes.md", "/home/notes.md"),
    ("home/*.md", "/home/me/notes.md"),
    ("*.md", "/home/me/notes.txt"),
    ("a/**/c", "/a/b/d"),
    ("[!a]", "/a"),
    ("A.md", "/a.md"),
)


@pytest.mark.parametrize(("glob", "path"), MEANT)
def test_meant(glob: str, path: str) -> None:
    assert Glob(glob).matches(path)


@pytest.mark.parametrize(("glob", "path"), NOT_MEANT)
def test_not_meant(glob: str, path: str) -> None:
    assert not Glob(glob).matches(path)


def seconds(glob: str) -> float:
    """Of this thread alone, the least of five: for a path that is long and not meant."""
    return min(_once(glob) for _ in range(5))


def _once(glob: str) -> float:
    gc.collect()  # here, and not in between: after 6,000 other tests it takes half a second
    start = time.thread_time()
    assert not Glob(glob).matches("/" + "a/" * 300 + "a" * 255)
    return time.thread_time() - start


@pytest.mark.parametrize("hostile", ["*a", "**/", "**/*a/", "["])
def test_a_hostile_glob_takes_linear_time(hostile: str) -> None:
    short, long = seconds(hostile * 60 + "b"), seconds(hostile * 480 + "b")
    assert long < 8 * 4 * short + 0.2, f"8 times the glob took {long / short:.0f} times as long"
