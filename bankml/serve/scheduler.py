"""Runs jobs through encoders: two threads, one for queries and one for documents, each a pass after the other."""

import threading
import time

import numpy as np
from numpy.typing import NDArray

from bankml.errors import BusyError, Error
from bankml.serve.errors import ENDING
from bankml.serve.job import Job
from bankml.serve.metrics import Metrics
from bankml.serve.passes import Pass
from bankml.serve.queue import Queue


class Scheduler:
    """Shares passes among jobs, which belong to event loops. The threads start with the first job and end at `close`.

    The engine runs one pass at a time, and an urgent one between the layers of another: two threads are all it needs.
    """

    def __init__(self, metrics: Metrics | None = None) -> None:
        self._metrics = metrics or Metrics()
        self._queue = Queue()
        self._changed = threading.Condition()
        self._threads: dict[bool, threading.Thread] = {}
        self._running: dict[bool, Pass] = {}
        self._closed = False

    async def run(self, job: Job) -> NDArray[np.float32]:
        """The rows of a job, (n, dims), as the model made them; raises what stopped it, with the `index` of a text.

        When the caller is cancelled the job's texts leave the queue, and their pass at the next layer.
        """
        if not len(job.tokens):
            return job.rows
        with self._changed:
            if self._closed:
                raise BusyError(ENDING)
            self._start()
            self._queue.add(job)
            self._changed.notify_all()
        try:
            error = await job.answer
        finally:
            job.gone = True
            with self._changed:
                self._queue.remove(job)
        if error:
            del job  # no frame of the traceback may keep the encoder in memory until the cyclic collector comes by
            try:
                raise error
            finally:
                del error
        return job.rows

    @property
    def waiting_tokens(self) -> int:
        """Tokens that no pass has taken yet."""
        with self._changed:
            return self._queue.tokens

    def close(self) -> None:
        """End the threads, after the present layers of their passes, and every job: BusyError."""
        with self._changed:
            self._closed = True
            running = [share.job for taken in self._running.values() for share in taken.shares]
            for job in [*self._queue.jobs, *running]:
                job.end(BusyError(ENDING))
            self._changed.notify_all()
        for thread in self._threads.values():
            thread.join()  # one that is in the engine when the interpreter ends would end it with an abort

    def _start(self) -> None:
        """Both threads; one that the system refuses is tried again with the next job."""
        for urgent, name in ((False, "documents"), (True, "queries")):
            if urgent not in self._threads:
                thread = threading.Thread(target=self._serve, args=(urgent,), name=name, daemon=True)
                thread.start()
                self._threads[urgent] = thread

    def _serve(self, urgent: bool) -> None:
        while self._step(urgent):
            pass

    def _step(self, urgent: bool) -> bool:
        """One pass; whether there may be more. What it held is let go of before the next one is waited for."""
        try:
            taken = self._take(urgent)
            if taken:
                for waited in taken.waits(time.perf_counter()):
                    self._metrics.stage("queue", waited)
                self._work(taken)
            return taken is not None
        except Exception as error:  # memory, at worst: who waits is told, and the thread goes on
            self._give_up(urgent, error)
            return True

    def _give_up(self, urgent: bool, error: Exception) -> None:
        with self._changed:
            running = self._running.get(urgent)
            jobs = [share.job for share in running.shares] if running else []
            jobs += [job for job in self._queue.jobs if job.urgent == urgent]
        for job in jobs:
            self._fail(job, error)

    def _take(self, urgent: bool) -> Pass | None:
        """The next pass, when there is one; None when the scheduler was closed."""
        with self._changed:
            self._running.pop(urgent, None)
            self._changed.wait_for(lambda: self._closed or self._queue.has(urgent))
            if self._closed:
                return None
            self._running[urgent] = self._queue.take(urgent)
            return self._running[urgent]

    def _work(self, taken: Pass) -> None:
        """Encode and deliver; where one text is to blame its job fails, and the others' texts are encoded once more."""
        while taken.shares:
            try:
                started = time.perf_counter()
                rows = taken.encode()
                self._metrics.passed(taken.texts, taken.tokens)
                self._metrics.stage("encode", time.perf_counter() - started)
                return taken.deliver(rows)
            except Exception as error:
                taken = self._failed(taken, error)

    def _failed(self, taken: Pass, error: Exception) -> Pass:
        blamed = taken.blamed(error.index) if isinstance(error, Error) else None
        if not blamed:
            for share in taken.shares:
                self._fail(share.job, error)
            return Pass([], taken.urgent)
        assert isinstance(error, Error)
        job, error.index = blamed
        self._fail(job, error)
        return taken.without(job)

    def _fail(self, job: Job, error: Exception) -> None:
        if isinstance(error, Error):
            error.__traceback__ = None  # it would keep this pass, and so the encoder
        with self._changed:
            self._queue.remove(job)
        job.end(error)
