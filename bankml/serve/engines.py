"""The models in memory: loaded at first use, dropped when nobody has asked for a while."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from bankml.durations import FOREVER
from bankml.encoder import Encoder, chosen
from bankml.errors import Error, InputError, ModelError
from bankml.models import Choice, header
from bankml.models.ollama_store import ENCODERS


@dataclass(eq=False, slots=True)
class Loaded:
    """A model in memory."""

    choice: Choice
    encoder: Encoder
    expires_at: float = 0.0  # seconds since the epoch
    users: int = 0
    timer: asyncio.TimerHandle | None = field(default=None, repr=False)


class Engines:
    """Encoders by the path of their file. Belongs to one event loop.

    `threads` and `backend` as in Encoder; `keep_alive` in nanoseconds for requests that name none.
    """

    def __init__(self, keep_alive: int, threads: int | None = None, backend: str | None = None) -> None:
        self._keep_alive = keep_alive
        self._options = (threads, backend)
        self._loaded: dict[str, Loaded] = {}  # by path
        self._loading = asyncio.Lock()

    @asynccontextmanager
    async def hold(self, choice: Choice, keep_alive: int | None = None) -> AsyncIterator[Loaded]:
        """The model in memory, at least until the block ends and `keep_alive` nanoseconds after.

        Raises ModelError for a file that cannot be used, InputError for a model that gives no vector per text.
        """
        loaded = await self._get(choice)
        loaded.users += 1
        try:
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
                loaded.encoder = await asyncio.to_thread(self._load, loaded.choice)

    def loaded(self) -> list[Loaded]:
        """What is in memory, the longest kept first."""
        return sorted(self._loaded.values(), key=lambda loaded: -loaded.expires_at)

    def close(self) -> None:
        """Drop every model; calls in flight end normally."""
        for loaded in list(self._loaded.values()):
            self._drop(loaded)

    async def _get(self, choice: Choice) -> Loaded:
        path = str(choice.path)
        if path in self._loaded:
            return self._loaded[path]
        async with self._loading:
            if path not in self._loaded:
                self._loaded[path] = Loaded(choice, await asyncio.to_thread(self._load, choice))
        return self._loaded[path]

    def _load(self, choice: Choice) -> Encoder:
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
        seconds = nanoseconds / 1e9
        loaded.expires_at = time.time() + seconds
        if loaded.timer:
            loaded.timer.cancel()
        loop = asyncio.get_running_loop()
        loaded.timer = loop.call_later(seconds, self._expire, loaded) if nanoseconds < FOREVER else None

    def _expire(self, loaded: Loaded) -> None:
        if not loaded.users and loaded in self._loaded.values():  # a user sets the timer again when it leaves
            self._drop(loaded)

    def _drop(self, loaded: Loaded) -> None:
        self._loaded.pop(str(loaded.choice.path))
        if loaded.timer:
            loaded.timer.cancel()
        loaded.encoder.close()


def _is_encoder(choice: Choice) -> bool:
    """Whether its architecture is one that bankml runs; True when the file cannot be read, which is another fault."""
    try:
        return header.read(choice.path).arch in ENCODERS
    except Error:
        return True
