import pytest

from bankml.documents.extract import extract
from bench.extract import UNITS, content


@pytest.mark.parametrize("suffix", UNITS)
def test_what_is_measured_is_read_as_what_it_is(suffix):
    found = extract(f"a.{suffix}", content(suffix, 10_000))
    assert not found.notes
    assert len(found.blocks) > 10
