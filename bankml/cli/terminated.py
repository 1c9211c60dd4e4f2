"""SIGTERM as Ctrl-C: what is begun is ended well, and the exit status is a shell's."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 128 + signal.SIGINT


class Terminated(KeyboardInterrupt):
    """Somebody wants the process to end."""


@contextmanager
def terminable() -> Iterator[None]:
    """Within the block SIGTERM raises Terminated, once: a second one ends the process."""
    before = signal.signal(signal.SIGTERM, _raise)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def exit_status(interrupt: BaseException) -> int:
    """130 of Ctrl-C, 143 of SIGTERM."""
    return 128 + signal.SIGTERM if isinstance(interrupt, Terminated) else INTERRUPTED


def _raise(number: int, frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_DFL)
    raise Terminated
