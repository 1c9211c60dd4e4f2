"""The lines of a file are those of split, whatever the block and however long."""

import os
import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from bankml import lines as module

PART = st.sampled_from([b"", b"a", b"bc\r", b"\n", b"\x85\xe2\x80\xa8", b"d" * 9]) | st.binary(max_size=30)


def found(path, *where, longest=1 << 20):
    with path.open("rb") as file:
        return list(module.lines(file.fileno(), longest, *where))


@given(st.lists(PART, max_size=20), st.integers(1, 40), st.sampled_from([4, 1 << 20]))
def test_lines_are_those_of_split_whatever_the_block(tmp_path_factory, parts, block, longest):
    path = tmp_path_factory.mktemp("lines") / "x"
    path.write_bytes(text := b"".join(parts))
    before, module.BLOCK = module.BLOCK, block
    try:
        lines = found(path, longest=longest)
    finally:
        module.BLOCK = before
    *whole, last = text.split(b"\n")
    expected = [(each, True) for each in whole] + [(last, False)] * bool(last)
    assert [line[2:] for line in lines] == [(each if len(each) <= longest else None, end) for each, end in expected]
    assert [line.start for line in lines] == [0, *(line.end for line in lines)][: len(lines)]
    assert [line.end - line.start for line in lines] == [len(each) + end for each, end in expected]


def test_only_the_bytes_asked_for(tmp_path):
    (tmp_path / "x").write_bytes(b"one\ntwo\nthree\n")
    assert [line.bytes for line in found(tmp_path / "x", 4, 10)] == [b"two", b"th"]
    assert [line.bytes for line in found(tmp_path / "x", 8)] == [b"three"]
    assert found(tmp_path / "x", 14) == found(tmp_path / "x", 4, 4) == []


def test_a_line_of_a_hundred_megabytes_takes_the_memory_of_a_few(tmp_path):
    with (tmp_path / "x").open("wb") as text:
        text.write(b"before\n")
        text.truncate(100 << 20)
        text.seek(0, os.SEEK_END)
        text.write(b"\nbehind\n")
    tracemalloc.start()
    lengths = [(line.start, line.end, line.bytes is None) for line in found(tmp_path / "x")]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert lengths == [(0, 7, False), (7, (100 << 20) + 1, True), ((100 << 20) + 1, (100 << 20) + 8, False)]
    assert peak < 16 << 20
