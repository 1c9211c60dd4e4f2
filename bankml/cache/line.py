"""One line of an .emb file: a text's vector as JSON, to the byte as the original writes it."""

import json
import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pybase64 import b64decode, b64encode

LONGEST = 1 << 20  # bytes; 65,536 dims are 349,528 characters of base64
MOST_DIMS = 65_536
NEARLY_ONE = 2e-3  # of the squared length; f16 rounds a unit vector by less

KEY = re.compile(r"[0-9a-f]{64}")
# What json.dumps makes of these fields in this order. A name with a quote, a backslash or no ASCII takes the slow path.
PLAIN = rb"[ !#-\[\]-~]*"
HEAD = re.compile(
    rb'\{"text_sha256": "([0-9a-f]{64})", "model": "' + PLAIN + rb'", "digest": "(' + PLAIN + rb')", '
    rb'"dims": ([1-9][0-9]{0,4}), "vec": "'
)
TAIL = re.compile(rb'"(?:, "engine": "' + PLAIN + rb'")?\}')


class BadLineError(Exception):
    """A line that holds no vector; its only argument says why."""


class Entry(NamedTuple):
    """A line that holds a vector."""

    key: str  # sha256 of the text, hex
    digest: str  # of the weights
    dims: int
    vector: NDArray[np.float32]  # (dims,), finite and of unit length; read-only


def written(key: str, model: str, digest: str, vector: NDArray[np.float32], engine: str | None) -> bytes:
    """The line with its newline: ASCII, so that no reader finds an end of line inside it."""
    fields = {"text_sha256": key, "model": model, "digest": digest, "dims": len(vector), "vec": ""}
    line = json.dumps(fields if engine is None else fields | {"engine": engine}).encode("ascii")
    vec = b64encode(vector.astype("<f4", copy=False).tobytes())  # escaping 5,464 letters that need none takes 30 µs
    return line.replace(b'"vec": ""', b'"vec": "' + vec + b'"', 1) + b"\n"


def read(line: bytes | None) -> Entry:
    """What the line says, which comes without its newline; None: it is too long to be held.

    A vector of another length than 1 is divided by it. Raises `BadLineError` for anything else; never for its `model`
    and `engine`, which no reader needs.
    """
    if line is None or len(line) > LONGEST:
        raise BadLineError("too long")
    return _plain(line) or _any_json(line)


def is_unit(vector: NDArray[np.float32]) -> bool:
    """Whether its length is 1, as near as a vector that was rounded to float16 comes to it; NaN is not."""
    with np.errstate(over="ignore", invalid="ignore"):
        return abs(float(np.dot(vector, vector)) - 1) <= NEARLY_ONE


def _plain(line: bytes) -> Entry | None:
    """A line in our own layout without parsing it as JSON: half the time of a file. None: look closer."""
    if not (head := HEAD.match(line)):
        return None
    dims, begin = int(head[3]), head.end()
    end = begin + 4 * -(-4 * dims // 3)
    if dims > MOST_DIMS or not TAIL.fullmatch(line, end) or (raw := _decoded(line[begin:end])) is None:
        return None
    return Entry(head[1].decode("ascii"), head[2].decode("ascii"), dims, _vector(raw, dims))


def _any_json(line: bytes) -> Entry:
    """By the parser of the original, which takes a lone surrogate and NaN: orjson would refuse lines that it reads."""
    try:
        fields = json.loads(line.decode())
    except (ValueError, RecursionError) as error:
        raise BadLineError("no JSON") from error
    if not _whole(fields):
        raise BadLineError("fields")
    if (raw := _decoded(fields["vec"])) is None:
        raise BadLineError("base64")
    return Entry(fields["text_sha256"], fields["digest"], fields["dims"], _vector(raw, fields["dims"]))


def _whole(fields: Any) -> bool:
    return (
        isinstance(fields, dict)
        and all(isinstance(fields.get(name), str) for name in ("text_sha256", "digest", "vec"))
        and KEY.fullmatch(fields["text_sha256"]) is not None
        and type(fields.get("dims")) is int  # True is an int
        and 0 < fields["dims"] <= MOST_DIMS
    )


def _decoded(vec: bytes | str) -> bytes | None:
    try:
        return b64decode(vec, validate=True)
    except ValueError:  # binascii.Error, and what is no ASCII
        return None


def _vector(raw: bytes, dims: int) -> NDArray[np.float32]:
    if len(raw) != 4 * dims:
        raise BadLineError("dims")
    vector = np.frombuffer(raw, "<f4").astype(np.float32, copy=False)
    return vector if is_unit(vector) else _divided(vector)


def _divided(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """By its length, in float64, where the square of no float32 is too large or too small."""
    wide = vector.astype(np.float64)
    length = float(np.sqrt(np.dot(wide, wide)))
    if not np.isfinite(length):
        raise BadLineError("not finite")
    if not length:
        raise BadLineError("all zero")
    unit = (wide / length).astype(np.float32)
    unit.flags.writeable = False
    return unit
