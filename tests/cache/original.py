"""A reader and a writer that do what the original does with an .emb file, written from its description alone."""

import base64
import json
import struct
from pathlib import Path


def line(key: str, model: str, digest: str, vector: list[float], **more: object) -> str:
    """What it appends for one text, with the newline."""
    vec = base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
    fields = {"text_sha256": key, "model": model, "digest": digest, "dims": len(vector), "vec": vec, **more}
    return json.dumps(fields) + "\n"


def write(path: Path, *lines: str) -> None:
    """Appends without a lock, as it does."""
    with path.open("a", encoding="utf-8") as file:
        for text in lines:
            file.write(text)


def read(path: Path, digest: str, dims: int) -> dict[str, tuple[float, ...]]:
    """The last vector of each key."""
    found = {}
    for text in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            fields = json.loads(text)
            if fields["digest"] == digest and fields["dims"] == dims:
                found[fields["text_sha256"]] = struct.unpack(f"<{dims}f", base64.b64decode(fields["vec"]))
        except (ValueError, KeyError, TypeError, RecursionError, struct.error):
            continue
    return found
