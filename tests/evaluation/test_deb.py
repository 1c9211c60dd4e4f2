"""Debian packages: what is in them, and bytes that are none."""

import gzip
import lzma
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankml.errors import InputError
from bankml.evaluation import deb
from tests import debian

WHOLE = debian.deb({"usr/a.html": "one", "usr/b.html": "two", "usr/c.txt": "three"})


def test_files_of_an_ending() -> None:
    assert deb.files(WHOLE, ".html") == {"usr/a.html": b"one", "usr/b.html": b"two"}


def test_packed_with_gzip() -> None:
    data = gzip.compress(debian.archive({"a.html": b"one"}))
    assert deb.files(debian.ar({"data.tar.gz": data}), ".html") == {"a.html": b"one"}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "does not begin"),
        (b"PK\x03\x04", "does not begin"),
        (b"!<arch>\n", "no data.tar"),
        (WHOLE[:100], "damaged at byte"),
        (WHOLE[:-20], "ends before"),
        (debian.ar({"data.tar.zst": b"x"}), "packed as data.tar.zst"),
        (debian.ar({"data.tar.xz": b"no xz at all"}), "damaged"),
        (debian.ar({"data.tar.xz": lzma.compress(b"no tar at all" * 100)}), "damaged"),
        (debian.ar({"data.tar.gz": b"\x1f\x8b\x08"}), "damaged"),
    ],
)
def test_no_package(content: bytes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        deb.files(content, ".html")


def test_a_bomb_is_not_unpacked() -> None:
    bomb = lzma.compress(bytes(deb.MAX_UNPACKED + 2), preset=0)
    assert len(bomb) < 100_000
    with pytest.raises(InputError, match="more than"):
        deb.files(debian.ar({"data.tar.xz": bomb}), ".html")


def test_a_file_that_is_too_large() -> None:
    data = lzma.compress(debian.archive({"a.html": bytes(deb.MAX_FILE + 1)}), preset=0)
    with pytest.raises(InputError, match=r"a\.html in it has"):
        deb.files(debian.ar({"data.tar.xz": data}), ".html")


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_SPARSE, tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.CONTTYPE])
def test_entries_that_packages_do_not_have_are_not_read(kind: bytes) -> None:
    """A sparse file has as many zeros as it says; a pax header may hold a table of 60 million holes."""
    data = gzip.compress(header("a.html", 0, kind) + bytes(1024))
    with pytest.raises(InputError, match="Debian packages do not have"):
        deb.files(debian.ar({"data.tar.gz": data}), ".html")


def test_files_that_lie_on_one_another() -> None:
    """A negative size leads back into the file before, where the next one begins: 80 MiB in 1 MiB."""
    files, blocks = 80, deb.MAX_FILE // 512
    data = bytearray((files + blocks + 1) * 512)
    for i in range(files):
        data[i * 512 : (i + 1) * 512] = header(f"{i}.html", deb.MAX_FILE)
        back = (i + 1 + blocks) * 512
        data[back : back + 512] = header("back", -(blocks + 1) * 512)
    with pytest.raises(InputError, match=r"more than|damaged"):  # newer Pythons know no negative size
        deb.files(debian.ar({"data.tar.gz": gzip.compress(data)}), ".html")


def test_long_names_of_long_names() -> None:
    data = gzip.compress((header("x", 1, tarfile.GNUTYPE_LONGNAME) + bytes(512)) * 5000)
    with pytest.raises(InputError, match="damaged"):
        deb.files(debian.ar({"data.tar.gz": data}), ".html")


def header(name: str, size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    """The block before a file; a negative size as GNU's tar writes numbers too large for octal digits."""
    member = tarfile.TarInfo(name)
    member.type = kind
    block = bytearray(member.tobuf(tarfile.GNU_FORMAT)[:512])
    block[124:136] = b"%011o\0" % size if size >= 0 else b"\xff" + size.to_bytes(11, "big", signed=True)
    block[148:156] = b"%06o\0 " % (sum(block[:148]) + 8 * 32 + sum(block[156:]))
    return bytes(block)


@given(st.integers(0, len(WHOLE) - 1), st.integers(0, 255))
def test_a_damaged_byte(at: int, value: int) -> None:
    """Its files, or an InputError; nothing else."""
    damaged = WHOLE[:at] + bytes([value]) + WHOLE[at + 1 :]
    try:
        deb.files(damaged, ".html")
    except InputError:
        return


@given(st.binary(max_size=300))
def test_a_damaged_archive_inside(content: bytes) -> None:
    archive = bytearray(debian.archive({"a.html": b"one", "b.html": b"two"}))
    archive[: len(content)] = content
    try:
        deb.files(debian.ar({"data.tar.xz": lzma.compress(bytes(archive), preset=0)}), ".html")
    except InputError:
        return
