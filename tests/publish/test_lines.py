"""Lines of a history: exact bytes, or an error that names the line."""

import hashlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankml import InputError
from bankml.history.file import History
from bankml.publish import lines
from bankml.publish.lines import Lines

PIECES = st.sampled_from(
    [b"\n", b"\r\n", b" ", b"\xef\xbb\xbf", b'{"user":"', b'"}', b"{}", b"\\u0000", b"\\", b"\xff"]
)

TEXTS = st.text(st.characters())  # halves of surrogate pairs too


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("lines") / "x.history"


@settings(max_examples=60)
@given(st.lists(PIECES | st.binary(max_size=8) | st.text(max_size=8).map(str.encode), max_size=12).map(b"".join))
def test_any_bytes(file, data):
    file.write_bytes(data)
    whole, raw = Lines(file), data.split(b"\n")
    found, error = read(whole)
    if error:
        assert str(error).startswith(f"line {error.index + 1} of {file} ")
        assert error.index < len(raw)
        return
    assert [line.text.encode() for line in found] == [raw[line.number - 1] for line in found]
    assert [line.seq for line in found] == list(range(len(found)))
    assert not any(
        raw[n].strip().strip(b"\xef\xbb\xbf") for n in range(len(raw)) if n + 1 not in [x.number for x in found]
    )
    assert (whole.size, whole.sha256) == (len(data), hashlib.sha256(data).hexdigest())


@given(st.dictionaries(TEXTS, TEXTS | st.integers() | st.none(), max_size=3))
def test_any_record(file, record):
    text = json.dumps(record)
    file.write_text(text + "\n")
    storable = "\\u0000" not in text.replace("\\\\", "") and not _halved(record)
    found, error = read(Lines(file))
    assert storable == (error is None)
    assert not storable or found[0].record.keys() == record.keys()


def test_an_escaped_backslash_before_u0000_is_text(file):
    file.write_bytes(b'{"user": "\\\\u0000 \\\\\\\\u0000"}\n')
    (found,) = Lines(file)
    assert found.record["user"] == "\\u0000 \\\\u0000"


SAID = st.text(max_size=3) | st.integers() | st.floats() | st.none()


@settings(max_examples=60)
@given(st.dictionaries(st.sampled_from(["user", "assistant"]), SAID))
def test_an_exchange_is_what_the_history_takes_for_one(file, record):
    file.write_text(json.dumps(record) + "\n")
    found, error = read(Lines(file))
    assert error or [line.exchange for line in found] == followed(file)


@pytest.mark.parametrize("number", ["5", "-5", "1.5", "1e400", "9" * 10_000])
def test_a_number_is_no_text(file, number):
    file.write_text(f'{{"user": {number}, "assistant": "a"}}\n{{"user": "{number}", "assistant": "a"}}\n')
    assert [line.exchange and line.exchange.user for line in Lines(file)] == [None, number]


def followed(file):
    """The exchange of each line, as `bankml history` sees it."""
    seen = History(file)
    exchanges = {}
    seen.follow(lambda found: exchanges.update({found.id: found}), exchanges.clear)
    return [exchanges.get(id) for id in range(seen.lines)]


def test_a_line_that_does_not_end(file, monkeypatch):
    monkeypatch.setattr(lines, "LONGEST", 1000)
    file.write_bytes(b"{}\n" + b'{"user": "' + b"a" * 10_000)
    with pytest.raises(InputError, match=r"line 2 of .* is longer than 64 MiB"):
        list(Lines(file))


def test_a_device_is_no_history():
    with pytest.raises(InputError, match="not a regular file"):
        list(Lines("/dev/zero"))


def read(whole):
    """Its lines, and the error in which they ended."""
    found = []
    try:
        found.extend(whole)
    except InputError as error:
        return found, error
    return found, None


def _halved(record):
    try:
        json.dumps(record, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False
