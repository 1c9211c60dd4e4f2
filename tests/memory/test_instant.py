"""Instants go to text and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankml.errors import InputError
from bankml.memory import instant

YEAR_1, YEAR_9999 = -62_135_596_800_000_000, 253_402_300_799_999_999


@given(st.integers(YEAR_1, YEAR_9999))
def test_there_and_back(number):
    assert instant.parse(instant.iso(number)) == number


def test_zones_and_dates():
    assert instant.parse("2026-01-01T00:00:00Z") == 1_767_225_600_000_000
    assert instant.parse(" 2026-01-01T01:30:00+01:30 ") == 1_767_225_600_000_000
    assert instant.iso(1_767_225_600_000_001) == "2026-01-01T00:00:00.000001Z"
    assert instant.iso(10**18) == str(10**18)


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "99999-01-01", "2026-01-01T25:00", "\x1b[31m", "٢٠٢٦"])
def test_what_is_no_time_is_named(text):
    with pytest.raises(InputError, match="as_of is "):
        instant.parse(text, "as_of")


def test_of_a_long_text_only_the_beginning_is_named():
    with pytest.raises(InputError) as raised:
        instant.parse("9" * 90_000, "as_of")
    assert len(str(raised.value)) < 200
    assert "as_of is '9999" in str(raised.value)
