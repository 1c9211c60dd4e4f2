"""Office files are archives: how much would come out is told before anything does."""

import io
import zipfile

from bankml.errors import DocumentError

HEAD = b"PK\x01\x02"  # of each entry in the directory
ENTRIES = 10_000
UNPACKED = 512 << 20  # bytes
RATIO = 200  # bytes from each packed one: XML gives 10 to 50
SMALL = 16 << 20  # bytes, however packed
ENCRYPTED = 1  # flag of an entry


def entries(content: bytes) -> list[str]:
    """The names in an archive that is no bomb. Raises DocumentError. An entry gives no more than it says it has."""
    if content.count(HEAD) > 2 * ENTRIES:
        raise DocumentError(f"is an archive of more than {ENTRIES:,} entries: unpack it and add its files")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            found = archive.infolist()
    except Exception as error:  # struct.error, too, and what else damage leads to
        raise DocumentError(f"is a damaged archive or Office file ({type(error).__name__}): save it anew") from error
    size = sum(entry.file_size for entry in found)
    if size > UNPACKED or (size > SMALL and size > RATIO * len(content)):
        raise DocumentError(f"unpacks from {len(content):,} to {size:,} bytes, which no document does: leave it out")
    if any(entry.flag_bits & ENCRYPTED for entry in found):
        raise DocumentError("is an archive with a password: unpack it and add its files")
    return [entry.filename for entry in found]
