"""What a program and the process that reads its documents say: frames of 8 bytes of length, then msgpack."""

import signal
import struct
from typing import BinaryIO

import msgspec

from bankml.documents.extracted import Extracted

TIMER = signal.SIGALRM  # nobody handles it: it ends the process, whether or not anybody still waits for it
LENGTH = struct.Struct("<Q")


class Task(msgspec.Struct):
    """`converter`: "" for each kind's own. `seconds`: after which the process ends itself."""

    kind: str
    name: str
    content: bytes
    converter: str
    seconds: float


class Answer(msgspec.Struct):
    """What was extracted, or why not."""

    extracted: Extracted | None
    error: str = ""


def send(stream: BinaryIO, message: Task | Answer) -> None:
    """One frame."""
    body = msgspec.msgpack.encode(message)
    stream.write(LENGTH.pack(len(body)))
    stream.write(body)
    stream.flush()


def received(stream: BinaryIO) -> bytes:
    """The next frame; empty where there is none, or not all of it."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return b""
    (length,) = LENGTH.unpack(head)
    body = stream.read(length)
    return body if len(body) == length else b""
