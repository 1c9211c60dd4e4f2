"""A .history file is followed, whatever others do to it."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankml import lines
from bankml.errors import StoreError
from bankml.history import file as history_file
from bankml.history.exchange import Exchange
from bankml.history.file import History


class Seen:
    """What a follower was told."""

    def __init__(self, path: Path) -> None:
        self.history = History(path)
        self.exchanges: list[Exchange] = []
        self.resets = 0

    def follow(self) -> bool:
        return self.history.follow(self.exchanges.append, self._reset)

    def _reset(self) -> None:
        self.exchanges.clear()
        self.resets += 1

    @property
    def users(self) -> list[str]:
        return [exchange.user for exchange in self.exchanges]


def _line(user: str, assistant: str = "so") -> str:
    return json.dumps({"user": user, "assistant": assistant}) + "\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.history"


@pytest.fixture
def seen(path: Path) -> Seen:
    path.write_text(_line("one") + _line("two"))
    seen = Seen(path)
    seen.follow()
    seen.resets = 0
    return seen


def test_what_is_appended_is_read_alone(seen: Seen, path: Path) -> None:
    assert seen.users == ["one", "two"]
    with path.open("a") as file:
        file.write(_line("three"))
    assert seen.follow()
    assert seen.users == ["one", "two", "three"]
    assert seen.resets == 0
    assert not seen.follow()


@pytest.mark.parametrize("text", [_line("eins") + _line("two") + _line("three"), _line("two"), ""])
def test_what_was_edited_is_read_anew(seen: Seen, path: Path, text: str) -> None:
    path.write_text(text)
    os.utime(path, ns=(1, 1))
    assert seen.follow()
    assert seen.resets == 1
    assert seen.users == [json.loads(line)["user"] for line in text.splitlines()]


def test_another_file_of_the_name_is_read_anew(seen: Seen, path: Path) -> None:
    other = path.with_name("b")
    other.write_text(_line("one") + _line("two") + _line("other"))
    other.replace(path)
    assert seen.follow()
    assert (seen.resets, seen.users) == (1, ["one", "two", "other"])


def test_an_unfinished_line_that_was_whole_stays(path: Path) -> None:
    path.write_text(_line("one").rstrip("\n"))
    seen = Seen(path)
    seen.follow()
    with path.open("a") as file:
        file.write("\n" + _line("two"))
    seen.resets = 0
    assert seen.follow()
    assert (seen.resets, seen.users) == (0, ["one", "two"])
    assert [exchange.id for exchange in seen.exchanges] == [0, 1]


def test_a_torn_line_that_goes_on_is_read_anew(path: Path) -> None:
    path.write_text(_line("one") + _line("two")[:9])
    seen = Seen(path)
    seen.follow()
    assert (seen.users, seen.history.skipped) == (["one"], 1)
    with path.open("a") as file:
        file.write(_line("two")[9:])
    seen.follow()
    assert (seen.users, seen.history.skipped) == (["one", "two"], 0)


@pytest.mark.parametrize(
    "bad",
    [
        b"{", b"null", b"[1]", b'"user"', b"\xff\xfe{}", b"\x00\x01\x02", b'{"user": 3}', b'{"user": "\xe9"}',
        b"[" * 90_000, b'{"user": "a", "assistant": ["b"]}',
    ],
)  # fmt: skip
def test_a_bad_line_is_counted_and_passed(path: Path, bad: bytes) -> None:
    path.write_bytes(_line("one").encode() + bad + b"\n" + _line("two").encode())
    seen = Seen(path)
    seen.follow()
    assert (seen.users, seen.history.skipped) == (["one", "two"], 1)
    assert [exchange.id for exchange in seen.exchanges] == [0, 2]


def test_mark_carriage_returns_and_empty_lines(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbf" + _line("one").replace("\n", "\r\n").encode() + b"\r\n\n" + _line("two").encode())
    seen = Seen(path)
    seen.follow()
    assert (seen.users, seen.history.skipped, seen.history.lines) == (["one", "two"], 0, 2)
    assert [seen.history.exchange(number).user for number in (0, 1)] == ["one", "two"]


def test_records_of_another_kind_are_neither_exchanges_nor_bad(path: Path) -> None:
    path.write_text('{"session": 1}\n' + _line("one") + '{"user": null, "assistant": ""}\n')
    seen = Seen(path)
    seen.follow()
    assert (seen.users, seen.history.skipped, seen.history.lines) == (["one"], 0, 3)


def test_what_pythons_json_writes_is_read(path: Path) -> None:
    path.write_text('{"user": "\\ud800 one", "assistant": "so", "score": NaN}\n')
    seen = Seen(path)
    seen.follow()
    assert seen.users == ["\ufffd one"]


def test_a_line_beyond_what_is_held_is_bad(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_file, "LONGEST", 100)
    monkeypatch.setattr(lines, "BLOCK", 64)
    path.write_text(_line("one") + _line("x" * 400) + _line("two"))
    seen = Seen(path)
    seen.follow()
    assert (seen.users, seen.history.skipped) == (["one", "two"], 1)


def test_what_is_no_history_is_said(tmp_path: Path) -> None:
    utf16, utf32, pipe = tmp_path / "utf16", tmp_path / "utf32", tmp_path / "pipe"
    utf32.write_text(_line("one"), encoding="utf-32")
    utf16.write_text(_line("one"), encoding="utf-16")
    os.mkfifo(pipe)
    for path, said in [
        (tmp_path / "none", "does not exist"),
        (tmp_path, "is a folder"),
        (utf16, "UTF-16; convert it: iconv"),
        (utf32, "UTF-32; convert it: iconv"),
        (pipe, "no regular file"),
    ]:
        with pytest.raises(StoreError, match=said):
            Seen(path).follow()


def test_a_file_that_vanishes_keeps_what_was_seen(seen: Seen, path: Path) -> None:
    path.unlink()
    with pytest.raises(StoreError):
        seen.follow()
    assert len(seen.history) == 2


def test_an_exchange_that_was_edited_away_is_said(seen: Seen, path: Path) -> None:
    path.write_text("{}\n" * 40)
    with pytest.raises(StoreError, match="changed while it was read"):
        seen.history.exchange(1)


@given(st.lists(st.binary(max_size=30)), st.integers(1, 40))
def test_any_bytes_in_any_blocks(tmp_path_factory: pytest.TempPathFactory, parts: list[bytes], block: int) -> None:
    path = tmp_path_factory.mktemp("any") / "h"
    data = b"\n".join([_line("one").strip().encode(), *parts])
    path.write_bytes(data)
    seen = Seen(path)
    if data[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lines, "BLOCK", block)
            seen.follow()
        assert "one" in seen.users


def test_an_edit_whose_time_was_put_back_is_seen(seen: Seen, path: Path) -> None:
    before = path.stat()
    path.write_text(_line("eno") + _line("two"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert seen.follow()
    assert seen.users == ["eno", "two"]
