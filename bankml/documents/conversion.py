"""PDFs and office files, read by another process: what hangs or grows in there costs its file and nothing else."""

import atexit
import subprocess
import sys
import threading
from contextlib import suppress
from importlib.util import find_spec

import msgspec

from bankml.documents.extracted import Extracted
from bankml.documents.frames import TIMER, Answer, Task, received, send
from bankml.documents.titles import of_file
from bankml.errors import DocumentError, InputError

WORKER = "bankml.documents.worker"
MEMORY = 2 << 30  # bytes of data; docling's models take more, and are not limited
SECONDS = 60.0  # for a file,
SECONDS_A_MIB = 10.0  # and for each MiB of it: pypdf reads some ten pages a second
DOCLING_TIMES = 10  # as long: it looks at each page
OFFICE = "markitdown[docx,pptx,xlsx]>=0.1.3"
CONVERTERS = {"docling": ("docling", "docling>=2.0")}  # package, and how pip names it


class Conversion:
    """A process that reads one file after the other; begun with the first, and anew after one that ended it.

    Starting it takes 0.2 s, and 1.5 s more for the first office file. Safe to use from many threads, one at a time.
    """

    def __init__(self, memory: int = MEMORY, seconds: float = SECONDS) -> None:
        self._memory, self._seconds = memory, seconds
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._unlimited = False

    def convert(self, kind: str, name: str, content: bytes, converter: str = "") -> Extracted:
        """The text of a document. Raises DocumentError, also where it takes too long or too much memory."""
        available(kind, converter)
        seconds = (self._seconds + SECONDS_A_MIB * len(content) / (1 << 20)) * (DOCLING_TIMES if converter else 1)
        task = Task(kind, of_file(name), content, converter, seconds)
        with self._lock:
            try:
                body = self._asked(task)
            except BaseException:
                self._end()
                raise
            if not body:
                raise DocumentError(self._ended(seconds))
        answer = msgspec.msgpack.decode(body, type=Answer)
        if answer.extracted is None:
            raise DocumentError(answer.error)
        return answer.extracted

    def close(self) -> None:
        """Ends the process, whatever it reads: who waits for its answer is told that it ended."""
        if process := self._process:
            process.kill()  # before the lock, which is held until it answers: an exit must not wait for that
        if self._lock.acquire(blocking=False):
            try:
                self._end()
            finally:
                self._lock.release()

    def _asked(self, task: Task) -> bytes:
        process = self._running(unlimited=bool(task.converter))
        assert process.stdin
        assert process.stdout
        with suppress(BrokenPipeError):
            send(process.stdin, task)  # type: ignore[arg-type]  # a pipe's writer is a BinaryIO
        return received(process.stdout)  # type: ignore[arg-type]

    def _running(self, unlimited: bool) -> "subprocess.Popen[bytes]":
        if self._process and (self._process.poll() is not None or self._unlimited != unlimited):
            self._end()
        if not self._process:
            self._unlimited = unlimited
            # -P: no module of the folder that is being read is imported.
            command = [sys.executable, "-P", "-m", WORKER, str(0 if unlimited else self._memory)]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return self._process

    def _ended(self, seconds: float) -> str:
        """Why the process gave no answer."""
        assert self._process
        code = self._process.wait()
        self._end()
        if code == -TIMER:
            return f"takes more than {seconds:.0f} s to read: split it, or save it anew"
        return "ends the program that reads it, damaged perhaps: save it anew"

    def _end(self) -> None:
        process, self._process = self._process, None
        if process:
            process.kill()
            with suppress(OSError):
                process.communicate()


def available(kind: str, converter: str) -> None:
    """Whether what reads this kind is installed, which DocumentError says how to do."""
    if converter and converter not in CONVERTERS:
        raise InputError(f"there is no converter {converter!r}: give 'docling', or none")
    package, needed = CONVERTERS.get(converter) or (("pypdf", "pypdf") if kind == "pdf" else ("markitdown", OFFICE))
    if find_spec(package) is None:
        raise DocumentError(f"takes the package {package} to read: run `{sys.executable} -m pip install '{needed}'`")


conversion = Conversion()
atexit.register(conversion.close)
