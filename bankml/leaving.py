"""Whether the program is at its end."""

import threading


def leaving() -> bool:
    """Whether the program waits for threads that are no daemons.

    A daemon that is in the engine then is ended inside of C++, which takes the process down with SIGABRT.
    """
    return not threading.main_thread().is_alive()
