"""Which files of a folder may be documents: by their names, and by how they begin, as `.ts` may be a film."""

import os

from bankml.documents.decoding import LOOKED_AT, is_binary
from bankml.documents.kinds import KINDS, NAMES
from bankml.documents.source import FLAGS

PACKED = frozenset("pdf docx pptx xlsx epub".split())  # documents that are no text
LINE = 500  # bytes of code, on an average of what is looked at
BEGINNINGS = (b"%PDF", b"PK\3\4")  # of these


def known(name: str) -> bool:
    """Whether a file of this name can be a document: by its ending, or as it has none (README, LICENSE)."""
    name = name.lower()
    ending = os.path.splitext(name)[1][1:]
    return not ending or ending in KINDS or ending in PACKED or name in NAMES


def beginning(path: str) -> bytes:
    """Its first bytes; none where it cannot be read: reading it will say why."""
    try:
        descriptor = os.open(path, FLAGS)
    except OSError:
        return b""
    try:
        return os.read(descriptor, LOOKED_AT)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def begins_binary(head: bytes) -> bool:
    """Whether no document begins so."""
    return is_binary(head) and not head.startswith(BEGINNINGS)


def begins_generated(name: str, head: bytes) -> bool:
    """Whether this is a program that nobody wrote, by the length of its lines."""
    of_code = KINDS.get(os.path.splitext(name.lower())[1][1:]) == "code"
    return of_code and len(head) > LINE * (1 + head.count(b"\n"))
