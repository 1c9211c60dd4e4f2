"""stderr of a server: whatever it is, nobody waits for it and nothing fails."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bankml.serve.lines import MOST, Lines


@contextmanager
def opened(path, flags=os.O_WRONLY) -> Iterator[int]:
    descriptor = os.open(path, flags)
    yield descriptor
    os.close(descriptor)


def test_lines_arrive_whole_and_in_order(tmp_path):
    lost: list[int] = []
    path = tmp_path / "log"
    with opened(path, os.O_WRONLY | os.O_CREAT) as descriptor, Lines(descriptor, lost.append) as lines:
        for number in range(1000):
            print(f"line {number} ü\ud800", file=lines)
    assert path.read_text().splitlines() == [f"line {number} ü\\ud800" for number in range(1000)]
    assert lost == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk():
    lost: list[int] = []
    with opened("/dev/full") as descriptor, Lines(descriptor, lost.append) as lines:
        for _ in range(10):
            lines.write("a line\n")
    assert sum(lost) == 10


def test_a_closed_pipe():
    lost: list[int] = []
    reader, writer = os.pipe()
    os.close(reader)
    with Lines(writer, lost.append) as lines:
        lines.write("a line\n")
    os.close(writer)
    assert lost == [1]


def test_a_reader_that_stopped_holds_up_nobody():
    lost: list[int] = []
    reader, writer = os.pipe()
    started = time.perf_counter()
    with Lines(writer, lost.append) as lines:
        for _ in range(3 * MOST):
            lines.write("x" * 99 + "\n")
    assert time.perf_counter() - started < 10  # the last lines get one second
    assert MOST <= sum(lost) <= 2 * MOST  # 655 fit into a pipe
    os.close(reader)  # which ends the thread's wait
    time.sleep(0.1)
    os.close(writer)


def test_it_is_a_file_for_whoever_asks():
    with Lines(sys.__stderr__.fileno(), lambda count: None) as lines:
        assert lines.writable()
        assert lines.isatty() == os.isatty(lines.fileno())
        lines.flush()
