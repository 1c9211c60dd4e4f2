"""Lines of what comes in pieces; none is kept that is longer than it may be."""

from collections.abc import Callable, Iterator

READ = 2**16  # bytes at a time


def lines(read: Callable[[int], bytes], most: int) -> Iterator[bytes | None]:
    """Each line that is not empty, without its end; the last one needs none. None for one of more than `most` bytes.

    `read(n)` gives n bytes at most, and none at the end.
    """
    kept, long = bytearray(), False
    while data := read(READ):
        *ended, rest = data.split(b"\n")
        for part in ended:
            if long or len(kept) + len(part) > most:
                yield None
            elif line := bytes(kept + part).strip():
                yield line
            kept, long = bytearray(), False
        long = long or len(kept) + len(rest) > most
        kept = bytearray() if long else kept + rest
    if long:
        yield None
    elif line := bytes(kept).strip():
        yield line
