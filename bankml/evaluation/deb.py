"""Files from a Debian package, read by this process alone: an `ar` archive whose data.tar holds them (deb(5))."""

import io
import lzma
import tarfile
import zlib
from collections.abc import Iterator
from typing import Self

from bankml.errors import InputError

MAGIC = b"!<arch>\n"
HEADER = 60  # bytes before each member: name 16, time 12, owner 6, group 6, mode 8, size 10, end 2
END = b"`\n"
MAX_UNPACKED = 64 << 20  # bytes of data.tar, and of all files read from it; the largest of the FAQ has 1.2 MB
MAX_FILE = 1 << 20  # bytes of one file in it; the largest page has 42 kB
MAX_FILES = 10_000
XZ_MEMORY = 128 << 20  # what `xz -9` needs is half of that
TYPES = b"\x000123456LK"  # of entries of data.tar that dpkg knows: files, links, devices, folders, long names
# RecursionError: a long name that names a long name.
DAMAGE = (tarfile.TarError, lzma.LZMAError, zlib.error, EOFError, ValueError, OverflowError, RecursionError)


class Entry(tarfile.TarInfo):
    """A header that dpkg knows too, which leaves out those that 60 kB can make 3 GB of: sparse files, pax's tables."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        entry = super().frombuf(buf, encoding, errors)
        if entry.type not in TYPES:
            raise InputError(f"it holds an entry of the type {entry.type!r}, which Debian packages do not have")
        return entry


def files(package: bytes, ending: str) -> dict[str, bytes]:
    """The regular files whose names end with `ending`, by their path in the package; links are left out.

    Raises InputError for bytes that are no such package, or hold more than the limits above.
    """
    try:
        with tarfile.open(fileobj=io.BytesIO(_data(package)), mode="r:", tarinfo=Entry) as archive:
            return dict(_files(archive, ending))
    except DAMAGE as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"its data.tar is damaged ({error})") from None


def _files(archive: tarfile.TarFile, ending: str) -> Iterator[tuple[str, bytes]]:
    read = 0  # files may lie on one another
    for number, member in enumerate(archive):
        if number == MAX_FILES:
            raise InputError(f"it holds more than {MAX_FILES:,} files")
        if not member.isreg() or not member.name.endswith(ending):
            continue
        if member.size > MAX_FILE:
            raise InputError(f"{member.name} in it has {member.size:,} bytes, more than {MAX_FILE:,}")
        file = archive.extractfile(member)
        content = file.read() if file else b""
        read += len(content)
        if read > MAX_UNPACKED:
            raise InputError(f"its files have more than {MAX_UNPACKED:,} bytes")
        yield member.name.removeprefix("./"), content


def _data(package: bytes) -> bytes:
    """data.tar, unpacked."""
    for name, content in _members(package):
        if name == "data.tar.xz":
            return _bounded(lzma.LZMADecompressor(memlimit=XZ_MEMORY).decompress(content, MAX_UNPACKED + 1))
        if name == "data.tar.gz":
            return _bounded(zlib.decompressobj(wbits=31).decompress(content, MAX_UNPACKED + 1))
        if name.startswith("data.tar"):
            raise InputError(f"its files are packed as {name}; packages with data.tar.xz or data.tar.gz can be read")
    raise InputError("it holds no data.tar")


def _members(package: bytes) -> Iterator[tuple[str, bytes]]:
    if not package.startswith(MAGIC):
        raise InputError("it does not begin as a Debian package does (!<arch>)")
    at = len(MAGIC)
    while at < len(package):
        header = package[at : at + HEADER]
        size = header[48:58].strip()
        if len(header) < HEADER or header[58:] != END or not size.isdigit():
            raise InputError(f"its archive is damaged at byte {at:,}")
        at += HEADER
        if at + int(size) > len(package):
            raise InputError(f"it ends before its {len(package):,} bytes are complete")
        yield header[:16].decode("latin-1").strip().rstrip("/"), package[at : at + int(size)]
        at += int(size) + int(size) % 2  # members begin at even places


def _bounded(data: bytes) -> bytes:
    if len(data) > MAX_UNPACKED:
        raise InputError(f"its files have more than {MAX_UNPACKED:,} bytes")
    return data
