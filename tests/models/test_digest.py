import hashlib
import json
import os
from pathlib import Path

import pytest

from bankml.errors import ModelError
from bankml.models import digest
from bankml.settings import Settings

CONTENT = b"weights" * 1_000_000  # more than one chunk


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(CONTENT)
    return path


def cache() -> Path:
    return Settings.read().home / "digests.json"


def read(path: Path) -> tuple[str, int]:
    """The digest and how many bytes were read for it."""
    heard = [0]
    return digest.sha256(path, lambda _, done, __: heard.append(done)), heard[-1]


def test_a_file_is_read_once(file: Path) -> None:
    expected = hashlib.sha256(CONTENT).hexdigest()
    assert read(file) == (expected, len(CONTENT))
    assert read(file) == (expected, 0)
    (file.parent / "link").symlink_to(file)
    assert read(file.parent / "link") == (expected, 0)


def test_a_change_is_seen(file: Path) -> None:
    read(file)
    status = file.stat()
    file.write_bytes(b"other" + CONTENT[5:])
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert read(file)[0] == hashlib.sha256(b"other" + CONTENT[5:]).hexdigest()
    file.write_bytes(b"")
    assert read(file)[0] == hashlib.sha256().hexdigest()


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[]", b"5", b"[" * 100_000])
def test_a_damaged_cache_is_replaced(file: Path, content: bytes) -> None:
    cache().parent.mkdir()
    cache().write_bytes(content)
    assert read(file) == (hashlib.sha256(CONTENT).hexdigest(), len(CONTENT))
    assert read(file)[1] == 0


@pytest.mark.parametrize("entry", [None, 5, [], ["a", "b", "c"], {}])
def test_a_damaged_entry_is_not_believed(file: Path, entry: object) -> None:
    read(file)
    cache().write_text(json.dumps({str(file): entry}))
    assert read(file)[1] == len(CONTENT)


@pytest.mark.parametrize("known", ["", "0" * 63, "Z" * 64, 5])
def test_a_remembered_digest_must_look_like_one(file: Path, known: object) -> None:
    status = file.stat()
    cache().parent.mkdir()
    cache().write_text(json.dumps({str(file): [status.st_size, status.st_mtime_ns, known]}))
    assert read(file)[1] == len(CONTENT)


def test_the_cache_stays_small(file: Path) -> None:
    cache().parent.mkdir()
    cache().write_text(json.dumps({f"/{index}": [1, 2, "0" * 64] for index in range(2000)}))
    read(file)
    entries = json.loads(cache().read_bytes())
    assert len(entries) == digest.MAX_ENTRIES
    assert list(entries)[-1] == str(file)


def test_a_home_that_cannot_be_written_costs_only_time(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANKML_HOME", str(file / "below a file"))
    assert read(file) == (hashlib.sha256(CONTENT).hexdigest(), len(CONTENT))
    assert read(file) == (hashlib.sha256(CONTENT).hexdigest(), 0)  # this process remembers it
    file.write_bytes(b"other")
    assert read(file) == (hashlib.sha256(b"other").hexdigest(), 5)
    assert read(file)[1] == 0


def test_a_fresh_digest_is_read_whatever_is_remembered(file: Path) -> None:
    read(file)
    status = file.stat()
    file.write_bytes(b"rotten!" + CONTENT[7:])
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    rotten = hashlib.sha256(b"rotten!" + CONTENT[7:]).hexdigest()
    assert read(file) == (hashlib.sha256(CONTENT).hexdigest(), 0)
    assert digest.fresh_sha256(file) == rotten
    assert read(file) == (rotten, 0)


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(ModelError, match=f"{path} cannot be read: "):
            digest.sha256(path)


def test_a_file_that_grows_meanwhile_has_no_digest(file: Path) -> None:
    def grow(what: str, done: int, total: int) -> None:
        with file.open("ab") as more:
            more.write(b"!")

    with pytest.raises(ModelError, match="changed while it was read"):
        digest.sha256(file, grow)


def test_what_was_never_read_is_not_remembered(file: Path) -> None:
    assert digest.remembered(file) is None
    found = digest.sha256(file)
    assert digest.remembered(file) == found
    file.write_bytes(b"another")
    assert digest.remembered(file) is None
    file.unlink()
    with pytest.raises(ModelError, match="cannot be read"):
        digest.remembered(file)
