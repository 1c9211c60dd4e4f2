"""The lines of a file are those of split, whatever the block and however long."""

import os
import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from bankml.cache import lines as module
from bankml.cache.line import LONGEST
from bankml.private_file import reading


def found(path, begin=0, end=None):
    with reading(path) as source:
        return list(module.lines(source, begin, path.stat().st_size if end is None else end))


@given(st.lists(st.sampled_from([b"", b"a", b"bc\r", b"\n", b"d" * 9]), max_size=20), st.integers(1, 7))
def test_lines_are_those_of_split_whatever_the_block(tmp_path_factory, parts, block):
    path = tmp_path_factory.mktemp("lines") / "x"
    path.write_bytes(text := b"".join(parts))
    before, module.BLOCK = module.BLOCK, block
    try:
        lines = found(path)
    finally:
        module.BLOCK = before
    assert b"".join(line.text + b"\n" * line.whole for line in lines) == text
    assert [line.begin for line in lines] == [0, *(line.end for line in lines)][: len(lines)]
    assert all(line.end == line.begin + len(line.text) + line.whole for line in lines)


def test_only_the_bytes_asked_for(tmp_path):
    (tmp_path / "x").write_bytes(b"one\ntwo\nthree\n")
    assert [line.text for line in found(tmp_path / "x", 4, 10)] == [b"two", b"th"]


def test_a_line_of_a_hundred_megabytes_takes_the_memory_of_a_few(tmp_path):
    with (tmp_path / "x").open("wb") as text:
        text.write(b"before\n")
        text.truncate(100 << 20)
        text.seek(0, os.SEEK_END)
        text.write(b"\nbehind\n")
    tracemalloc.start()
    lengths = [(line.begin, line.end, len(line.text) > LONGEST) for line in found(tmp_path / "x")]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert lengths == [(0, 7, False), (7, (100 << 20) + 1, True), ((100 << 20) + 1, (100 << 20) + 8, False)]
    assert peak < 16 << 20
