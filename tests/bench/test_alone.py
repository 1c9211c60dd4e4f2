"""A function in a process of its own."""

import os

import pytest

from bench.alone import alone


def test_it_is_another_process_and_what_it_raises_comes_back() -> None:
    assert alone(os.getpid) != os.getpid()
    assert alone(int, "ff", base=16) == 255
    with pytest.raises(ValueError, match="none"):
        alone(int, "none")
