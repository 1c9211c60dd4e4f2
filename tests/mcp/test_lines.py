import io

from hypothesis import given
from hypothesis import strategies as st

from bankml.mcp.lines import lines


def found(data: bytes, most: int, piece: int) -> list[bytes | None]:
    source = io.BytesIO(data)
    return list(lines(lambda size: source.read(min(size, piece)), most))


@given(st.binary(max_size=60).map(lambda data: data.replace(b"a", b"\n")), st.integers(1, 12), st.integers(1, 9))
def test_lines_are_those_of_the_whole_whatever_comes_at_once(data: bytes, most: int, piece: int) -> None:
    wanted = [None if len(line) > most else line.strip() for line in data.split(b"\n")]
    assert found(data, most, piece) == [line for line in wanted if line != b""]


def test_a_long_line_is_told_once_and_the_next_one_is_read() -> None:
    assert found(b"x" * 100 + b"\nyes\n" + b"x" * 100, 10, 7) == [None, b"yes", None]
