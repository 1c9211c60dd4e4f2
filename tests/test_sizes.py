import pytest

from bankml.sizes import human


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (0, "0 bytes"),
        (2960, "2,960 bytes"),
        (999_999, "999,999 bytes"),
        (1_000_000, "1 MB"),
        (45_949_216, "46 MB"),
        (1_157_671_200, "1,158 MB"),
    ],
)
def test_sizes_as_people_read_them(size: int, shown: str) -> None:
    assert human(size) == shown
