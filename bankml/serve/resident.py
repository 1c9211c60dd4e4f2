"""How much of a mapped file is in this process's memory (Linux)."""

import os
import re
from pathlib import Path

SMAPS = Path("/proc/self/smaps")
_MAPPING = re.compile(r"[0-9a-f]+-[0-9a-f]+ \S+ [0-9a-f]+ ([0-9a-f]+):([0-9a-f]+) (\d+) *(.*)")


def mapped(path: Path, device: int, inode: int, smaps: Path = SMAPS) -> int | None:
    """Resident bytes of every mapping of the file; None where the system does not tell.

    A file is known by device and inode, which it keeps when it is deleted or replaced, or by its path: some file
    systems show others in the list of mappings.
    """
    try:
        lines = smaps.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    real = os.path.realpath(path)
    wanted = (os.major(device), os.minor(device), inode)
    total, ours, told = 0, False, False
    for line in lines:
        if line[:1].isupper():  # one of the 25 lines about a mapping
            if ours and line.startswith("Rss:"):
                total, told = total + (int(line.split()[1]) << 10), True
        elif found := _MAPPING.fullmatch(line):
            place = (int(found[1], 16), int(found[2], 16), int(found[3]))
            ours = place == wanted or found[4] == real
    return total if told else None
