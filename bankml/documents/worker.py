"""The process that PDFs and office files are read in: `python -P -m bankml.documents.worker BYTES`, of memory at most.

It is asked on its standard input and answers on its standard output (bankml/documents/frames.py).
"""

import os
import resource
import signal
import sys
from importlib import import_module

import msgspec

from bankml.documents.frames import TIMER, Answer, Task, received, send
from bankml.errors import DocumentError


def answer(task: Task) -> Answer:
    """Does the task; whatever the converters raise is a sentence."""
    module = task.converter or ("pdf" if task.kind == "pdf" else "office")
    try:
        read = getattr(import_module(f"bankml.documents.{module}"), module)  # the other process loads none of them
        return Answer(read(task.kind, task.name, task.content))
    except DocumentError as error:
        return Answer(None, str(error))
    except MemoryError:
        return Answer(None, "takes more memory to read than a document may: split it")
    except RecursionError:
        return Answer(None, "is nested too deeply to be read: save it anew")
    except Exception as error:  # of somebody else's parser
        return Answer(None, f"cannot be read as {task.kind}, damaged perhaps ({type(error).__name__}): save it anew")


def main() -> None:
    """Answers until nobody asks. What others print goes nowhere; Ctrl-C is the asking program's."""
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nowhere, descriptor)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(TIMER, signal.SIG_DFL)
    _limit(int(sys.argv[1]))
    while body := received(asked):
        task = msgspec.msgpack.decode(body, type=Task)
        signal.setitimer(signal.ITIMER_REAL, task.seconds)
        done = answer(task)
        signal.setitimer(signal.ITIMER_REAL, 0)
        send(answers, done)


def _limit(memory: int) -> None:
    """Of data alone: of addresses, threads and libraries reserve gigabytes that they never use."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory:
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))


if __name__ == "__main__":
    main()
