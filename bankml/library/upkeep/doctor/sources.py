"""The files that documents are of."""

import hashlib
import os
import stat

from bankml.library.upkeep.doctor.finding import Finding, ill, well
from bankml.store import Store

CHUNK = 1 << 20


def files(store: Store) -> Finding:
    """Whether every file is there, as it was when it was added. What came by another way than a file is passed over."""
    with store.reading() as db:
        rows = db.execute("SELECT path, size, modified, sha256 FROM documents ORDER BY path").fetchall()
    of_files = [row for row in rows if row[0].startswith(b"/")]
    found = [(os.fsdecode(path), _change(path, *facts)) for path, *facts in of_files]
    wrong = [f"{path}: {change}" for path, change in found if change]
    if not wrong:
        return well("files", f"{len(of_files):,} files are as they were added")
    gone = sum(change == "gone" for _, change in found)
    steps = ["`bankml add` their folders again"] if gone < len(wrong) else []
    steps += ["`bankml add --prune` the folders of those that are gone"] if gone else []
    return ill("files", wrong, "files are gone or are others now", ", ".join(steps))


def _change(path: bytes, size: int, modified: int, sha256: str) -> str:
    """In a word or two; "" where it is the same. Its bytes are read only where its size and time do not say."""
    try:
        state = os.stat(path)
        if not stat.S_ISREG(state.st_mode):
            return "no file any more"
        if state.st_size != size:
            return "changed"
        return "" if int(state.st_mtime) == modified or _sha256(path) == sha256 else "changed"
    except (FileNotFoundError, NotADirectoryError):
        return "gone"
    except OSError as error:
        return f"cannot be read ({error.strerror})"


def _sha256(path: bytes) -> str:
    digest = hashlib.sha256()
    with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb", buffering=0) as file:
        while block := file.read(CHUNK):
            digest.update(block)
    return digest.hexdigest()
