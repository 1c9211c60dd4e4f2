"""How a file begins, where its name does not tell what it is: `.ts` is TypeScript, and a film."""

import os
from codecs import BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE

from bankml.documents.source import FLAGS

LOOKED_AT = 1024  # bytes
# What documents begin with though they are no text, or text with NULs in it (UTF-32's mark begins with UTF-16's).
BEGINNINGS = (b"%PDF", b"PK\3\4", BOM_UTF16_LE, BOM_UTF16_BE, BOM_UTF32_BE)


def begins_binary(path: str) -> bool:
    """Whether no document begins so. False where it cannot be read: reading it will say why."""
    try:
        descriptor = os.open(path, FLAGS)
    except OSError:
        return False
    try:
        head = os.read(descriptor, LOOKED_AT)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return b"\0" in head and not head.startswith(BEGINNINGS)
