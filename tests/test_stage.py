"""The marks of csrc/stage.h cost nothing where nobody measures: without them the compiler writes the same code."""

import os
import re
import subprocess
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[1] / "csrc"
MARK = re.compile(r"^\s*const Timed \w+\(Stage::\w+\);\n", re.MULTILINE)
MARKED = sorted(path for path in SOURCES.glob("*.cpp") if MARK.search(path.read_text()))


def assembly(source: str, *options: str) -> str:
    command = [os.environ.get("CXX", "c++"), "-std=c++20", "-O3", *options, f"-I{SOURCES}", "-S", "-xc++", "-", "-o-"]
    return subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout


def test_the_stages_are_marked() -> None:
    assert {path.name for path in MARKED} == {"encoder.cpp", "engine.cpp", "linear.cpp", "threads.cpp"}


@pytest.mark.parametrize("path", MARKED, ids=lambda path: path.name)
def test_a_mark_is_no_code(path: Path) -> None:
    source = path.read_text()
    assert assembly(source) == assembly(MARK.sub("", source))


def test_a_mark_is_code_where_it_is_measured() -> None:
    source = (SOURCES / "threads.cpp").read_text()
    assert assembly(source, "-DBANKML_PROFILE") != assembly(MARK.sub("", source), "-DBANKML_PROFILE")
