"""A SentencePiece ModelProto from a vocabulary, written byte by byte: protobuf itself is not needed for so little."""

import struct
from collections.abc import Iterable

NORMAL, UNKNOWN, CONTROL = 1, 2, 3


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number: int, payload: bytes) -> bytes:
    """A length-delimited field: a string, bytes or a message."""
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def flag(number: int, value: bool) -> bytes:
    return varint(number << 3) + varint(int(value))


def piece(text: str, score: float, kind: int) -> bytes:
    return field(1, field(1, text.encode()) + b"\x15" + struct.pack("<f", score) + b"\x18" + varint(kind))


def model_proto(pieces: Iterable[tuple[str, float, int]], charsmap: bytes) -> bytes:
    """A Unigram model with the pieces in the order of their ids: 0 is unknown, 1 and 2 begin and end a text.

    Normalises by the charsmap, prepends a space, and merges and trims spaces.
    """
    normalizer = field(2, charsmap) + flag(3, True) + flag(4, True) + flag(5, True)
    return b"".join(piece(*p) for p in pieces) + field(2, b"") + field(3, normalizer)
