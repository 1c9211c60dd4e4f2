"""Lets the C library give freed memory back to the system (glibc)."""

import ctypes

THRESHOLD = 1 << 20  # bytes; a pass has a few larger buffers, and everything else is smaller
_TRIM, _MAP = -1, -3  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD of malloc.h


def give_back_at_once() -> None:
    """From here on blocks above THRESHOLD are mapped one by one, and unmapped when they are freed.

    By itself glibc raises both thresholds to tens of megabytes after the first such block, takes the next from a
    thread's heap, and keeps it there: 20 to 30 MB stayed after a model was dropped. Elsewhere nothing is done.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(_MAP, THRESHOLD)
    mallopt(_TRIM, THRESHOLD)
