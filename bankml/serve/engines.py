"""The models in memory: loaded at first use, dropped when nobody has asked for a while."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bankml.durations import FOREVER
from bankml.encoder import Encoder, chosen
from bankml.errors import Error, InputError, ModelError
from bankml.models import Choice, header
from bankml.models.ollama_store import ENCODERS
from bankml.need import Need
from bankml.room import Room

Identity = tuple[int, int, int, int]  # device, inode, size, time of change


@dataclass(eq=False, slots=True)
class Loaded:
    """A model in memory."""

    choice: Choice
    encoder: Encoder
    need: Need
    file: Identity | None  # which file it was loaded from
    expires: float = 0.0  # by the clock of the event loop, which no change of the time of day moves
    users: int = 0
    timer: asyncio.TimerHandle | None = field(default=None, repr=False)

    @property
    def replaced(self) -> bool:
        """Whether another file, or another content, lies where it was loaded from; a file that is gone is no other."""
        return _identity(self.choice.path) not in (None, self.file)


class Engines:
    """Encoders by the path of their file. Belongs to one event loop.

    `threads` and `backend` as in Encoder; `keep_alive` in nanoseconds for requests that name none; `room` says whether
    there is memory for one more; `wall` is the time of day, for `expires_at` alone.
    """

    def __init__(
        self,
        keep_alive: int,
        threads: int | None = None,
        backend: str | None = None,
        room: Room | None = None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._keep_alive = keep_alive
        self._options = (threads, backend)
        self._room = room or Room()
        self._wall = wall
        self._loaded: dict[str, Loaded] = {}  # by path
        self._loads: dict[str, asyncio.Task[Loaded]] = {}  # by path; those in progress
        self._waiting: Counter[str] = Counter()  # requests for each of them
        self._loading = asyncio.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="load")  # whatever else is read, a load need not wait
        self.on_load: Callable[[float], None] = lambda seconds: None  # told how long each load took

    @asynccontextmanager
    async def hold(self, choice: Choice, keep_alive: int | None = None) -> AsyncIterator[Loaded]:
        """The model in memory, at least until the block ends and `keep_alive` nanoseconds after.

        Raises ModelError for a file that cannot be used, InputError for a model that gives no vector per text,
        ShortError where memory does not suffice.
        """
        loaded = await self._get(choice)
        loaded.users += 1
        try:
            if loaded.replaced:
                await self.renew(loaded, loaded.encoder)
            yield loaded
        finally:
            loaded.users -= 1
            self._keep(loaded, self._keep_alive if keep_alive is None else keep_alive)

    async def renew(self, loaded: Loaded, failed: Encoder) -> None:
        """Load the file of a held model anew, unless another request has done so since `failed` was found unusable.

        The old encoder goes with the last call that uses it. Raises as `hold`.
        """
        async with self._loading:
            if loaded.encoder is failed:
                fresh = await self._load(loaded.choice)
                loaded.encoder, loaded.need, loaded.file = fresh.encoder, fresh.need, fresh.file

    def loaded(self) -> list[Loaded]:
        """What is in memory, the longest kept first."""
        return sorted(self._loaded.values(), key=lambda loaded: -loaded.expires)

    def expires_at(self, loaded: Loaded) -> float:
        """When it goes unless it is asked again, in seconds since the epoch by the clock as it is set now.

        A model whose time is over while it is used goes after its use: now, as far as one can tell.
        """
        return self._wall() + max(0.0, loaded.expires - asyncio.get_running_loop().time())

    def close(self) -> None:
        """Drop every model; calls in flight end normally."""
        for loaded in list(self._loaded.values()):
            self._drop(loaded)

    async def _get(self, choice: Choice) -> Loaded:
        """A load belongs to all who wait for it and ends well without them."""
        path = str(choice.path)
        if path in self._loaded:
            return self._loaded[path]
        if path not in self._loads:
            self._loads[path] = asyncio.create_task(self._add(path, choice))
            self._loads[path].add_done_callback(_heard)
        self._waiting[path] += 1
        try:
            return await asyncio.shield(self._loads[path])
        finally:
            self._waiting[path] -= 1

    async def _add(self, path: str, choice: Choice) -> Loaded:
        try:
            async with self._loading:
                loaded = self._loaded[path] = await self._load(choice)
            self._keep(loaded, self._keep_alive)
            return loaded
        finally:
            del self._loads[path]

    async def _load(self, choice: Choice) -> Loaded:
        started, run = time.perf_counter(), asyncio.get_running_loop().run_in_executor
        need = await run(self._thread, self._room.need, choice)
        self._make_room(choice, need)
        file = _identity(choice.path)  # before it is opened: one that is replaced meanwhile is loaded once more
        loaded = Loaded(choice, await run(self._thread, self._open, choice), need, file)
        self.on_load(time.perf_counter() - started)
        return loaded

    def _make_room(self, choice: Choice, need: Need) -> None:
        """Drops models that nobody uses, the first to expire first, until there is memory. Raises ShortError."""
        others = [loaded for loaded in self._loaded.values() if loaded.choice.path != choice.path]
        idle = sorted(filter(self._is_idle, others), key=lambda loaded: -loaded.expires)
        held = sum(loaded.need.weights for loaded in others)  # the system counts what it could read again as available
        if hopeless := self._room.short(choice, need, held - sum(loaded.need.total for loaded in idle)):
            raise hopeless
        while short := self._room.short(choice, need, held):
            if not idle:
                raise short
            held -= idle[-1].need.weights
            self._drop(idle.pop())

    def _open(self, choice: Choice) -> Encoder:
        threads, backend = self._options
        try:
            encoder = chosen(choice, threads=threads, backend=backend)
        except ModelError as error:
            if _is_encoder(choice):
                raise
            raise InputError(str(error)) from None  # the file is sound; the client named the wrong kind of model
        if encoder.pooling == "none":
            encoder.close()
            raise InputError(f"{choice.name} gives a vector per token, not per text; serve a model with a pooling type")
        return encoder

    def _keep(self, loaded: Loaded, nanoseconds: int) -> None:
        loop, seconds = asyncio.get_running_loop(), nanoseconds / 1e9
        loaded.expires = loop.time() + seconds
        if loaded.timer:
            loaded.timer.cancel()
        loaded.timer = loop.call_later(seconds, self._expire, loaded) if nanoseconds < FOREVER else None

    def _expire(self, loaded: Loaded) -> None:
        if loaded in self._loaded.values() and self._is_idle(loaded):  # a user sets the timer again when it leaves
            self._drop(loaded)

    def _is_idle(self, loaded: Loaded) -> bool:
        return not loaded.users and not self._waiting[str(loaded.choice.path)]

    def _drop(self, loaded: Loaded) -> None:
        self._loaded.pop(str(loaded.choice.path))
        if loaded.timer:
            loaded.timer.cancel()
        loaded.encoder.close()


def _heard(load: asyncio.Task[Loaded]) -> None:
    """An error that nobody waits for any more is no news."""
    if not load.cancelled():
        load.exception()


def _identity(path: Path) -> Identity | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _is_encoder(choice: Choice) -> bool:
    """Whether its architecture is one that bankml runs; True when the file cannot be read, which is another fault."""
    try:
        return header.read(choice.path).arch in ENCODERS
    except Error:
        return True
