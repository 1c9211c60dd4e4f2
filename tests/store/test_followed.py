from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bankml.errors import StoreError
from bankml.store.followed import Followed


@dataclass
class Opened:
    said: str
    closed: list[str] = field(default_factory=list)

    def close(self) -> None:
        self.closed.append(self.said)


def opened(path: Path) -> Opened:
    if not path.exists():
        raise StoreError("there is none")
    return Opened(path.read_text())


def replaced(path: Path, said: str) -> None:
    other = path.with_name("other")
    other.write_text(said)
    other.replace(path)


def test_it_is_opened_once_and_anew_when_another_file_takes_its_place(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("one")
    followed = Followed(path, opened)
    first = followed.opened()
    path.write_text("more of the same")
    assert followed.opened() is first
    replaced(path, "two")
    assert followed.opened().said == "two"
    assert first.closed == ["one"]
    path.unlink()
    with pytest.raises(StoreError, match="there is none"):
        followed.opened()
    path.write_text("three")
    assert followed.of_now(lambda now: now.said) == "three"


def test_work_on_what_was_replaced_meanwhile_is_done_again(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("one")
    followed, seen = Followed(path, opened), []

    def work(now: Opened) -> str:
        seen.append(now.said)
        if now.said == "one":
            replaced(path, "two")
            raise StoreError("closed")
        return now.said

    assert followed.of_now(work) == "two"
    assert seen == ["one", "two"]
    with pytest.raises(StoreError, match="its own fault"):
        followed.of_now(lambda now: (_ for _ in ()).throw(StoreError("its own fault")))


def test_closed_it_is_opened_again_when_it_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("one")
    followed = Followed(path, opened)
    first = followed.opened()
    followed.close()
    followed.close()
    assert first.closed == ["one"]
    assert followed.opened() is not first
