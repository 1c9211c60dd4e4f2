"""Whether a record may still be true: as it was said, and by the files that it cites."""

import os
import stat

from bankml.memory.cited import hashed, modified, unread
from bankml.store.record import Cited, Freshness, Record


def seen(record: Record) -> Freshness:
    """As it was said; `needs_review` of a current one, too, where a cited file has changed or is gone.

    A file has changed if its size has, or its time and its sha256. What could not be read when it was cited tells
    nothing, and where the record's root is not there, as of another machine's records, nothing is known of any file.
    Waits for no pipe and raises nothing.
    """
    if record.freshness != "current" or not (record.cited and record.root and os.path.isdir(record.root)):
        return record.freshness
    return "needs_review" if any(_changed(record.root, file) for file in record.cited) else "current"


def _changed(root: bytes, file: Cited) -> bool:
    full = os.path.join(root, file.path)
    if file.path.endswith(b"/"):
        return not os.path.isdir(full)
    if unread(file):
        return False
    try:
        state = os.stat(full)
        if not stat.S_ISREG(state.st_mode) or state.st_size != file.size:
            return True
        return modified(state) != file.modified and (not file.sha256 or hashed(full)[0] != file.sha256)
    except OSError:
        return True
